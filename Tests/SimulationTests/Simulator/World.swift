import LiveModel
import Refresh
import Sessions
import Sharding

/// A deliberate mistake in the simulated shells, to prove that the checkers notice it.
enum Sabotage: Sendable, CaseIterable {
    case none
    /// Gateways take whatever arrives for newer than what they have.
    case noFencing
    /// Workers read first and enter the rule index afterwards.
    case runBeforeIndex
    /// Nobody publishes what a dead API node left in its outbox.
    case noSweeper
    /// Workers hand the results of one statement to each other's live queries.
    case swappedOutcomes
    /// Gateways compare and trust positions across shards.
    case positionsTravel
}

/// The whole system under one seed: two API nodes, three workers, three gateways, their clients, a broker and a database.
///
/// Time of trouble, then peace; what must hold is checked at every delivery and, when peace has lasted, as a whole.
final class World {
    static let eventsLengthMax = 60
    static let inboxLengthMax = 20
    static let controlLengthMax = 60
    static let chaosMs: Int64 = 25_000
    static let settleMs: Int64 = 30_000

    static var refreshSettings: RefreshSettings {
        var settings = RefreshSettings()
        settings.runsMax = 2
        settings.batchMax = 3
        settings.historyMax = 12
        settings.retryMaxMs = 2_000
        return settings
    }

    static var interestSettings: InterestMachine.Settings {
        var settings = InterestMachine.Settings()
        settings.announceRetryMs = 1_000
        settings.announceRetryMaxMs = 4_000
        settings.lingerMs = 1_500
        settings.summaryMs = 3_000
        return settings
    }

    let sabotage: Sabotage
    let timeline: Timeline
    let startMs: Int64
    let workload: Workload
    let broker: SimulatedBroker
    let database = SimulatedDatabase()
    private(set) var isChaos = true
    /// Whether clients may connect.
    private(set) var isOpen = true
    private(set) var violations: [String] = []
    private(set) var clients: [SimulatedClient] = []
    private var apiNodes: [SimulatedAPINode] = []
    private var workers: [SimulatedWorker] = []
    private var gateways: [SimulatedGateway] = []

    init(seed: UInt64, sabotage: Sabotage) throws {
        self.sabotage = sabotage
        timeline = Timeline(seed: seed)
        startMs = timeline.nowMs
        workload = try Workload()
        broker = SimulatedBroker(timeline: timeline)
        apiNodes = (0..<2).map { SimulatedAPINode("api\($0)", self) }
        workers = (0..<3).map { SimulatedWorker("worker\($0)", self) }
        gateways = (0..<3).map { SimulatedGateway("gateway\($0)", self) }
        clients = (0..<16).map { SimulatedClient($0, query: Workload.queries[$0 % Workload.queries.count], self) }
        broker.changed = { [unowned self] stream in
            for worker in workers where worker.isUp { worker.poke(stream) }
            for gateway in gateways where gateway.isUp { gateway.poke(stream) }
        }
    }

    // MARK: What others ask

    func networkDelay() -> Int64 {
        isChaos && timeline.chance(2) ? timeline.pick(50...900) : timeline.pick(0...4)
    }

    func databaseDelay() -> Int64 {
        isChaos && timeline.chance(3) ? timeline.pick(50...400) : timeline.pick(0...6)
    }

    func anyGateway() -> SimulatedGateway? {
        gateways.filter(\.isUp).randomElement(using: &timeline.random)
    }

    func violated(_ what: String) {
        violations.append("\(what) [\(timeline.nowMs - startMs) ms, step \(timeline.stepCount)]")
    }

    // MARK: The run

    /// - Returns: the first thing that must not be; nil when all was well.
    func run() -> String? {
        for process in allProcesses { process.start() }
        for client in clients { timeline.after(timeline.pick(0...4_000)) { client.connect() } }
        mutateAgain()
        troubleAgain()
        phase(Self.chaosMs)
        makePeace()
        phase(8_000)
        // In the other half, what trouble left behind is not covered by anything.
        if timeline.chance(50) { sayLastWords() }
        phase(Self.settleMs)
        if violations.isEmpty { checkConvergence() }
        isOpen = false
        for client in clients { client.disconnect() }
        phase(15_000)
        if violations.isEmpty { checkNothingIsLeft() }
        return violations.first
    }

    private var allProcesses: [Process] { apiNodes as [Process] + workers as [Process] + gateways as [Process] }

    private func phase(_ ms: Int64) {
        guard violations.isEmpty else { return }
        timeline.run(untilMs: timeline.nowMs + ms) { [self] in
            checkBounds()
            return violations.isEmpty
        }
    }

