import LiveModel

/// Live queries of a shard that are judged by older events than those remembered. The stream is read from there towards
/// its beginning, so that the youngest positions are judged first and an old one delays nobody.
struct Replay: Sendable {
    private struct Wish {
        let slot: Int32
        let position: StreamID
    }

    /// What came while others were judged: the next time.
    private var waiting: [Wish] = []
    /// Events from here on need not be looked at for those.
    private var waitingBefore = StreamID.zero
    /// By falling position; those before `next` are done.
    private var judged: [Wish] = []
    private var next = 0
    private var before = StreamID.zero
    private var eventsLeft = 0
    /// Of those that are judged: an event that concerns many others costs nothing here.
    private(set) var index = RuleIndex()
    /// Of the page under way.
    private(set) var number: UInt64?

    var waitingCount: Int { waiting.count }

    /// - Parameter floor: it is judged already by the events after this one.
    mutating func add(_ slot: Int32, position: StreamID, floor: StreamID) {
        waiting.append(Wish(slot: slot, position: position))
        waitingBefore = max(waitingBefore, floor.successor ?? .max)
    }

    /// Leaves out those that no longer wait for a judgement.
    mutating func keep(_ isWanted: (Int32) -> Bool) { waiting.removeAll { !isWanted($0.slot) } }

    mutating func begin(eventsMax: Int, rules: (Int32) -> QueryRules?) {
        judged = waiting.sorted { ($1.position, $1.slot) < ($0.position, $0.slot) }
        (next, before, eventsLeft) = (0, waitingBefore, eventsMax)
        (waiting, waitingBefore) = ([], .zero)
        index = RuleIndex()
        for wish in judged { if let rules = rules(wish.slot) { index.insert(wish.slot, rules: rules) } }
    }

    /// It was touched, or is judged no more for another reason.
    mutating func forget(_ slot: Int32) { index.remove(slot) }

    /// Those who waited; they are to run.
    mutating func takeWaiting() -> [Int32] {
        defer { (waiting, waitingBefore) = ([], .zero) }
        return waiting.map(\.slot)
    }

    /// What is to be read next; nil when all are judged or enough was read.
    mutating func page(_ shard: ShardID, limit: Int, number: UInt64) -> ReplayPage? {
        guard index.count > 0, eventsLeft > 0 else { return nil }
        self.number = number
        return ReplayPage(shard: shard, before: before, limit: min(limit, eventsLeft), number: number)
    }

    /// The next older event is looked at.
    /// - Returns: those that no event after their position touched.
    mutating func reached(_ id: StreamID) -> [Int32] {
        let first = next
        while next < judged.count, judged[next].position >= id {
            index.remove(judged[next].slot)
            next += 1
        }
        (before, eventsLeft) = (id, eventsLeft - 1)
        return judged[first..<next].map(\.slot)
    }

    /// Those that could not be judged, and the end of it.
    mutating func end() -> [Int32] {
        defer { (judged, next, number, index) = ([], 0, nil, RuleIndex()) }
        return judged[next...].map(\.slot)
    }
}
