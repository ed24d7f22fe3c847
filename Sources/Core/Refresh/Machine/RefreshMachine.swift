package import LiveModel

/// Decides, for every shard that a worker owns, which live query runs when, and which gateway receives what.
///
/// Methods report facts in the past tense with the time at which they happened, and return `RefreshAction`s to perform.
/// There is no clock, socket or task here. `ShardQueries` decides what concerns one shard; `RunSchedule` holds what the
/// shards share (run limits, the pace, timers); this type routes facts to them and starts runs.
///
/// Facts about a shard that is not owned are normal: reads, runs and timers in flight when the lease was lost, messages
/// to a former owner. They change nothing.
package struct RefreshMachine: Sendable {
    package typealias RulesProvider = @Sendable (LiveQuery) throws(RequestError) -> QueryRules

    private let rules: RulesProvider
    private(set) var shards: [ShardID: ShardQueries] = [:]
    private(set) var schedule: RunSchedule
    /// The counts of lost shards.
    private(set) var formerTakeOver = TakeOverCounts()
    var report: EventReport
    /// The gateways of the last node list.
    private var listedGateways: Set<NodeID> = []
    /// Gateways with interest that are missing from the last node list.
    private var unlistedGateways: Set<NodeID> = []
    /// The owned shards with markers that wait.
    private var markedShards: Set<ShardID> = []

    /// - Parameter rules: returns the compiled rules of a live query; throws if this worker does not know that version
    ///   of the stored operation, or the variables are invalid.
    package init(settings: RefreshSettings, rules: @escaping RulesProvider) {
        self.rules = rules
        schedule = RunSchedule(settings: settings)
        report = EventReport(verification: Verification(settings))
    }

    // MARK: Ownership

    /// Begins to own `shard` under `epoch`. Next, request announcements from every gateway.
    /// - Parameters:
    ///   - lastEventID: the last id that the shard's events stream assigned.
    ///   - history: the last entries of that stream, oldest first, without a gap up to `lastEventID`, all readable.
    ///   - trustedEpoch: results of earlier epochs may lack events that the broker's former server lost.
    package mutating func shardAcquired(
        _ shard: ShardID, epoch: UInt64, lastEventID: StreamID, history: [EventEntry], trustedEpoch: UInt64 = 0,
        nowMs: Int64
    ) {
        shardLost(shard)
        let positions = ShardPositions(
            epoch: epoch, trustedEpoch: trustedEpoch, lastEventID: lastEventID, history: history, settings)
        shards[shard] = ShardQueries(shard, positions, nowMs: nowMs)
    }

    /// Ends the ownership of a shard whose lease ended, was released or was not renewed in time: nothing of this shard
    /// may be sent any more.
    /// - Returns: the number of its live queries; 0 also for a shard that was not owned.
    @discardableResult
    package mutating func shardLost(_ shard: ShardID) -> Int {
        guard let lost = shards.removeValue(forKey: shard) else { return 0 }
        markedShards.remove(shard)
        schedule.cancelReplay(of: shard)
        for slot in lost.slots { schedule.release(slot) }
        formerTakeOver += lost.takeOver
        return lost.count
    }

    /// Changes an owned shard in place.
    /// - Returns: nil if the shard is not owned.
    private mutating func inShard<Result>(
        _ shard: ShardID, _ change: (inout ShardQueries, inout RunSchedule) -> Result
    ) -> Result? {
        guard let index = shards.index(forKey: shard) else { return nil }
        return change(&shards.values[index], &schedule)
    }

    // MARK: Events

    /// Handles entries of a shard's events stream, in stream order. After an unreadable entry everything in the shard
    /// runs again.
    package mutating func eventsArrived(
        _ shard: ShardID, _ entries: [EventEntry], nowMs: Int64
    ) -> [RefreshAction] {
        guard let index = shards.index(forKey: shard) else { return [] }
        for entry in entries {
            shards.values[index].eventArrived(entry, &schedule, &report, nowMs: nowMs)
        }
        if shards.values[index].queries.markers.isWaiting { markedShards.insert(shard) }
        return dispatch(nowMs: nowMs)
    }

    /// Passes on the markers and tickets for which nothing is left to wait. To be called after every other fact, when
    /// its actions are performed: a marker must not overtake a result.
    package mutating func markersDue(nowMs: Int64) -> [RefreshAction] {
        if markedShards.isEmpty { return [] }
        var actions: [RefreshAction] = []
        for shard in markedShards.sorted() {
            let listed = listedGateways
            actions += inShard(shard) { queries, _ in queries.passMarkers(listed: listed, nowMs: nowMs) } ?? []
            if shards[shard]?.queries.markers.isWaiting != true { markedShards.remove(shard) }
        }
        return actions
    }

    /// Re-runs everything in the shard, because its stream no longer reaches back to the last read and events are lost.
    package mutating func eventsLost(_ shard: ShardID, lastEventID: StreamID, nowMs: Int64) -> [RefreshAction] {
        let wasOwned: Void? = inShard(shard) { $0.eventsLost(lastEventID: lastEventID, &$1, nowMs: nowMs) }
        return wasOwned == nil ? [] : dispatch(nowMs: nowMs)
    }

    /// Handles a page requested by `RefreshAction.replay`.
    /// - Parameter entries: the entries, newest first; nil if they could not be read.
    package mutating func replayRead(_ page: ReplayPage, _ entries: [EventEntry]?, nowMs: Int64) -> [RefreshAction] {
        guard let actions = inShard(page.shard, { $0.replayRead(page, entries, &$1, nowMs: nowMs) }) ?? nil else {
            return []
        }
        return actions + dispatch(nowMs: nowMs)
    }

    /// Runs all live queries of these operations again, because what their results depend on changed without an event.
    package mutating func rerun(_ operations: Set<OperationReference>, nowMs: Int64) -> [RefreshAction] {
        for shard in ownedShards { inShard(shard) { $0.rerun(operations, &$1, nowMs: nowMs) } }
        return dispatch(nowMs: nowMs)
    }

    // MARK: Interest

    /// Handles a gateway's message on the shard's control stream.
    package mutating func controlArrived(
        _ shard: ShardID, _ message: ControlMessage, nowMs: Int64
    ) -> [RefreshAction] {
        switch message {
        case .announce(let gateway, let query, let known, let announcement):
            let rules = rules
            let answer = inShard(shard) {
                $0.announced(query, by: gateway, known, announcement, rules, &$1, nowMs: nowMs)
            }
            return switch answer {
            case .triggered: dispatch(nowMs: nowMs)
            case .answered(let actions): actions
            case nil: []
            }
        case .withdraw(let gateway, let key):
            inShard(shard) { $0.withdrawn(key, by: gateway, &$1) }
            return []
        case .leave(let gateway):
            inShard(shard) { $0.gatewayGone(gateway, &$1) }
            return []
        case .summary(let gateway, let count, let fingerprint, let known):
            let summary = InterestFingerprint(count: count, fingerprint: fingerprint)
            return inShard(shard) { $0.summarized(summary, by: gateway, settled: known, &$1) } ?? []
        }
    }

    /// Removes the interest of a gateway that left the cluster or whose heartbeat ended.
    package mutating func gatewayGone(_ gateway: NodeID) {
        // Not `shards.keys`: with an iterator over the dictionary, each change would copy it.
        for shard in ownedShards { inShard(shard) { $0.gatewayGone(gateway, &$1) } }
    }

    /// Handles a fresh node list. A gateway with interest that is missing from two lists in a row is gone, including
    /// one that died before any list named it and is known only from its messages.
    /// - Returns: the gateways that are gone, and those missing from the previous list. Request the interest of the
    ///   latter: a gateway that was cut off does not know that it was forgotten here, or that a shard has a new owner.
    @discardableResult
    package mutating func gatewaysListed(_ listed: Set<NodeID>) -> (gone: [NodeID], new: [NodeID]) {
        let new = listed.subtracting(listedGateways).sorted()
        listedGateways = listed
        let unlisted = Set(shards.values.flatMap { Array($0.gateways) }).subtracting(listed)
        let gone = unlisted.intersection(unlistedGateways).sorted()
        unlistedGateways = unlisted.subtracting(gone)
        for gateway in gone { gatewayGone(gateway) }
        return (gone, new)
    }

    /// Sends a gateway the results again after a message failed to reach its inbox, because its state is unknown.
    package mutating func sendFailed(_ gateway: NodeID, _ keys: [LiveQueryKey], nowMs: Int64) {
        for shard in ownedShards { inShard(shard) { $0.sendFailed(gateway, keys, &$1, nowMs: nowMs) } }
    }

    // MARK: Runs

    private mutating func dispatch(nowMs: Int64) -> [RefreshAction] {
        if schedule.hasPacedLeftovers { sweepPaced() }
        return RunPool.Name.inOrder.flatMap { dispatch($0, nowMs: nowMs) }
    }

    private mutating func dispatch(_ pool: RunPool.Name, nowMs: Int64) -> [RefreshAction] {
        var actions: [RefreshAction] = []
        while let turn = schedule.nextTurn(in: pool, nowMs: nowMs) {
            if pool == .local, let trial = schedule.trial(of: turn.group, nowMs: nowMs) {
                for slot in turn.slots {
                    guard let index = shardIndex(of: slot) else { continue }
                    let priority = shards.values[index].priority(of: slot)
                    schedule.enqueue(slot, to: trial, priority, in: .apart, isPaced: turn.isPaced)
                }
                continue
            }
            let id = schedule.takeBatchNumber()
            var items: [RunBatch.Item] = []
            for slot in turn.slots {
                // A live query that ended may still be in the queue.
                guard let index = shardIndex(of: slot) else { continue }
                let item = shards.values[index].started(
                    slot, batch: id, turn, in: pool, &schedule, nowMs: nowMs)
                if let item { items.append(item) }
            }
            if items.isEmpty { continue }
            let mode = settings.mode(in: pool, turn.group.kind, count: items.count)
            let batch = RunBatch(id: id, items: items, mode: mode, group: turn.group, pool: pool)
            schedule.began(batch, turn)
            actions.append(.run(batch))
        }
        return actions
    }

    private mutating func sweepPaced() {
        let shards = shards
        schedule.sweepPaced { slot, shard in shards[shard]?.isPaced(slot) ?? false }
    }

    /// Returns the index of the shard that holds a live query; nil if the live query ended.
    private func shardIndex(of slot: Int32) -> Dictionary<ShardID, ShardQueries>.Index? {
        guard let shard = schedule.shard(of: slot) else { return nil }
        guard let index = shards.index(forKey: shard) else {
            preconditionFailure("slot \(slot) is of shard \(shard), which is not among the owned \(ownedShards)")
        }
        return index
    }

    /// Handles the end of a batch. `outcomes` are in the order of its items.
    /// - Parameter micros: the time of its statement.
    package mutating func runFinished(
        _ batch: RunBatch, _ outcomes: [RunOutcome], micros: UInt64 = 0, nowMs: Int64
    ) -> [RefreshAction] {
        precondition(
            outcomes.count == batch.items.count,
            "\(outcomes.count) outcomes for \(batch.items.count) live queries of \(batch.operation)")
        schedule.ended(batch)
        let cutShort = outcomes.count { if case .cutShort = $0 { true } else { false } }
        if cutShort > 0 { schedule.cutShort(batch, count: cutShort, nowMs: nowMs) }
        var actions: [RefreshAction] = []
        let share = micros / UInt64(max(1, batch.items.count))
        for (item, outcome) in zip(batch.items, outcomes) {
            // The shard was lost while the run was in flight: its next owner runs the live query.
            guard let index = shards.index(forKey: item.shard) else { continue }
            shards.values[index].finished(
                item, batch: batch.id, outcome, cutShort: cutShort, micros: share, &schedule, &actions, &report,
                nowMs: nowMs)
        }
        return actions + dispatch(nowMs: nowMs)
    }

    // MARK: Time

    /// When to call `timeReached` next; nil if nothing waits for a time.
    package var nextDeadlineMs: Int64? {
        guard report.verification.isOn, schedule.liveQueryCount > 0 else { return schedule.nextDeadlineMs }
        return min(schedule.nextDeadlineMs ?? .max, report.verification.nextMs)
    }

    package mutating func timeReached(nowMs: Int64) -> [RefreshAction] {
        while let timer = schedule.takeDueTimer(nowMs: nowMs) {
            guard let index = shardIndex(of: timer.slot) else { continue }
            shards.values[index].timerReached(timer, &schedule, nowMs: nowMs)
        }
        var actions: [RefreshAction] = []
        for shard in schedule.takeDueReplays(nowMs: nowMs) {
            actions += inShard(shard) { $0.startReplay(&$1, nowMs: nowMs) } ?? []
        }
        return actions + verify(nowMs: nowMs) + dispatch(nowMs: nowMs)
    }

    /// Begins the next verification, and ends those that had their time.
    private mutating func verify(nowMs: Int64) -> [RefreshAction] {
        guard let slots = report.verification.slotsDue(slotMax: schedule.lastSlot, nowMs: nowMs) else { return [] }
        var mismatches: [VerificationMismatch] = []
        for shard in ownedShards {
            mismatches += inShard(shard) { shard, _ in shard.takeMismatches(nowMs: nowMs) } ?? []
        }
        for _ in mismatches { report.verification.missed() }
        for slot in slots {
            guard let index = shardIndex(of: slot), shards.values[index].verify(slot, &schedule, nowMs: nowMs) else {
                continue
            }
            report.verification.began(slot)
            break
        }
        return mismatches.map { .report($0) }
    }
}