    private func mutateAgain() {
        timeline.after(timeline.pick(20...400)) { [self] in
            guard isChaos else { return }
            let entity = SimulatedDatabase.entities.randomElement(using: &timeline.random) ?? "e0"
            if let node = apiNodes.filter(\.isUp).randomElement(using: &timeline.random) {
                node.later(networkDelay()) { node.mutate(entity) }
            }
            mutateAgain()
        }
    }

    private func troubleAgain() {
        timeline.after(timeline.pick(100...1_500)) { [self] in
            guard isChaos else { return }
            trouble()
            troubleAgain()
        }
    }

    private func trouble() {
        let worker = workers.randomElement(using: &timeline.random) ?? workers[0]
        let gateway = gateways.randomElement(using: &timeline.random) ?? gateways[0]
        let node = apiNodes.randomElement(using: &timeline.random) ?? apiNodes[0]
        let client = clients.randomElement(using: &timeline.random) ?? clients[0]
        switch timeline.pick(0...17) {
        case 0: killAndRestart(worker)
        case 1, 2: worker.pause(ms: timeline.pick(100...9_000))
        case 3: worker.drainAndRestart(afterMs: timeline.pick(500...3_000))
        case 4: killAndRestart(gateway)
        case 5: gateway.pause(ms: timeline.pick(100...7_000))
        case 6: killAndRestart(node)
        case 7: node.pause(ms: timeline.pick(100...4_000))
        case 8: outage(withData: timeline.chance(70))
        case 9:
            database.isUp = false
            timeline.after(timeline.pick(50...3_000)) { [self] in database.isUp = true }
        case 11, 12, 13: changeSplits()
        case 10: client.stall(ms: timeline.pick(100...3_000))
        default: client.disconnect()
        }
    }

    private func killAndRestart(_ process: Process) {
        process.kill()
        timeline.after(timeline.pick(50...6_000)) { process.start() }
    }

    private func changeSplits() {
        guard broker.isUp, let operation = Workload.refreshed.randomElement(using: &timeline.random) else { return }
        let splits = Int(timeline.pick(1...4))
        broker.change(broker.orders.settingSplits(of: operation, to: splits, nowMs: timeline.nowMs))
    }

    /// Every entity is written once more while splits change: nothing comes after it to cover what it misses.
    private func sayLastWords() {
        for (number, entity) in SimulatedDatabase.entities.enumerated() {
            let atMs = Int64(number) * 1_500 + timeline.pick(0...500)
            for _ in 0..<4 { timeline.after(atMs) { [self] in changeSplits() } }
            timeline.after(atMs + timeline.pick(0...1_200)) { [self] in
                apiNodes.randomElement(using: &timeline.random)?.mutate(entity)
            }
        }
    }

    private func outage(withData: Bool) {
        broker.goDown()
        timeline.after(timeline.pick(20...4_000)) { [self] in broker.comeUp(withData: withData) }
    }

    private func makePeace() {
        isChaos = false
        database.isUp = true
        if !broker.isUp { broker.comeUp(withData: true) }
        for process in allProcesses {
            process.resume()
            process.start()
        }
        for client in clients { client.unstall() }
    }

    // MARK: Checkers

    private func checkBounds() {
        for worker in workers where worker.isUp {
            let machine = worker.machine
            if machine.runsInFlightCount > machine.settings.runsMax {
                violated("bounds: runs in flight at \(worker.name)")
            }
            // One more of each at another shard, while it moves.
            if machine.liveQueryCount > Workload.queries.count * Workload.shardCount {
                violated("bounds: live queries at \(worker.name)")
            }
        }
    }

    private func checkConvergence() {
        for client in clients {
            guard client.connection != nil else {
                violated("convergence: client \(client.number) is not connected")
                continue
            }
            let truth = database.result(of: client.query)
            if client.body != truth || client.isAtFault {
                let held = client.body.map { String(decoding: $0, as: UTF8.self) } ?? "nothing"
                violated(
                    "convergence: client \(client.number) has \(held), true is \(String(decoding: truth, as: UTF8.self))"
                )
            }
        }
        if !database.outbox.isEmpty, sabotage != .noSweeper { violated("convergence: the outbox is not empty") }
    }

    private func checkNothingIsLeft() {
        for gateway in gateways where gateway.interest.liveQueryCount + gateway.interest.subscriptionCount > 0 {
            violated("left over: live queries at \(gateway.name)")
        }
        for worker in workers where worker.machine.liveQueryCount + worker.machine.runsInFlightCount > 0 {
            let whose = Set(worker.machine.liveQueryReports(limit: 100).flatMap(\.gateways)).sorted()
            violated("left over: live queries at \(worker.name) for \(whose)")
        }
        let owned = workers.flatMap(\.machine.ownedShards)
        if Set(owned).count != Workload.shardCount || owned.count != Workload.shardCount {
            violated("shards have not exactly one owner: \(owned)")
        }
    }
}
