import DeploymentPlan
import LiveModel

/// Performs `DeploymentFollower` and `LoadedDeployments` for one process: reads are late, lost or answered twice, and
/// versions take time to compile. A compiled version is its number.
final class SimulatedDeployments {
    private typealias Follower = DeploymentFollower<Int>

    /// The time between two looks.
    private static let pollMs: Int64 = 700
    /// The maximum time to compile a version.
    private static let compileMaxMs: Int64 = 1_500
    /// The maximum time to replace the versions in service.
    private static let serveMaxMs: Int64 = 300
    /// The most versions served besides the current one.
    static let othersMax = 4

    private unowned let process: Process
    private var follower: Follower
    private var loaded = LoadedDeployments(0)
    let catalogs = SharedCatalogs(SimulatedCatalogs(current: 1, loadedDeployment: 0))
    /// The callers that await the end of a look, with its number.
    private var waiting: [(look: UInt64, then: (String?) -> Void)] = []
    /// The greatest deployment in an entry that this process wrote.
    private var reportedMax: Int64 = 0

    init(_ process: Process) {
        self.process = process
        follower = Follower(
            folder: Workload.version(1), compiled: 1, settings: Self.settings(process.world, of: process))
    }

    static func schedule(_ world: World) -> DeploymentSchedule.Settings {
        var schedule = DeploymentSchedule.Settings()
        (schedule.keepMs, schedule.moveMs, schedule.stragglerMs) = (world.keepMs, 500, 5_000)
        return schedule
    }

    private static func settings(_ world: World, of process: Process) -> Follower.Settings {
        var settings = Follower.Settings()
        settings.schedule = schedule(world)
        settings.othersMax = othersMax
        if world.sabotage == .formerForgotten, process is SimulatedWorker {
            (settings.schedule.keepMs, settings.schedule.moveMs, settings.schedule.stragglerMs) = (0, 0, 0)
        }
        return settings
    }

    var served: SimulatedCatalogs { catalogs.served }
    var problem: String { follower.problem }
    /// The versions whose sessions remain.
    var staying: Set<Digest> { follower.staying }

    // MARK: Looks

    /// Loads what is deployed. A node serves nothing before that, so here it takes no time.
    func load() {
        var effects = follower.start().effects
        while !effects.isEmpty {
            switch effects.removeFirst() {
            case .noteFolder(let call): effects += follower.folderNoted(call, .success(()))
            case .readHistory(let call):
                let history = process.world.postgres.deployments.history(nowMs: process.timeline.nowMs)
                effects += follower.historyRead(call, .success(history))
            case .compile(let call, let version):
                effects += follower.compiled(call, .compiled(Workload.number(of: version)))
            case .serve(let call, let served):
                serve(served)
                effects += follower.served(call)
            case .reportProblem, .endLook: break
            }
        }
    }

    /// Looks once, then again and again.
    /// - Parameters:
    ///   - then: called when the first look has ended.
    ///   - ended: called after each later look.
    func start(ended: @escaping () -> Void = {}, then: @escaping () -> Void) {
        look { [weak self] _ in
            guard let self else { return }
            process.every(Self.pollMs) { [weak self] in self?.look { _ in ended() } }
            then()
        }
    }

    /// - Parameter then: called when everything stored before this call is served, or with the reason that it is not.
    func look(then: @escaping (String?) -> Void) {
        let (number, effects) = follower.look()
        waiting.append((number, then))
        perform(effects)
    }

    // MARK: Mutations and reports

    func mutationBegan() -> Int64 { loaded.began() }

    /// Checks that a mutation is published by everything that this process reported as loaded and that is current:
    /// clients may use it.
    func mutationEnded(_ deployment: Int64) {
        loaded.ended(deployment)
        let activeID = process.world.postgres.deployments.lastActive?.id ?? 0
        if deployment < activeID, activeID <= reportedMax {
            process.world.violated(
                "rollout: \(process.name) publishes by deployment \(deployment) although it reported \(activeID)")
        }
    }

    /// Returns the deployment for the process's entry.
    func report() -> Int64 {
        let reached =
            process.world.sabotage == .mutationsInProgressIgnored ? loaded.current : loaded.reached
        reportedMax = max(reportedMax, reached)
        return reached
    }

    // MARK: Effects

    private func perform(_ effects: [Follower.Effect]) { for effect in effects { perform(effect) } }

    private func perform(_ effect: Follower.Effect) {
        switch effect {
        case .readHistory(let call):
            let timeline = process.timeline
            process.statement {
                $0.deployments.history(nowMs: timeline.nowMs)
            } then: { [weak self] outcome in
                guard let self else { return }
                answered(call, outcome.deployments) { $0.historyRead(call, $1) }
            }
        case .noteFolder(let call): answered(call, .success(())) { $0.folderNoted(call, $1) }
        case .compile(let call, let version):
            process.later(process.timeline.pick(0...Self.compileMaxMs)) { [weak self] in
                self?.answered(call, .compiled(Workload.number(of: version))) { $0.compiled(call, $1) }
            }
        case .serve(let call, let served):
            // The mistake; the answer below then changes nothing.
            if process.world.sabotage == .servedLate { perform(follower.served(call)) }
            process.later(process.timeline.pick(0...Self.serveMaxMs)) { [weak self] in
                self?.serve(served)
                self?.answered(call, ()) { follower, _ in follower.served(call) }
            }
        case .reportProblem(let problem): process.world.note("\(process.name) \(problem)")
        case .endLook(let number, let failure):
            if let failure { process.world.note("\(process.name) looked in vain: \(failure)") }
            let ended = waiting.filter { $0.look <= number }
            waiting.removeAll { $0.look <= number }
            for waiter in ended { waiter.then(failure.map { "\($0)" }) }
        }
    }

    /// Hands an answer to the follower, from time to time twice.
    private func answered<Answer>(
        _ call: UInt64, _ answer: Answer, _ take: @escaping (inout Follower, Answer) -> [Follower.Effect]
    ) {
        perform(take(&follower, answer))
        process.sometimesAgain(call) { [weak self] in
            guard let self else { return }
            perform(take(&follower, answer))
        }
    }

    private func serve(_ served: Follower.Served) {
        loaded.replaced(served.loadedDeployment)
        catalogs.served = SimulatedCatalogs(
            current: served.current.compiled, others: served.others.map(\.compiled),
            loadedDeployment: served.loadedDeployment)
        process.touch()
        process.world.note("\(process.name) serves \(catalogs.served)")
    }
}

extension Process.Statement<DeploymentHistory> {
    fileprivate var deployments: Result<DeploymentHistory, DeploymentsUnreadable> {
        if case .done(let history) = self { return .success(history) }
        return .failure(DeploymentsUnreadable("Postgres is away", isTransient: true))
    }
}
