/// Runs that share a limit, with the queues of live queries that wait for it.
///
/// A pool holds the runs that may delay each other. Those that take long, or may, have separate ones, so that a slow
/// statement or a hanging server does not block the others.
struct RunPool: Sendable {
    enum Name: Int, Sendable, CaseIterable {
        /// Runs that need only Postgres and are cut short when they take long.
        case local
        /// Runs on connections for slow statements that are cut short: of live queries that must prove to be fast, and
        /// of those that take a moderate time.
        case apart
        /// Runs on connections for slow statements of live queries that take long, each alone.
        case slow
        /// Runs that also wait for custom resolvers or the embedding server.
        case remote

        /// The pools share the pace; runs that wait take little of it, so they go first. `local` hands live queries on
        /// to `apart`.
        static let inOrder: [Name] = [.remote, .slow, .local, .apart]
    }

    /// Live queries that may share a statement.
    struct Turn {
        let group: DueQueue.Group
        let slots: [Int32]
        let isPaced: Bool
    }

    /// Maximum number of statements in flight.
    private let runsMax: Int
    /// Maximum number of statements in flight with first runs of one operation, and again with paced ones. Nothing is
    /// known of their speed: together they must not delay the others.
    private let firstRunsMax: Int
    private var due = DueQueue()
    private var paced = DueQueue()
    private(set) var runsInFlight = 0
    private var pacedBatches: Set<UInt64> = []
    /// The statements in flight with first runs; only groups of this kind.
    private var firstRuns: [DueQueue.Group: Int] = [:]
    private var pacedFirstRuns: [DueQueue.Group: Int] = [:]

    init(runsMax: Int, firstRunsMax: Int) {
        self.runsMax = runsMax
        self.firstRunsMax = firstRunsMax
    }

    var dueCount: Int { due.count }
    var pacedCount: Int { paced.count }
    var mayRun: Bool { runsInFlight < runsMax }

    /// Whether this pool admits another paced statement.
    func mayRunPaced(statementsMax: Int) -> Bool {
        mayRun && pacedBatches.count < statementsMax
            && paced.hasTurn { $0.kind == .firstRuns && pacedFirstRuns[$0, default: 0] >= firstRunsMax }
    }

    mutating func append(_ slot: Int32, to group: DueQueue.Group, isPaced: Bool) {
        if isPaced { paced.append(slot, to: group) } else { due.append(slot, to: group) }
    }

    /// Takes the next turn. Runs with a cause go first, but one paced statement is always allowed, so that paced runs
    /// make progress.
    /// - Parameters:
    ///   - pacedMax: the number of paced runs that may start now.
    ///   - batchMax: the number of a group's live queries that may run together.
    mutating func nextTurn(pacedMax: Int, batchMax: (DueQueue.Group) -> Int) -> Turn? {
        let isPacedFirst = pacedMax > 0 && pacedBatches.isEmpty
        if !isPacedFirst, let turn = nextDue(batchMax) { return turn }
        if pacedMax > 0, let turn = nextPaced(pacedMax, batchMax) { return turn }
        return nextDue(batchMax)
    }

    private mutating func nextPaced(_ pacedMax: Int, _ batchMax: (DueQueue.Group) -> Int) -> Turn? {
        let (running, runsMax) = (pacedFirstRuns, firstRunsMax)
        return paced.next {
            min(pacedMax, batchMax($0))
        } except: {
            $0.kind == .firstRuns && running[$0, default: 0] >= runsMax
        }.map { Turn(group: $0.group, slots: $0.slots, isPaced: true) }
    }

    private mutating func nextDue(_ batchMax: (DueQueue.Group) -> Int) -> Turn? {
        let (running, runsMax) = (firstRuns, firstRunsMax)
        return due.next(limit: batchMax) { $0.kind == .firstRuns && running[$0, default: 0] >= runsMax }
            .map { Turn(group: $0.group, slots: $0.slots, isPaced: false) }
    }

    mutating func began(_ batch: UInt64, _ group: DueQueue.Group, isPaced: Bool) {
        runsInFlight += 1
        if isPaced { pacedBatches.insert(batch) }
        guard group.kind == .firstRuns else { return }
        if isPaced { pacedFirstRuns[group, default: 0] += 1 } else { firstRuns[group, default: 0] += 1 }
    }

    mutating func ended(_ batch: UInt64, _ group: DueQueue.Group) {
        precondition(runsInFlight > 0, "batch \(batch) ended, but none is in flight")
        runsInFlight -= 1
        let wasPaced = pacedBatches.remove(batch) != nil
        guard group.kind == .firstRuns else { return }
        if wasPaced {
            pacedFirstRuns[group] = Self.oneLess(pacedFirstRuns[group])
        } else {
            firstRuns[group] = Self.oneLess(firstRuns[group])
        }
    }

    private static func oneLess(_ count: Int?) -> Int? { count.flatMap { $0 > 1 ? $0 - 1 : nil } }

    /// Drops all unwanted slots from queues that hold more than `countMax`.
    mutating func sweep(above countMax: Int, keeping isWanted: (Int32) -> Bool) {
        if due.count > countMax { due.keep(isWanted) }
        if paced.count > countMax { paced.keep(isWanted) }
    }

    mutating func sweepPaced(keeping isWanted: (Int32) -> Bool) { paced.keep(isWanted) }
}
