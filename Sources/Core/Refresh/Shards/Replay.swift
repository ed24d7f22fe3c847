import LiveModel

/// Decides whether the results of a shard's live queries are fresh, by events older than the remembered ones.
///
/// The stream is read from the remembered events towards its beginning, so the newest positions are decided first and
/// an old one delays no other.
struct Replay: Sendable {
    /// A live query whose subscribers hold a result with this position.
    private struct Candidate {
        let slot: Int32
        let position: StreamID
    }

    /// Candidates added during a round, for the next one.
    private var waiting: [Candidate] = []
    /// The next round starts before this id.
    private var waitingBefore = StreamID.zero
    /// The candidates of this round, by descending position; those before `next` are decided.
    private var candidates: [Candidate] = []
    private var next = 0
    private var before = StreamID.zero
    private var eventsLeft = 0
    /// The rules of this round's undecided candidates only: events that concern other live queries cost nothing here.
    private var index = RuleIndex()
    /// The page being read.
    private var pageNumber: UInt64?

    var waitingCount: Int { waiting.count }
    var isReading: Bool { pageNumber != nil }

    /// Whether this is the page requested last. Any other belongs to a round that ended or to a former ownership.
    func awaits(_ page: ReplayPage) -> Bool { pageNumber == page.number }

    /// - Parameter floor: the result was already checked against the events after this id.
    mutating func add(_ slot: Int32, position: StreamID, floor: StreamID) {
        waiting.append(Candidate(slot: slot, position: position))
        waitingBefore = max(waitingBefore, floor.successor ?? .max)
    }

    /// Removes unwanted candidates from the next round.
    mutating func keep(_ isWanted: (Int32) -> Bool) { waiting.removeAll { !isWanted($0.slot) } }

    /// Begins the next round with the waiting candidates.
    mutating func begin(eventsMax: Int, rules: (Int32) -> QueryRules) {
        candidates = waiting.sorted { ($1.position, $1.slot) < ($0.position, $0.slot) }
        (next, before, eventsLeft) = (0, waitingBefore, eventsMax)
        (waiting, waitingBefore) = ([], .zero)
        index = RuleIndex()
        for candidate in candidates { index.insert(candidate.slot, rules: rules(candidate.slot)) }
    }

    /// Removes a live query that was decided otherwise or ended. It need not be a candidate of this round.
    mutating func forget(_ slot: Int32) { index.remove(slot) }

    /// Removes and returns the waiting candidates undecided; they run.
    mutating func takeWaiting() -> [Int32] {
        defer { (waiting, waitingBefore) = ([], .zero) }
        return waiting.map(\.slot)
    }

    /// Returns the page to read next; nil if all candidates are decided or enough was read.
    mutating func nextPage(_ shard: ShardID, limit: Int, number: UInt64) -> ReplayPage? {
        guard index.count > 0, eventsLeft > 0 else { return nil }
        pageNumber = number
        return ReplayPage(shard: shard, before: before, limit: min(limit, eventsLeft), number: number)
    }

    /// Moves to the next older event.
    /// - Returns: the candidates that no event after their position concerned.
    mutating func reached(_ id: StreamID) -> [Int32] {
        let first = next
        while next < candidates.count, candidates[next].position >= id {
            index.remove(candidates[next].slot)
            next += 1
        }
        (before, eventsLeft) = (id, eventsLeft - 1)
        return candidates[first..<next].map(\.slot)
    }

    /// - Returns: the undecided candidates that the event concerns; they are now decided.
    mutating func touched(by event: MutationEvent) -> [Int32] {
        let slots = index.match(event).live.filter { $0.causes != .observed }.map(\.slot)
        for slot in slots { index.remove(slot) }
        return slots
    }

    /// Ends the round.
    /// - Returns: the undecided candidates.
    mutating func end() -> [Int32] {
        defer { (candidates, next, pageNumber, index) = ([], 0, nil, RuleIndex()) }
        return candidates[next...].map(\.slot)
    }
}
