import DeploymentPlan
import LiveModel
import Testing

/// The order of a rollout's steps, and what it refuses.
@Suite struct RolloutMachineTests {
    private static let candidate = RolloutMachine.Candidate(version: version("new"), byteCount: 100)

    private static func version(_ name: String) -> Digest { Digest(of: name.utf8) }

    private static func deployed(_ id: Int64, _ name: String, active: Int64?) -> Deployment {
        Deployment(
            id: id, version: version(name), origin: .deploy, createdAtMs: 0, activeAtMs: active, seenAtMs: 0)
    }

    private static func node(
        _ name: String, deployment: Int64 = 1, project: String = "old", problem: String = ""
    ) -> NodeRecordPayload {
        NodeRecordPayload(
            id: NodeID(name), roles: [], address: "", adminAddress: "", version: "", startedAtMs: 0, isDraining: false,
            load: 0, project: version(project).hex, deployment: deployment, deploymentProblem: problem)
    }

    private struct Broken: Error {}

    /// A cluster that answers every call, and what the machine did to it.
    private struct Run {
        var history = [deployed(1, "old", active: 1)]
        /// The node list, by the number of the read.
        var nodes: (_ read: Int) -> [NodeRecordPayload]? = { _ in [] }
        var breaking = 0
        var isStored = true
        var isHarmful = false
        var isActivated = true
        /// The candidate with what the migrated database says.
        var migrated: RolloutMachine.Candidate?
        /// The call that fails, by its word.
        var failing = ""
        private(set) var words: [String] = []
        private(set) var error: (any Error)?
        private var reads = 0
        private var nowMs: Int64 = 0

        init() {}

        static var settings: RolloutMachine.Settings {
            var settings = RolloutMachine.Settings()
            (settings.heartbeatMs, settings.nodeTtlMs, settings.timeoutMs) = (0, 5_000, 1_000)
            settings.versionsMax = 2
            return settings
        }

        mutating func deploy(_ candidate: RolloutMachine.Candidate, _ settings: RolloutMachine.Settings = settings) {
            run(RolloutMachine(settings: settings)) { $0.deploy(candidate) }
        }

        mutating func rollBack(_ settings: RolloutMachine.Settings = settings) {
            run(RolloutMachine(settings: settings)) { $0.rollBack() }
        }

        private mutating func run(
            _ machine: RolloutMachine, _ begin: (inout RolloutMachine) -> [RolloutMachine.Effect]
        ) {
            var machine = machine
            var effects = begin(&machine)
            while !effects.isEmpty {
                switch effects.removeFirst() {
                case .perform(let id, let call):
                    let answer = answer(call)
                    let next = machine.answered(id, answer, nowMs: nowMs)
                    // A duplicate, and the answer to another call.
                    #expect(machine.answered(id, answer, nowMs: nowMs).isEmpty)
                    #expect(machine.answered(id + 7, .done, nowMs: nowMs).isEmpty)
                    effects += next
                case .report(let report): note(report)
                case .end(let error):
                    self.error = error
                    words.append(error == nil ? "end" : "fail")
                    #expect(effects.isEmpty)
                }
            }
        }

        private mutating func note(_ report: RolloutMachine.Report) {
            switch report {
            case .alreadyDeployed: words.append("(already)")
            case .notCompared: words.append("(not compared)")
            case .step(let summary, let isDryRun): words.append(isDryRun ? "(would \(summary))" : "(\(summary))")
            case .deployable: words.append("(deployable)")
            case .announced(let id, _): words.append("(announced \(id))")
            case .progress(let goal, let done, let nodes): words.append("(\(done) of \(nodes) \(goal))")
            case .deployed(let nodes): words.append("(deployed on \(nodes))")
            }
        }

        private mutating func answer(_ call: RolloutMachine.Call) -> RolloutMachine.Answer {
            let word: String
            let answer: RolloutMachine.Answer
            switch call {
            case .readHistory: (word, answer) = ("history", .history(.init(deployments: history, nowMs: 10)))
            case .loadFormer(let id, let version):
                word = "load \(id)"
                answer = isStored ? .candidate(.init(version: version, byteCount: 1)) : .notStored
            case .withdraw: (word, answer) = ("withdraw", .done)
            case .readNodes:
                reads += 1
                word = "nodes"
                answer = nodes(reads).map { .nodes($0) } ?? .failed(Broken())
            case .compare: (word, answer) = ("compare", isStored ? .compared(breaking: breaking) : .notStored)
            case .plan: (word, answer) = ("plan", .planned(steps: ["add table"], isHarmful: isHarmful))
            case .migrate: (word, answer) = ("migrate", migrated.map { .candidate($0) } ?? .done)
            case .announce: (word, answer) = ("announce", .announced(deployment: 2))
            case .activate(let id): (word, answer) = ("activate \(id)", .activated(isActivated))
            case .prune(let versions): (word, answer) = ("prune but \(versions.count)", .done)
            case .wait(let ms):
                nowMs += ms
                (word, answer) = ("wait", .done)
            }
            words.append(word)
            return word == failing ? .failed(Broken()) : answer
        }

