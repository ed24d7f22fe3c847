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

        /// The order in which pools take from the shared rate limit: runs that wait for servers use little of it and go
        /// first. `local` precedes `apart`, to which it hands live queries.
        static let inOrder: [Name] = [.remote, .slow, .local, .apart]

        /// Whether its runs take long and are few, so that clients take turns.
        var clientsTakeTurns: Bool {
            switch self {
            case .apart, .slow: true
            case .local, .remote: false
            }
        }
    }

    /// Live queries that may share a statement.
    struct Turn {
        let group: DueQueue.Group
        let slots: [Int32]
        let isPaced: Bool
        var clients: Set<RunPriority.Client> = []
    }

    /// Maximum number of statements in flight.
    private let runsMax: Int
    /// Maximum number of statements in flight with first runs of one operation, and again with paced ones. Nothing is
    /// known of their speed: together they must not delay the others.
    private let firstRunsMax: Int
    private let clientsTakeTurns: Bool
    private var due = DueQueue()
    /// The due live queries where clients take turns, instead of `due`.
    private var byClient: ClientQueue
    private var paced = DueQueue()
    private(set) var runsInFlight = 0
    private var pacedBatches: Set<UInt64> = []
    /// The statements in flight with first runs; only groups of this kind.
    private var firstRuns: [DueQueue.Group: Int] = [:]
    private var pacedFirstRuns: [DueQueue.Group: Int] = [:]
    /// The statements in flight that wait for each other server.
    private var serverRuns: [String: Int] = [:]
    private var lastWasPaced = false

    init(_ name: Name, runsMax: Int, firstRunsMax: Int) {
        clientsTakeTurns = name.clientsTakeTurns
        self.runsMax = runsMax
        self.firstRunsMax = firstRunsMax
        byClient = ClientQueue(runsMax: runsMax)
    }

    /// The statements in flight that may wait for the same server: one that hangs does not take all.
    private var serverRunsMax: Int { max(1, runsMax / 2) }

    var dueCount: Int { due.count + byClient.count }
    var pacedCount: Int { paced.count }
    var mayRun: Bool { runsInFlight < runsMax }

    /// Whether this pool admits another paced statement.
    func mayRunPaced(statementsMax: Int) -> Bool {
        let statementsMax = clientsTakeTurns ? min(statementsMax, max(1, runsMax - 1)) : statementsMax
        return mayRun && pacedBatches.count < statementsMax && paced.hasTurn(except: shares(pacedFirstRuns).block)
    }

    /// The runs in flight that count towards limits of their own, apart from the queues, which change meanwhile.
    private struct Shares {
        let firstRuns: [DueQueue.Group: Int]
        let firstRunsMax: Int
        let servers: [String: Int]
        let serverMax: Int

        func block(_ group: DueQueue.Group) -> Bool {
            if group.kind == .firstRuns, firstRuns[group, default: 0] >= firstRunsMax { return true }
            return group.servers.contains { servers[$0, default: 0] >= serverMax }
        }
    }

    private func shares(_ firstRuns: [DueQueue.Group: Int]) -> Shares {
        Shares(firstRuns: firstRuns, firstRunsMax: firstRunsMax, servers: serverRuns, serverMax: serverRunsMax)
    }

    mutating func append(_ slot: Int32, to group: DueQueue.Group, _ priority: RunPriority, isPaced: Bool) {
        if isPaced {
            paced.append(slot, to: group)
        } else if clientsTakeTurns {
            byClient.append(slot, to: group, priority)
        } else {
            due.append(slot, to: group)
        }
    }

    /// Takes the next turn. Runs with a cause go first, but one paced statement is always allowed, so that paced runs
    /// make progress.
    /// - Parameters:
    ///   - pacedMax: the number of paced runs that may start now.
    ///   - batchMax: the number of a group's live queries that may run together.
    mutating func nextTurn(pacedMax: Int, batchMax: (DueQueue.Group) -> Int) -> Turn? {
        // With a single run, the two take turns.
        let isPacedFirst = pacedMax > 0 && pacedBatches.isEmpty && !(runsMax == 1 && lastWasPaced)
        if !isPacedFirst, let turn = nextDue(batchMax) { return turn }
        if pacedMax > 0, let turn = nextPaced(pacedMax, batchMax) { return turn }
        return nextDue(batchMax)
    }

    private mutating func nextPaced(_ pacedMax: Int, _ batchMax: (DueQueue.Group) -> Int) -> Turn? {
        paced.next(limit: { min(pacedMax, batchMax($0)) }, except: shares(pacedFirstRuns).block)
            .map { Turn(group: $0.group, slots: $0.slots, isPaced: true) }
    }

    private mutating func nextDue(_ batchMax: (DueQueue.Group) -> Int) -> Turn? {
        if clientsTakeTurns {
            return byClient.next(limit: batchMax)
                .map { Turn(group: $0.group, slots: $0.slots, isPaced: false, clients: $0.clients) }
        }
        return due.next(limit: batchMax, except: shares(firstRuns).block)
            .map { Turn(group: $0.group, slots: $0.slots, isPaced: false) }
    }

    mutating func began(_ batch: UInt64, _ group: DueQueue.Group, isPaced: Bool, clients: Set<RunPriority.Client>) {
        runsInFlight += 1
        lastWasPaced = isPaced
        if !clients.isEmpty { byClient.began(batch, of: clients) }
        for server in group.servers { serverRuns[server, default: 0] += 1 }
        if isPaced { pacedBatches.insert(batch) }
        guard group.kind == .firstRuns else { return }
        if isPaced { pacedFirstRuns[group, default: 0] += 1 } else { firstRuns[group, default: 0] += 1 }
    }

    mutating func ended(_ batch: UInt64, _ group: DueQueue.Group) {
        precondition(runsInFlight > 0, "batch \(batch) ended, but none is in flight")
        runsInFlight -= 1
        let wasPaced = pacedBatches.remove(batch) != nil
        byClient.ended(batch)
        for server in group.servers { serverRuns[server] = Self.oneLess(serverRuns[server]) }
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
        if byClient.count > countMax { byClient.keep(isWanted) }
        if paced.count > countMax { paced.keep(isWanted) }
    }

    mutating func sweepPaced(keeping isWanted: (Int32) -> Bool) { paced.keep(isWanted) }
}
