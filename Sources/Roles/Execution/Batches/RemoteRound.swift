import LiveModel

/// The order in which a batch's live queries call custom resolvers, and the fate of the remaining calls after a
/// timeout.
///
/// A batch waits for one timeout only: calls not yet made fail with the late one's error and are retried later. Each
/// round starts with another live query, so that different ones fail each time.
struct RemoteRound {
    /// The most live queries of one batch that wait for custom resolvers at a time.
    static let inFlightMax = 16

    struct Call {
        let index: Int
        /// The result as the database made it.
        let result: QueryExecutor.Result
    }

    private(set) var outcomes: [QueryExecutor.Outcome]
    /// The calls not yet made; the last one is next.
    private var waiting: [Call]
    private var inFlight = 0

    /// - Parameters:
    ///   - outcomes: the database's outcomes; only results make a call.
    ///   - first: the index to start with, modulo the number of outcomes.
    init(_ outcomes: [QueryExecutor.Outcome], first: Int) {
        self.outcomes = outcomes
        let first = first % max(1, outcomes.count)
        let order = Array(first..<outcomes.count) + Array(0..<first)
        waiting = order.reversed().compactMap { index in
            guard case .result(let result) = outcomes[index] else { return nil }
            return Call(index: index, result: result)
        }
    }

    /// Returns the next call to make; nil if none is left or `inFlightMax` are in flight.
    mutating func next() -> Call? {
        guard inFlight < Self.inFlightMax, let call = waiting.popLast() else { return nil }
        inFlight += 1
        return call
    }

    /// Records the outcome of a call. A timeout fails the calls not yet made.
    mutating func ended(_ index: Int, _ outcome: QueryExecutor.Outcome) {
        precondition(inFlight > 0, "\(index) ended, and none was in flight")
        inFlight -= 1
        outcomes[index] = outcome
        guard case .failed(let error) = outcome, error.code == .timeout else { return }
        for call in waiting { outcomes[call.index] = .failed(error) }
        waiting = []
    }
}
