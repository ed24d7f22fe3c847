package import LiveModel

/// The state and counts that operators see.
extension RefreshMachine {
    package var settings: RefreshSettings { schedule.settings }
    package var liveQueryCount: Int { schedule.liveQueryCount }
    package var runsInFlightCount: Int { schedule.runsInFlight }
    package var dueCount: Int { schedule.dueCount }
    package var ownedShards: [ShardID] { shards.keys.sorted() }
    package var conditionErrorCounts: [Trigger.ID: UInt64] { report.conditionErrors }
    /// The effect of rules by operation.
    package var refreshCounts: [OperationReference: RefreshCounts] { report.counts.operations }
    /// The runs of the online verification, and those whose result nothing explained.
    package var verificationCounts: (runs: UInt64, mismatches: UInt64) {
        (report.verification.runs, report.verification.mismatches)
    }

    /// The number of entries of ended live queries that the due queue and the timers may hold.
    package static let leftoversMax = RunSchedule.leftoversMax
    /// The number of timer entries: at most three per live query, and some leftovers.
    package var timerCount: Int { schedule.timerCount }
    /// The greatest number of events remembered for a shard.
    package var historyCountMax: Int { shards.values.map(\.historyCount).max() ?? 0 }

    package func epoch(of shard: ShardID) -> UInt64? { shards[shard]?.epoch }
    package func hasLiveQueries(_ shard: ShardID) -> Bool { (shards[shard]?.count ?? 0) > 0 }
    package func lastEventID(of shard: ShardID) -> StreamID? { shards[shard]?.lastEventID }

    /// The live queries whose last run failed.
    package var failing: FailingLiveQueries {
        var failing = FailingLiveQueries()
        for shard in shards.values {
            for query in shard.queries.table.failing.lazy.map({ shard.queries.table[$0] }) {
                guard let failure = query.lastFailure else { continue }
                failing.count += 1
                if let last = failing.last, last.atMs >= query.lastFinishMs { continue }
                failing.last = FailingLiveQueries.Failure(
                    operation: query.query.operation, key: query.query.key, error: failure.error,
                    atMs: query.lastFinishMs)
            }
        }
        return failing
    }

    package var shardReports: [ShardReport] { ownedShards.compactMap { shards[$0]?.report } }
    /// A summary of each shard, without iterating over its live queries.
    package var shardStatuses: [ShardStatus] { ownedShards.compactMap { shards[$0]?.status } }

    /// The counts since the start, over all shards including lost ones.
    package var takeOver: TakeOverCounts {
        shards.values.reduce(into: formerTakeOver) { $0 += $1.takeOver }
    }
    package var pacedCount: Int { shards.values.reduce(0) { $0 + $1.pacedCount } }

    /// - Parameters:
    ///   - limit: the maximum number, selected arbitrarily; the reports are ordered by operation, then by key.
    ///   - keyPrefix: the first digits of the keys, in lower case.
    ///   - keys: the wanted ones; nil: all.
    package func liveQueryReports(
        limit: Int, operation: OperationReference? = nil, keyPrefix: String? = nil, keys: Set<LiveQueryKey>? = nil
    ) -> [LiveQueryReport] {
        // Limit before sorting: lease renewals wait meanwhile.
        var reports: [LiveQueryReport] = []
        for shard in shards.values where reports.count < limit {
            reports += shard.liveQueryReports(
                limit: limit - reports.count, operation: operation, keyPrefix: keyPrefix, keys: keys)
        }
        return reports.sorted { ($0.operation, $0.key.description) < ($1.operation, $1.key.description) }
    }

    /// The number of live queries of an operation, and of those whose keys begin with digits in lower case.
    package func liveQueryCount(of operation: OperationReference?, keyPrefix: String? = nil) -> Int {
        shards.values.reduce(0) { $0 + $1.liveQueryCount(of: operation, keyPrefix: keyPrefix) }
    }
}
