import DequeModule
import LiveModel

/// One shard that this worker owns.
struct ShardState: Sendable {
    let epoch: UInt64
    /// Positions of earlier epochs cannot be judged at all.
    let trustedEpoch: UInt64
    let ownedSinceMs: Int64
    /// Events up to here are applied.
    var lastEventID: StreamID
    /// The last events, by which positions are judged.
    var history: EventTail
    /// Positions below this cannot be judged by the stream either: what it has is not all that there was.
    var lossFloor: StreamID
    var replay = Replay()
    var runs: UInt64 = 0
    var slots: Set<Int32> = []
    /// What gateways announced and this worker could not take: bounded by their own bounds on live queries.
    var refused: [NodeID: Set<LiveQueryKey>] = [:]
    /// Of subscribers and of the refused.
    var interest = InterestFingerprints()
    var events: UInt64 = 0
    var matches: UInt64 = 0
    var lastEventMs: Int64 = 0
    var lastRefreshMs: Int64 = 0
    var takeOver = TakeOverCounts()
    var phases = PhaseCounts()

    /// An entry of the shard's event stream.
    /// - Returns: false when it is applied already.
    mutating func applies(_ id: StreamID, nowMs: Int64) -> Bool {
        guard id > lastEventID else { return false }
        lastEventID = id
        if lossFloor == .max {
            lossFloor = id
            history = EventTail(floor: id)
        }
        events += 1
        lastEventMs = nowMs
        return true
    }

    mutating func cutHistory(countMax: Int, bytesMax: Int) {
        while history.count > countMax || history.byteCount > bytesMax, history.count > 0 { history.removeFirst() }
    }
}

/// The last events of a shard's stream, oldest first, without a hole.
struct EventTail: Sendable {
    private var entries: Deque<EventEntry> = []
    private(set) var byteCount = 0
    /// What was fresh up to here or later can be judged by these events.
    private(set) var floor: StreamID

    init(floor: StreamID) { self.floor = floor }

    var count: Int { entries.count }

    mutating func append(_ entry: EventEntry) {
        entries.append(entry)
        byteCount += entry.byteCount
    }

    mutating func removeFirst() {
        let entry = entries.removeFirst()
        byteCount -= entry.byteCount
        floor = max(floor, entry.id)
    }

    /// Whether one after `id` concerns a live query with these rules.
    func concerns(_ rules: QueryRules, after id: StreamID) -> Bool {
        entries.contains { entry in
            entry.id > id && entry.event.map { RuleIndex.concerns($0, rules: rules) } ?? true
        }
    }
}
