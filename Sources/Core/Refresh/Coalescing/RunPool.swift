/// Runs that share a limit, and the live queries that wait for it.
///
/// What asks other servers has a lane of its own: while those hang, all else goes on.
struct RunPool: Sendable {
    enum Name: Int, Sendable, CaseIterable {
        /// Asks Postgres alone.
        case local
        /// Waits for custom resolvers or the embedding server as well.
        case remote
    }

    /// Statements in flight at once.
    let runsMax: Int
    var due = DueQueue()
    var paced = DueQueue()
    var runsInFlight = 0
    var pacedBatches: Set<UInt64> = []

    init(runsMax: Int) {
        self.runsMax = runsMax
    }

    /// Whether one more statement of those without a cause may begin, as far as the lane is concerned.
    func mayRunPaced(statementsMax: Int) -> Bool {
        paced.count > 0 && pacedBatches.count < statementsMax
    }
}