        /// The refusal that ended the rollout.
        var refusal: RolloutRefused? { error as? RolloutRefused }
    }

    /// One node that has loaded and serves what is announced.
    private static let ready: @Sendable (Int) -> [NodeRecordPayload]? = { _ in
        [node("a", deployment: 2, project: "new")]
    }
    private static let untilAnnounced = [
        "withdraw", "history", "compare", "plan", "nodes", "(add table)", "migrate", "announce", "(announced 2)",
    ]

    // MARK: Order

    @Test func stepsOfADeployment() {
        var run = Run()
        // It lacks the version, loads it, and serves it only later.
        run.nodes = { read in
            [Self.node("a", deployment: read < 3 ? 1 : 2, project: read < 5 ? "old" : "new")]
        }
        run.deploy(Self.candidate)
        #expect(
            run.words == Self.untilAnnounced + [
                "nodes", "(0 of 1 load)", "wait", "nodes", "(1 of 1 load)", "activate 2", "nodes", "(0 of 1 serve)",
                "wait", "nodes", "(1 of 1 serve)", "(deployed on 1)", "history", "prune but 1", "end",
            ])
    }

    @Test func aMigratedDatabaseMaySayMoreOfTheVersion() {
        var run = Run()
        run.migrated = .init(version: Self.version("more"), byteCount: 1)
        run.nodes = { _ in [Self.node("a", deployment: 2, project: "more")] }
        run.deploy(Self.candidate)
        #expect(run.words.contains("(deployed on 1)") && run.words.last == "end", "\(run.words)")
        var large = Run()
        large.migrated = .init(version: Self.version("more"), byteCount: ProjectArchive.bytesMax + 1)
        large.deploy(Self.candidate)
        #expect(large.words.suffix(2) == ["migrate", "fail"])
    }

    @Test func dryRunChangesNothing() {
        var run = Run()
        var settings = Run.settings
        settings.isDryRun = true
        run.deploy(Self.candidate, settings)
        #expect(
            run.words == [
                "withdraw", "history", "compare", "plan", "nodes", "(would add table)", "(deployable)", "end",
            ])
    }

    @Test func sameVersionIsOnlyWaitedFor() {
        var run = Run()
        run.nodes = { read in [Self.node("a", project: read == 1 ? "older" : "old")] }
        run.deploy(.init(version: Self.version("old"), byteCount: 1))
        #expect(
            run.words == [
                "withdraw", "history", "(already)", "nodes", "(0 of 1 serve)", "wait", "nodes", "(1 of 1 serve)",
                "(deployed on 1)", "end",
            ])
        var settings = Run.settings
        settings.isDryRun = true
        var dry = Run()
        dry.deploy(.init(version: Self.version("old"), byteCount: 1), settings)
        #expect(dry.words == ["withdraw", "history", "(already)", "end"])
    }

    @Test func firstDeploymentIsComparedWithEveryFolderInService() {
        var run = Run()
        run.history = []
        run.nodes = { read in
            read < 3 ? ["x", "y", "new"].map { Self.node($0, project: $0) } : Self.ready(read)
        }
        run.deploy(Self.candidate)
        #expect(run.words.prefix(6) == ["withdraw", "history", "nodes", "compare", "compare", "plan"])
        #expect(run.words.last == "end")
    }

    @Test func versionThatIsServedAndNotStoredIsReported() {
        var run = Run()
        run.nodes = Self.ready
        run.isStored = false
        run.deploy(Self.candidate)
        #expect(run.words.prefix(5) == ["withdraw", "history", "compare", "(not compared)", "plan"])
        #expect(run.words.last == "end")
    }

    @Test func rollbackDeploysTheVersionBeforeTheCurrentOne() {
        var run = Run()
        run.history = [Self.deployed(1, "old", active: 1), Self.deployed(2, "new", active: 2)]
        run.nodes = { _ in [Self.node("a", deployment: 3, project: "old")] }
        // Clients of the current version may break.
        (run.breaking, run.isHarmful) = (3, true)
        run.rollBack()
        #expect(run.words.prefix(6) == ["history", "load 1", "withdraw", "history", "compare", "plan"])
        #expect(run.words.last == "end")
    }

    @Test func reloadComparesAndRefusesNothing() {
        var settings = Run.settings
        settings.isReload = true
        var run = Run()
        run.nodes = Self.ready
        run.deploy(Self.candidate, settings)
        #expect(
            run.words == [
                "withdraw", "history", "migrate", "announce", "(announced 2)", "nodes", "(1 of 1 load)", "activate 2",
                "nodes", "(1 of 1 serve)", "(deployed on 1)", "history", "prune but 1", "end",
            ])
        var same = Run()
        same.history = []
        settings.folder = Self.candidate.version
        same.deploy(Self.candidate, settings)
        #expect(same.words == ["withdraw", "history", "(already)", "end"])
    }

    // MARK: Refusals

    @Test func tooLargeProjectIsRefusedFirst() {
        var run = Run()
        run.deploy(.init(version: Self.version("new"), byteCount: ProjectArchive.bytesMax + 1))
        #expect(run.words == ["fail"] && run.refusal == .tooLarge)
    }

    @Test func changesThatBreakClientsAreRefusedUnlessAllowed() {
        var run = Run()
        run.breaking = 2
        run.deploy(Self.candidate)
        #expect(run.words == ["withdraw", "history", "compare", "fail"])
        #expect(run.refusal == .breaking(changes: 2, clientsOf: Self.version("old")))
        var settings = Run.settings
        settings.allowsBreaking = true
        var allowed = Run()
        (allowed.breaking, allowed.isHarmful, allowed.nodes) = (2, true, Self.ready)
        allowed.deploy(Self.candidate, settings)
        #expect(allowed.words.last == "end")
    }

    @Test func harmfulDatabaseIsRefused() {
        var run = Run()
        run.isHarmful = true
        run.deploy(Self.candidate)
        #expect(run.words == ["withdraw", "history", "compare", "plan", "fail"] && run.refusal == .harmfulDatabase)
    }

    @Test func tooManyServedVersionsAreRefused() {
        var run = Run()
        run.history = (1...3).map { Self.deployed($0, "old\($0)", active: $0) }
        run.deploy(Self.candidate)
        #expect(run.words == ["withdraw", "history", "compare", "plan", "fail"])
        #expect(run.refusal == .tooManyVersions(3, max: 2))
        // The new version itself does not count.
        run = Run()
        run.history = [Self.deployed(1, "new", active: 1)] + (2...3).map { Self.deployed($0, "old\($0)", active: $0) }
        run.nodes = Self.ready
        run.deploy(Self.candidate)
        #expect(run.words.last == "end")
    }

    @Test func nodesThatLoadNoDeploymentsAreNamed() {
        var run = Run()
        run.nodes = { _ in [Self.node("a", deployment: 0, problem: "it serves its folder only"), Self.node("b")] }
        run.deploy(Self.candidate)
        #expect(run.words == ["withdraw", "history", "compare", "plan", "nodes", "fail"])
        #expect(
            run.refusal?.description
                == "these nodes load no deployments: a (it serves its folder only); nothing was changed")
    }

    @Test func nothingBeforeTheCurrentVersionIsRefused() {
        var run = Run()
        run.rollBack()
        #expect(run.words == ["history", "fail"] && run.refusal == .nothingBefore)
        run = Run()
        run.history = [Self.deployed(1, "old", active: 1), Self.deployed(2, "new", active: 2)]
        run.isStored = false
        run.rollBack()
        #expect(run.words == ["history", "load 1", "fail"] && run.refusal == .notStored(Self.version("old")))
    }

    @Test func withdrawnAnnouncementIsNotWaitedFor() {
        var run = Run()
        (run.isActivated, run.nodes) = (false, Self.ready)
        run.deploy(Self.candidate)
        #expect(run.words == Self.untilAnnounced + ["nodes", "(1 of 1 load)", "activate 2", "fail"])
        #expect(run.refusal == .withdrawn(deployment: 2))
    }

    // MARK: Nodes that do not follow

    @Test func versionThatIsNotLoadedIsWithdrawn() {
        var run = Run()
        run.nodes = { _ in [Self.node("a")] }
        run.deploy(Self.candidate)
        #expect(run.words.suffix(2) == ["withdraw", "fail"] && !run.words.contains("activate 2"))
        #expect(run.refusal == .notReached(.load, [.init(node: NodeID("a"), problem: "")]))
        #expect(run.words.count { $0 == "wait" } == 6)
    }

    @Test func versionThatIsNotServedStaysCurrent() {
        var run = Run()
        run.nodes = { _ in [Self.node("a", deployment: 2)] }
        run.deploy(Self.candidate)
        #expect(run.words.contains("activate 2") && run.words.count { $0 == "withdraw" } == 1)
        #expect(run.refusal == .notReached(.serve, [.init(node: NodeID("a"), problem: "")]))
    }

    @Test func nodeListThatCannotBeReadIsWaitedFor() {
        var run = Run()
        run.nodes = { $0 == 2 ? nil : Self.ready($0) }
        run.deploy(Self.candidate)
        #expect(
            Array(run.words.prefix(13)) == Self.untilAnnounced + ["nodes", "wait", "nodes", "(1 of 1 load)"])
        #expect(run.words.last == "end")
    }

    // MARK: Failures

    @Test(arguments: [
        "withdraw", "history", "compare", "plan", "nodes", "migrate", "announce", "activate 2", "prune but 1",
    ])
    func failedStepEndsTheRollout(step: String) {
        var run = Run()
        run.nodes = Self.ready
        run.failing = step
        if step == "nodes" { run.nodes = { _ in nil } }
        run.deploy(Self.candidate)
        #expect(run.words.suffix(2) == [step, "fail"] && run.error is Broken)
    }

    @Test func rolloutThatIsInterruptedWhileNodesLoadWithdrawsItsVersion() {
        var run = Run()
        run.nodes = { _ in [Self.node("a")] }
        run.failing = "wait"
        run.deploy(Self.candidate)
        #expect(run.words.suffix(3) == ["wait", "withdraw", "fail"] && run.error is Broken)
    }
}
