import LiveModel

/// The order in which the live queries of one batch ask custom resolvers, and what becomes of the rest when one is
/// late.
///
/// A batch waits for one time-out, not for one after the other: those that were not asked yet fail like the late one
/// and are tried again later. Each round begins at another place, so that it is not the same rest each time.
struct RemoteRound {
    /// Live queries of one batch that wait for custom resolvers at a time.
    static let inFlightMax = 16

    struct Call {
        let index: Int
        /// As the database made it.
        let result: QueryExecutor.Result
    }

    private(set) var outcomes: [QueryExecutor.Outcome]
    /// What is still to be asked, in order; the next is the last.
    private var waiting: [Call]
    private var inFlight = 0

    /// - Parameters:
    ///   - outcomes: what the database answered. Only results ask.
    ///   - first: where to begin, modulo their number.
    init(_ outcomes: [QueryExecutor.Outcome], first: Int) {
        self.outcomes = outcomes
        let first = first % max(1, outcomes.count)
        let order = Array(first..<outcomes.count) + Array(0..<first)
        waiting = order.reversed().compactMap { index in
            guard case .result(let result) = outcomes[index] else { return nil }
            return Call(index: index, result: result)
        }
    }

    /// The next that asks; nil where none is left or enough are waiting for answers.
    mutating func next() -> Call? {
        guard inFlight < Self.inFlightMax, let call = waiting.popLast() else { return nil }
        inFlight += 1
        return call
    }

    /// One that asked has its outcome.
    mutating func ended(_ index: Int, _ outcome: QueryExecutor.Outcome) {
        precondition(inFlight > 0, "\(index) ended, and none was in flight")
        inFlight -= 1
        outcomes[index] = outcome
        guard case .failed(let error) = outcome, error.code == .timeout else { return }
        for call in waiting { outcomes[call.index] = .failed(error) }
        waiting = []
    }
}
