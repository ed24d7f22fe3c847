package import LiveModel

/// Decides, for every shard that a worker owns, which live query runs when and who gets what.
///
/// Calls are facts in the past tense with the time they happened; what is to be done comes out as `RefreshAction`s.
/// Nothing here knows a clock, a socket or a task. One machine in several files: here are its state, the shards and the
/// slots of live queries; events, interest, triggers, runs and reports stand beside it. Only these files touch the state.
///
/// The order that makes it safe: a live query enters the rule index *before* its first run is asked for, and a run is
/// fresh up to the events applied *before* it started. So an event is either covered by the run, or it marks the live
/// query dirty and one more run follows.
package struct RefreshMachine: Sendable {
    package typealias RulesProvider = @Sendable (LiveQuery) throws(RequestError) -> QueryRules

    package let settings: RefreshSettings
    let rules: RulesProvider
    /// One for each shard with live queries: an event that concerns several shards comes to each of them.
    var indexes: [ShardID: RuleIndex] = [:]
    var shards: [ShardID: ShardState] = [:]
    var states: [Int32: LiveQueryState] = [:]
    /// A live query may stand at two shards of one worker while its operation's splits change.
    var slots: [SlotKey: Int32] = [:]
    /// By `RunPool.Name`.
    var lanes: [RunPool]
    var pace: Pace
    /// Of shards that are gone, too.
    var formerTakeOver = TakeOverCounts()
    var timers = TimerHeap()
    /// When shards begin to look at older events.
    var replayStartsMs: [ShardID: Int64] = [:]
    var lastReplay: UInt64 = 0
    var nextSlot: Int32 = 0
    var nextBatch: UInt64 = 0
    var conditionErrors: [Trigger.ID: UInt64] = [:]
    /// Gateways with interest that the last node list did not name.
    var unlistedGateways: Set<NodeID> = []
    /// Of the last node list.
    var listedGateways: Set<NodeID> = []

    struct SlotKey: Hashable {
        let shard: ShardID
        let key: LiveQueryKey
    }

    /// - Parameter rules: the compiled rules of a live query; throws when this worker does not know the stored
    ///   operation in that version, or its variables cannot be used.
    package init(settings: RefreshSettings, rules: @escaping RulesProvider) {
        self.settings = settings
        self.rules = rules
        lanes = RunPool.Name.allCases.map { name in
            switch name {
            case .local: RunPool(runsMax: settings.runsMax)
            case .remote: RunPool(runsMax: settings.remoteRunsMax)
            }
        }
        self.pace = Pace(
            perSecond: settings.pacedRunsPerSecond, burst: min(settings.batchMax, settings.pacedRunsPerSecond))
    }

    // MARK: Ownership

    /// The lease of `shard` was taken under `epoch`. Next, every gateway is asked to announce its interest.
    /// - Parameters:
    ///   - lastEventID: last id that the shard's event stream ever gave out.
    ///   - history: the last entries of that stream, oldest first, without a hole up to `lastEventID`, all readable.
    ///   - trustedEpoch: results of earlier epochs may lack events that the broker's former server lost.
    package mutating func shardAcquired(
        _ shard: ShardID, epoch: UInt64, lastEventID: StreamID, history: [EventEntry], trustedEpoch: UInt64 = 0,
        nowMs: Int64
    ) {
        _ = shardLost(shard)
        var state = ShardState(
            epoch: epoch, trustedEpoch: trustedEpoch, ownedSinceMs: nowMs, lastEventID: lastEventID,
            history: EventTail(floor: history.first?.id ?? lastEventID),
            // An empty stream may be a new one after a loss: nothing is judged before its first event.
            lossFloor: lastEventID == .zero ? .max : .zero)
        for entry in history { state.history.append(entry) }
        state.cutHistory(countMax: settings.historyMax, bytesMax: settings.historyBytesMax)
        state.takeOver.replayed = UInt64(state.history.count)
        shards[shard] = state
    }

    /// The lease is gone, given up or not renewed in time: nothing of this shard may be sent any more.
    /// - Returns: how many live queries it had.
    @discardableResult
    package mutating func shardLost(_ shard: ShardID) -> Int {
        guard let state = shards.removeValue(forKey: shard) else { return 0 }
        replayStartsMs[shard] = nil
        formerTakeOver += state.takeOver
        for slot in state.slots { drop(slot) }
        return state.slots.count
    }

    // MARK: Slots

    mutating func drop(_ slot: Int32) {
        guard let state = states.removeValue(forKey: slot) else { return }
        for gateway in state.subscribers.keys { shards[state.shard]?.interest.remove(state.query.key, of: gateway) }
        indexes[state.shard]?.remove(slot)
        if indexes[state.shard]?.count == 0 { indexes[state.shard] = nil }
        if case .judged = state.phase { shards[state.shard]?.replay.forget(slot) }
        shards[state.shard]?.phases[state.phase.name] -= 1
        slots[SlotKey(shard: state.shard, key: state.query.key)] = nil
        shards[state.shard]?.slots.remove(slot)
        // What stands in the queue and the heap for live queries that are gone goes when it outnumbers the living:
        // else comings and goings would fill them while runs are stuck or intervals are long.
        let living = states
        let countMax = living.count + Self.leftoversMax
        for lane in lanes.indices {
            if lanes[lane].due.count > countMax { lanes[lane].due.keep { living[$0] != nil } }
            if lanes[lane].paced.count > countMax { lanes[lane].paced.keep { living[$0] != nil } }
        }
        if timers.count > 3 * living.count + Self.leftoversMax { timers.keep { living[$0] != nil } }
    }

    /// Entries for live queries that are gone, which the due queue and the timers may hold.
    package static let leftoversMax = 1_024

    mutating func takeSlot() -> Int32 {
        repeat { nextSlot = nextSlot == .max ? 0 : nextSlot + 1 } while states[nextSlot] != nil
        return nextSlot
    }

    mutating func takePosition(in shard: ShardID) -> Position {
        guard let state = shards[shard] else { return Position(epoch: 0, run: 0, id: .zero) }
        shards[shard]?.runs += 1
        return Position(epoch: state.epoch, run: state.runs + 1, id: state.lastEventID)
    }
}
