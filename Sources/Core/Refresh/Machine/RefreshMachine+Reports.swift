package import LiveModel

/// What operators see.
extension RefreshMachine {
    package var liveQueryCount: Int { states.count }
    package var runsInFlightCount: Int { lanes.reduce(0) { $0 + $1.runsInFlight } }
    package var dueCount: Int { lanes.reduce(0) { $0 + $1.due.count } }
    package var ownedShards: [ShardID] { shards.keys.sorted() }
    package var conditionErrorCounts: [Trigger.ID: UInt64] { conditionErrors }

    /// Entries of the timers: at most three per live query, and some left over.
    package var timerCount: Int { timers.count }
    /// Events remembered for the shard that remembers most.
    package var historyCountMax: Int { shards.values.map(\.history.count).max() ?? 0 }

    package func epoch(of shard: ShardID) -> UInt64? { shards[shard]?.epoch }
    package func hasLiveQueries(_ shard: ShardID) -> Bool { indexes[shard] != nil }
    package func lastEventID(of shard: ShardID) -> StreamID? { shards[shard]?.lastEventID }

    package var shardReports: [ShardReport] {
        shards.sorted { $0.key < $1.key }.map { shard, state in
            ShardReport(
                shard: shard, epoch: state.epoch, ownedSinceMs: state.ownedSinceMs, lastEventID: state.lastEventID,
                events: state.events, matches: state.matches, runs: state.runs, liveQueries: state.slots.count,
                subscribers: state.slots.reduce(0) { $0 + (states[$1]?.subscribers.count ?? 0) },
                lastEventMs: state.lastEventMs, lastRefreshMs: state.lastRefreshMs, due: state.phases[.queued],
                running: state.phases[.running], paced: state.phases[.paced], waiting: state.phases[.waiting],
                failing: state.slots.count { (states[$0]?.failures ?? 0) > 0 }, takeOver: state.takeOver)
        }
    }

    /// The same in a few numbers per shard, without looking at every live query.
    package var shardStatuses: [ShardStatus] {
        shards.sorted { $0.key < $1.key }.map { shard, state in
            ShardStatus(
                shard: shard, epoch: state.epoch, ownedSinceMs: state.ownedSinceMs, liveQueries: state.slots.count,
                due: state.phases[.queued], running: state.phases[.running], paced: state.phases[.paced],
                waiting: state.phases[.waiting], lastEventID: state.lastEventID,
                lastRefreshMs: state.lastRefreshMs, takeOver: state.takeOver)
        }
    }

    /// Since the start, over all shards, lost ones included.
    package var takeOver: TakeOverCounts {
        shards.values.reduce(into: formerTakeOver) { $0 += $1.takeOver }
    }
    package var pacedCount: Int { shards.values.reduce(0) { $0 + $1.phases[.paced] } }

    /// - Parameter limit: at most so many, whichever; ordered by operation then key.
    package func liveQueryReports(limit: Int, operation: OperationReference? = nil) -> [LiveQueryReport] {
        // Cut before sorting: this runs beside the renewal of leases.
        Array(states.values.lazy.filter { operation == nil || $0.query.operation == operation }.prefix(limit))
            .sorted { ($0.query.operation, $0.query.key.description) < ($1.query.operation, $1.query.key.description) }
            .map { state in
                LiveQueryReport(
                    key: state.query.key, operation: state.query.operation, shard: state.shard,
                    gateways: state.subscribers.keys.sorted(), everyMs: state.everyMs, digest: state.digest,
                    position: state.position, lastTriggerMs: state.lastTriggerMs, lastFinishMs: state.lastFinishMs,
                    lastRunMs: state.lastRunMs, runs: state.runs, failures: state.failures)
            }
    }
}
