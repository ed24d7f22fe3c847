import JSON
import LiveModel
import Refresh
import RoleMachines
import SeededRandom
import Sessions
import Sharding

/// The whole system under one seed: two API nodes, three workers, three gateways, their clients, Redis and Postgres.
///
/// A run is faults, then peace, twice. Invariants are checked after every step, and convergence once peace has lasted.
///
/// Long, because everything that a run has is made here.
package final class World {
    static let eventsLengthMax = 60
    static let inboxLengthMax = 30
    static let outgoingBytesMax = 20_000
    /// The limit on a worker's calls in flight: for each shard, as many as begin within the slowest one's duration.
    static let callsMax = 16 * Workload.shardCount
    static let controlLengthMax = 80
    static let hubCount = 2
    /// The limit on a gateway's queued messages to shards.
    static let outgoingMax = 200
    /// The limit on an API node's events in flight.
    static let publishingMax = 8
    static let sessionBytesMax = 400
    /// The same for the sessions of apps, which follow several live queries.
    static let socketBytesMax = 1_000
    static let emptyDeltas = DeltaCache(bytesMax: 4_000, resultBytesMax: 4_000)
    static let idleTimeoutMs: Int64 = 4_000
    /// Time after which subscribers get an error if no owner has answered: shorter than a change of owners takes.
    static let answerMaxMs: Int64 = 2_500
    static let waitTimeoutMs: Int64 = 4_000
    static let faultsMs: Int64 = 16_000
    /// Maximum time for which faults continue after the last mutation; no later one repairs their damage.
    static let quietMaxMs: Int64 = 4_000
    /// Maximum time to recover: a lease expires and is taken, interest is announced again.
    static let settleMs: Int64 = 24_000
    /// A client that loses its connection at the end of that time has this long to be back and to have a result.
    static let returnMs: Int64 = 5_000
    /// The longest extension of that time; the sessions of a version that ends are not all moved at once.
    static let movesMaxMs: Int64 = 12_000
    static let calmMs: Int64 = 8_000
    static let leaveMs: Int64 = 15_000
    static let rounds = 2

    /// - Parameter historyMax: with a short history, older events are read from the stream.
    private static func refreshSettings(historyMax: Int) -> RefreshSettings {
        var settings = RefreshSettings()
        settings.runsMax = 2
        settings.batchMax = 3
        settings.historyMax = historyMax
        settings.historyBytesMax = 2_500
        settings.replayMax = 40
        settings.replayPerRun = 10
        settings.replayPageMax = 3
        settings.retryMaxMs = 2_000
        return settings
    }

    var gatewaySettings: GatewayMachine.Settings {
        var settings = GatewayMachine.Settings()
        settings.interest.shardCount = Workload.shardCount
        settings.interest.announceRetryMs = 1_000
        settings.interest.answerMaxMs = sabotage == .silenceUnreported ? 0 : Self.answerMaxMs
        settings.interest.announceRetryMaxMs = 4_000
        settings.interest.lingerMs = 1_500
        settings.interest.summaryMs = 3_000
        settings.interest.waitTimeoutMs = Self.waitTimeoutMs
        settings.trimMs = 500
        settings.outgoingMax = Self.outgoingMax
        return settings
    }

    var publisherSettings: PublisherMachine.Settings {
        var settings = PublisherMachine.Settings()
        settings.inFlightMax = sabotage == .unboundedPublishing ? 1_000 : Self.publishingMax
        settings.deleteBatchMax = 4
        settings.batchBytesMax = 600
        return settings
    }

    var sweeperSettings: SweeperMachine.Settings {
        var settings = SweeperMachine.Settings()
        settings.batchMax = 20
        settings.batchBytesMax = 2_000
        settings.rowsMax = outboxRowsMax
        settings.foldMax = 10
        return settings
    }

    let refreshSettings: RefreshSettings
    let seed: UInt64
    let sabotage: Sabotage?
    let timeline: Timeline
    let startMs: Int64
    let workload: Workload
    let redis: SimulatedRedis
    let postgres: SimulatedPostgres
    /// Whether a standby of Postgres lags behind under this seed, so that a failover loses commits and recorded epochs.
    /// The database's clock is right then, because only it remains if Redis loses its data, too. Under other seeds the
    /// recorded epochs may have to suffice.
    let losesCommits: Bool
    private(set) lazy var checks = Checks { [unowned self] in violated($0) }
    private(set) lazy var markerChecks = MarkerChecks { [unowned self] in violated($0) }
    private(set) lazy var waitChecks = WaitChecks { [unowned self] in violated($0) }
    var hasFaults = true
    /// The number of faults by kind.
    var faults: [String: Int] = [:]
    /// When a client other than a polling one last lost its connection.
    var lastLossMs: Int64 = 0
    /// The number of errors to clients whose live query no owner had answered in time.
    var silences = 0
    var isDatabaseSlow = false
    /// Epochs of forged messages.
    var forgedEpochs: Set<UInt64> = []
    /// The maximum delay between a commit and the append to the streams, under this seed.
    let publishLagMaxMs: Int64
    /// The number of outbox rows above which they are folded, under this seed.
    let outboxRowsMax: Int
    /// The entities to write while shards are being started.
    var mutationsAtStart: [String] = []
    /// Whether nodes notice under this seed that another Redis server answers; otherwise the gap detection of streams
    /// and leases must suffice.
    let noticesServers: Bool
    /// The maximum lag of the Redis replica under this seed.
    let replicaLagMaxMs: Int64
    /// The relative frequency of each kind of fault under this seed: some seeds concentrate on a few.
    let weights: [Int]
    /// The creation time of the newest outbox row that a sweep published; only the `sweeperGoesByOrder` mistake uses
    /// it.
    var lastSweptMs: Int64 = 0
    /// The release of the program; a node has the one with which it was started.
    var release = 1
    /// The number of the newest version of the project that was to be deployed.
    var version = 1
    /// The time for which former versions are served under this seed.
    let keepMs: Int64
    private(set) lazy var rollouts = SimulatedOperator("operator", self)
    /// Processes that did something in the current step.
    var touched: [Process] = []
    /// Whether clients may connect.
    private(set) var isOpen = true
    private(set) var violations: [String] = []
    private let trace: ((String) -> Void)?
    private(set) var clients: [ClientApp] = []
    private(set) var apiNodes: [SimulatedAPINode] = []
    private(set) var workers: [SimulatedWorker] = []
    private(set) var gateways: [SimulatedGateway] = []
    private(set) var tailers: [SimulatedTailer] = []
    /// Apps with the SDK, under some seeds (`AppFaults.swift`).
    private(set) var apps: [SDKApp] = []
    var appRandom: SeededRandom
    /// The results that apps were sent; as many as a run has.
    var documents: [Digest: JSONValue] = [:]
    /// Whether others write to the database under this seed (`OutsideWrites.swift`).
    let writesOutside: Bool
    /// Whether mutations leave their events in the log alone under this seed.
    let logsEvents: Bool
    var outsideRandom: SeededRandom

    /// - Parameter trace: called with a line per event.
    package init(seed: UInt64, sabotage: Sabotage? = nil, trace: ((String) -> Void)? = nil) throws {
        self.seed = seed
        self.sabotage = sabotage
        self.trace = trace
        timeline = Timeline(seed: seed)
        writesOutside = Self.writesOutside(seed)
        logsEvents = Self.logsEvents(seed)
        outsideRandom = SeededRandom(seed: seed, stream: 7)
        appRandom = SeededRandom(seed: seed, stream: 8)
        startMs = timeline.nowMs
        publishLagMaxMs = [0, 5, 5, 2_500][Int(timeline.pick(0...3))]
        refreshSettings = Self.refreshSettings(historyMax: [1, 3, 12][Int(timeline.pick(0...2))])
        replicaLagMaxMs = [300, 1_000, 5_000][Int(timeline.pick(0...2))]
        losesCommits = timeline.chance(40)
        keepMs = [2_000, 40_000][Int(timeline.pick(0...1))]
        outboxRowsMax = [6, 24][Int(timeline.pick(0...1))]
        let isClockRight = losesCommits || timeline.chance(30)
        postgres = SimulatedPostgres(startMs: startMs) { [timeline] in isClockRight ? timeline.nowMs : 0 }
        noticesServers = timeline.chance(50) && sabotage != .historyTrustedAfterLoss
        weights = SimulatedFault.allCases.map { [timeline] _ in [0, 1, 1, 2, 6][Int(timeline.pick(0...4))] }
        workload = try Workload()
        redis = try SimulatedRedis(timeline: timeline, sabotage: sabotage)
        apiNodes = (0..<2).map { SimulatedAPINode("api\($0)", self) }
        workers = (0..<3).map { SimulatedWorker("worker\($0)", self) }
        gateways = (0..<3).map { SimulatedGateway("gateway\($0)", keepsName: $0 == 0, self) }
        clients = (0..<20).map { number in
            ClientApp(
                number,
                query: writesOutside && number % 6 == 5
                    ? .init(operation: Workload.outside)
                    : Workload.clientQueries[number % Workload.clientQueries.count],
                style: number % 5 == 4 ? .poll : .stream,
                self)
        }
        if Self.hasApps(seed) { apps = (0..<Self.appCount).map { SDKApp(100 + $0, self) } }
        if writesOutside { tailers = (0..<2).map { SimulatedTailer("tailer\($0)", self) } }
        redis.changed = { [unowned self] stream in
            for process in processes where process.isUp { process.poke(stream) }
        }
        watchMarkers()
        redis.didUnderLease = { [unowned self] in checks.didUnderLease($0, $1) }
    }

    var processes: [Process] {
        apiNodes as [Process] + workers as [Process] + gateways as [Process] + tailers as [Process]
    }

    /// Whether another process of its machine can tell that this one has ended.
    func hasEnded(_ identity: ProcessIdentity) -> Bool {
        guard identity.machine == "machine" else { return false }
        let process = processes[Int(identity.processID) - 1]
        return !process.isUp || process.identity != identity
    }

    // MARK: Delays and choices

    func networkDelay() -> Int64 {
        hasFaults && timeline.chance(2) ? timeline.pick(50...900) : timeline.pick(0...4)
    }

    func databaseDelay() -> Int64 {
        // Rarely, a statement takes as long as a lease's lifetime.
        if isDatabaseSlow { return timeline.chance(3) ? timeline.pick(1_200...6_000) : timeline.pick(20...1_200) }
        return hasFaults && timeline.chance(3) ? timeline.pick(50...400) : timeline.pick(0...3)
    }

    func anyGateway() -> SimulatedGateway? {
        gateways.filter(\.takesClients).randomElement(using: &timeline.random)
    }

    /// Adds a line to the trace, if tracing.
    func note(_ line: @autoclosure () -> String) {
        if let trace { trace("\(timeline.nowMs - startMs) \(line())") }
    }

    func violated(_ what: String) {
        violations.append("\(what) [\(timeline.nowMs - startMs) ms, step \(timeline.stepCount)]")
    }

    // MARK: The run

    package func run() -> Outcome {
        // Its processes do not own it, so an optimiser may end it after its last use here.
        defer { withExtendedLifetime(self) {} }
        for process in processes { process.start() }
        for client in clients { timeline.after(timeline.pick(0...4_000)) { client.connect() } }
        startApps()
        replicateAgain()
        if losesCommits { replicatePostgresAgain() }
        for _ in 0..<Self.rounds where violations.isEmpty {
            hasFaults = true
            let untilMs = timeline.nowMs + Self.faultsMs - timeline.pick(0...Self.quietMaxMs)
            mutateAgain(untilMs: untilMs)
            writeOutside(untilMs: untilMs)
            disturbApps(untilMs: untilMs)
            faultAgain()
            forgeOwners()
            phase(Self.faultsMs)
            endAllFaults()
            phase(Self.calmMs)
            // In the other rounds, no later mutation hides what the faults left behind.
            if timeline.chance(70) { beginFinalFault() }
            writeOutsideLast()
            phase(Self.settleMs)
            awaitMovedClients()
            if violations.isEmpty { checkConvergence() }
        }
        isOpen = false
        for client in clients { client.disconnect() }
        for app in apps { app.leaveAll() }
        phase(Self.leaveMs)
        if violations.isEmpty { checkNothingIsLeft() }
        timeline.end()
        return Outcome(
            violation: violations.first, steps: timeline.stepCount, commits: postgres.committed.count,
            answers: clients.reduce(0) { $0 + $1.answers } + apps.reduce(0) { $0 + $1.answers }, silences: silences,
            markers: markerChecks.countedCount, waits: waitChecks.answeredCount, faults: faults)
    }

    /// A version that has been served long enough ends at any time, also in peace: its clients then reconnect.
    private func awaitMovedClients() {
        let latestMs = timeline.nowMs + Self.movesMaxMs
        while violations.isEmpty, timeline.nowMs < latestMs, timeline.nowMs < lastLossMs + Self.returnMs {
            phase(lastLossMs + Self.returnMs - timeline.nowMs)
        }
    }

    private func phase(_ ms: Int64) {
        guard violations.isEmpty else { return }
        timeline.run(untilMs: timeline.nowMs + ms) { [self] in
            checkStep()
            return violations.isEmpty
        }
    }

    private func mutateAgain(untilMs: Int64) {
        timeline.after(timeline.pick(20...400)) { [self] in
            guard timeline.nowMs < untilMs else { return }
            let entity = SimulatedPostgres.entities.randomElement(using: &timeline.random) ?? "e0"
            if let node = apiNodes.filter(\.isUp).randomElement(using: &timeline.random) {
                node.later(networkDelay()) { [self] in node.mutate(entity) { [self] in acknowledged($0) } }
            }
            mutateAgain(untilMs: untilMs)
        }
    }
}
