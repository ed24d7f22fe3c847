import LiveModel
import Pacing

/// Schedules the runs of the live queries of all shards: their slots, the queues of due ones, the pace of runs without
/// a cause, and the timers.
///
/// A queue or a timer may still hold the slot of a live query that ended or moved on; its shard decides when the entry
/// comes up. Such leftovers are removed once they outnumber the live ones.
struct RunSchedule: Sendable {
    /// The number of leftovers that queues and timers may always hold.
    static let leftoversMax = 1_024

    let settings: RefreshSettings
    private var slots = SlotTable()
    /// Indexed by `RunPool.Name`.
    private var pools: [RunPool]
    private var pace: TokenBucket
    private var slowOperations = SlowOperations()
    private var timers = TimerHeap()
    /// When shards begin to replay older events; at most one entry per shard.
    private var replayStartsMs: [ShardID: Int64] = [:]
    private var lastBatch: UInt64 = 0
    private var lastPage: UInt64 = 0

    init(settings: RefreshSettings) {
        self.settings = settings
        pools = RunPool.Name.allCases.map { name in
            RunPool(name, runsMax: settings.runsMax(in: name), firstRunsMax: settings.firstRunsMax)
        }
        pace = TokenBucket(
            perSecond: settings.pacedRunsPerSecond, burst: min(settings.batchMax, settings.pacedRunsPerSecond))
    }

    var liveQueryCount: Int { slots.count }
    var lastSlot: Int32 { slots.lastTaken }
    var runsInFlight: Int { pools.reduce(0) { $0 + $1.runsInFlight } }
    var dueCount: Int { pools.reduce(0) { $0 + $1.dueCount } }
    var timerCount: Int { timers.count }

    // MARK: Slots

    mutating func takeSlot(for shard: ShardID) -> Int32 { slots.take(for: shard) }

    /// Releases the slot of a live query that ended.
    mutating func release(_ slot: Int32) {
        slots.release(slot)
        let living = slots
        for pool in pools.indices {
            pools[pool].sweep(above: living.count + Self.leftoversMax) { living.shard(of: $0) != nil }
        }
        if timers.count > 3 * living.count + Self.leftoversMax { timers.keep { living.shard(of: $0) != nil } }
    }

    /// Returns the shard that holds a live query; nil if the live query ended.
    func shard(of slot: Int32) -> ShardID? { slots.shard(of: slot) }

    // MARK: Queues and runs

    mutating func enqueue(
        _ slot: Int32, to group: DueQueue.Group, _ priority: RunPriority, in pool: RunPool.Name, isPaced: Bool
    ) {
        pools[pool.rawValue].append(slot, to: group, priority, isPaced: isPaced)
    }

    /// Whether the paced queues may consist mostly of live queries that an event took out of turn.
    var hasPacedLeftovers: Bool { pools.contains { $0.pacedCount > 2 * slots.count + Self.leftoversMax } }

    mutating func sweepPaced(keeping isPaced: (_ slot: Int32, _ shard: ShardID) -> Bool) {
        let living = slots
        for pool in pools.indices {
            pools[pool].sweepPaced { slot in living.shard(of: slot).map { isPaced(slot, $0) } ?? false }
        }
    }

    /// - Returns: the next turn; nil if nothing waits in the pool or nothing may run.
    mutating func nextTurn(in pool: RunPool.Name, nowMs: Int64) -> RunPool.Turn? {
        let index = pool.rawValue
        guard pools[index].mayRun else { return nil }
        let mayRunPaced = pools[index].mayRunPaced(statementsMax: settings.pacedStatementsMax)
        let pacedMax = mayRunPaced ? pace.available(nowMs: nowMs) : 0
        let (settings, slowOperations) = (settings, slowOperations)
        return pools[index].nextTurn(pacedMax: pacedMax) { group in
            let batchMax =
                switch group.kind {
                case .ordinary: slowOperations.batchMax(of: group.key, nowMs: nowMs) ?? settings.batchMax
                case .firstRuns: settings.firstRunsBatchMax
                case .failedRemote: settings.batchMax
                case .suspect(let batchMax): batchMax
                case .alone: 1
                }
            return min(batchMax, settings.batchMax)
        }
    }

    /// Returns the group in which live queries of this one prove their speed apart from others, before they run among
    /// them; nil if they need not.
    func trial(of group: DueQueue.Group, nowMs: Int64) -> DueQueue.Group? {
        guard group.kind == .firstRuns, settings.slowRunMs != nil, slowOperations.contains(group.key, nowMs: nowMs)
        else { return nil }
        var trial = group
        trial.kind = .suspect(batchMax: SlowOperations.trialMax)
        return trial
    }

    /// Records that `count` live queries of a batch were cut short together.
    mutating func cutShort(_ batch: RunBatch, count: Int, nowMs: Int64) {
        let wereFast = batch.group.kind == .ordinary && count > 1
        slowOperations.cutShort(batch.group.key, count: count, wereFast: wereFast, nowMs: nowMs)
    }

    /// Returns a batch number that is unique in this worker.
    mutating func takeBatchNumber() -> UInt64 {
        lastBatch += 1
        return lastBatch
    }

    /// - Parameter turn: the turn in which the batch began.
    mutating func began(_ batch: RunBatch, _ turn: RunPool.Turn) {
        if turn.isPaced { pace.take(batch.items.count) }
        pools[batch.pool.rawValue].began(batch.id, batch.group, isPaced: turn.isPaced, clients: turn.clients)
    }

    mutating func ended(_ batch: RunBatch) { pools[batch.pool.rawValue].ended(batch.id, batch.group) }

    // MARK: Timers

    mutating func setTimer(_ kind: TimerHeap.Kind, _ slot: Int32, atMs: Int64) {
        timers.insert(.init(deadlineMs: atMs, slot: slot, kind: kind))
    }

    mutating func takeDueTimer(nowMs: Int64) -> TimerHeap.Entry? { timers.popDue(nowMs: nowMs) }

    /// Collects live queries that await a replay, so that one replay decides on all of them.
    mutating func gatherReplay(of shard: ShardID, nowMs: Int64) {
        if replayStartsMs[shard] == nil { replayStartsMs[shard] = nowMs + settings.replayGatherMs }
    }

    /// Removes and returns the shards that begin to replay now.
    mutating func takeDueReplays(nowMs: Int64) -> [ShardID] {
        let due = replayStartsMs.filter { $0.value <= nowMs }.keys.sorted()
        for shard in due { replayStartsMs[shard] = nil }
        return due
    }

    mutating func cancelReplay(of shard: ShardID) { replayStartsMs[shard] = nil }

    /// Returns a page number that is unique in this worker, so that a page read for a former owner of a shard is not
    /// mistaken for one of the next.
    mutating func takePageNumber() -> UInt64 {
        lastPage += 1
        return lastPage
    }

    /// The next due time; nil if nothing waits for a time.
    var nextDeadlineMs: Int64? {
        let mayRunPaced = pools.contains { $0.mayRunPaced(statementsMax: settings.pacedStatementsMax) }
        return [timers.earliestMs, replayStartsMs.values.min(), mayRunPaced ? pace.nextMs : nil].compactMap { $0 }.min()
    }
}

extension DueQueue.Group {
    fileprivate var key: SlowOperations.Key { SlowOperations.Key(operation: operation, version: version) }
}
