import LiveModel

/// Judges live queries of a shard by older events than those remembered.
///
/// The stream is read from the remembered events towards its beginning, so the youngest positions are judged first and
/// an old one delays nobody.
struct Replay: Sendable {
    /// A live query whose subscribers' result was read at `position`.
    private struct Candidate {
        let slot: Int32
        let position: StreamID
    }

    /// Those that came while others were being judged: the next round.
    private var waiting: [Candidate] = []
    /// The next round need not look at events from here on.
    private var waitingBefore = StreamID.zero
    /// This round, by falling position; those before `next` are done.
    private var candidates: [Candidate] = []
    private var next = 0
    private var before = StreamID.zero
    private var eventsLeft = 0
    /// Rules of this round's undecided candidates alone: events that concern only others cost nothing here.
    private var index = RuleIndex()
    /// The page being read.
    private var pageNumber: UInt64?

    var waitingCount: Int { waiting.count }
    var isReading: Bool { pageNumber != nil }

    /// Whether this is the page that was requested last. Any other is of a round that ended, or of a former ownership.
    func awaits(_ page: ReplayPage) -> Bool { pageNumber == page.number }

    /// - Parameter floor: the events after this one have judged it already.
    mutating func add(_ slot: Int32, position: StreamID, floor: StreamID) {
        waiting.append(Candidate(slot: slot, position: position))
        waitingBefore = max(waitingBefore, floor.successor ?? .max)
    }

    /// Leaves out those of the next round that no longer await judgement.
    mutating func keep(_ isWanted: (Int32) -> Bool) { waiting.removeAll { !isWanted($0.slot) } }

    /// Begins the next round with those that wait for it.
    mutating func begin(eventsMax: Int, rules: (Int32) -> QueryRules) {
        candidates = waiting.sorted { ($1.position, $1.slot) < ($0.position, $0.slot) }
        (next, before, eventsLeft) = (0, waitingBefore, eventsMax)
        (waiting, waitingBefore) = ([], .zero)
        index = RuleIndex()
        for candidate in candidates { index.insert(candidate.slot, rules: rules(candidate.slot)) }
    }

    /// The live query is decided some other way, or gone. It need not be a candidate of this round.
    mutating func forget(_ slot: Int32) { index.remove(slot) }

    /// Gives up on those that wait for the next round; they run.
    mutating func takeWaiting() -> [Int32] {
        defer { (waiting, waitingBefore) = ([], .zero) }
        return waiting.map(\.slot)
    }

    /// The page to read next; nil when all are judged or enough was read.
    mutating func nextPage(_ shard: ShardID, limit: Int, number: UInt64) -> ReplayPage? {
        guard index.count > 0, eventsLeft > 0 else { return nil }
        pageNumber = number
        return ReplayPage(shard: shard, before: before, limit: min(limit, eventsLeft), number: number)
    }

    /// The next older event was read.
    /// - Returns: those that no event after their position touched.
    mutating func reached(_ id: StreamID) -> [Int32] {
        let first = next
        while next < candidates.count, candidates[next].position >= id {
            index.remove(candidates[next].slot)
            next += 1
        }
        (before, eventsLeft) = (id, eventsLeft - 1)
        return candidates[first..<next].map(\.slot)
    }

    /// - Returns: the undecided candidates that the event touches; they are decided now.
    mutating func touched(by event: MutationEvent) -> [Int32] {
        let slots = index.match(event).live.map(\.slot)
        for slot in slots { index.remove(slot) }
        return slots
    }

    /// Ends the round.
    /// - Returns: those that it could not judge.
    mutating func end() -> [Int32] {
        defer { (candidates, next, pageNumber, index) = ([], 0, nil, RuleIndex()) }
        return candidates[next...].map(\.slot)
    }
}
