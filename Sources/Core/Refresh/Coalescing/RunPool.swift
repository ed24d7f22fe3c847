/// Runs that share a limit, with the queues of live queries that wait for it.
///
/// Queries that call other servers have a separate pool, so that a hanging server does not block the others.
struct RunPool: Sendable {
    enum Name: Int, Sendable, CaseIterable {
        /// Runs that need only Postgres.
        case local
        /// Runs that also wait for custom resolvers or the embedding server.
        case remote
    }

    /// Live queries that may share a statement.
    struct Turn {
        let group: DueQueue.Group
        let slots: [Int32]
        let isPaced: Bool
    }

    /// Maximum number of statements in flight.
    private let runsMax: Int
    private var due = DueQueue()
    private var paced = DueQueue()
    private(set) var runsInFlight = 0
    private var pacedBatches: Set<UInt64> = []

    init(runsMax: Int) {
        self.runsMax = runsMax
    }

    var dueCount: Int { due.count }
    var pacedCount: Int { paced.count }
    var mayRun: Bool { runsInFlight < runsMax }

    /// Whether this pool admits another paced statement.
    func mayRunPaced(statementsMax: Int) -> Bool {
        mayRun && paced.count > 0 && pacedBatches.count < statementsMax
    }

    mutating func append(_ slot: Int32, to group: DueQueue.Group, isPaced: Bool) {
        if isPaced { paced.append(slot, to: group) } else { due.append(slot, to: group) }
    }

    /// Takes the next turn. Runs with a cause go first, but one paced statement is always allowed, so that paced runs
    /// make progress.
    /// - Parameter pacedMax: the number of paced runs that may start now.
    mutating func nextTurn(pacedMax: Int, batchMax: Int) -> Turn? {
        let isPacedFirst = pacedMax > 0 && pacedBatches.isEmpty
        if !isPacedFirst, let turn = nextDue(batchMax) { return turn }
        if pacedMax > 0, let (group, slots) = paced.next(limit: min(pacedMax, batchMax)) {
            return Turn(group: group, slots: slots, isPaced: true)
        }
        return nextDue(batchMax)
    }

    private mutating func nextDue(_ batchMax: Int) -> Turn? {
        due.next(limit: batchMax).map { Turn(group: $0.group, slots: $0.slots, isPaced: false) }
    }

    mutating func began(_ batch: UInt64, isPaced: Bool) {
        runsInFlight += 1
        if isPaced { pacedBatches.insert(batch) }
    }

    mutating func ended(_ batch: UInt64) {
        precondition(runsInFlight > 0, "batch \(batch) ended, but none is in flight")
        runsInFlight -= 1
        pacedBatches.remove(batch)
    }

    /// Drops all unwanted slots from queues that hold more than `countMax`.
    mutating func sweep(above countMax: Int, keeping isWanted: (Int32) -> Bool) {
        if due.count > countMax { due.keep(isWanted) }
        if paced.count > countMax { paced.keep(isWanted) }
    }

    mutating func sweepPaced(keeping isWanted: (Int32) -> Bool) { paced.keep(isWanted) }
}
