import DeploymentPlan
import LiveModel
import Testing

/// How long a rollout waits, by what the list of nodes says and when.
@Suite struct RolloutWaitTests {
    private let version = Digest(of: "second".utf8)

    private func node(
        _ name: String, deployment: Int64 = 6, project: String = "", problem: String = ""
    ) -> NodeRecordPayload {
        NodeRecordPayload(
            id: NodeID(name), roles: [], address: "", adminAddress: "", version: "", startedAtMs: 0,
            isDraining: false, load: 0, project: project, deployment: deployment, deploymentProblem: problem)
    }

    /// Waits for deployment 7, with heartbeats of 100 ms.
    private func wait(_ goal: RolloutWait.Goal = .load, timeoutMs: Int64 = 60_000) -> RolloutWait {
        RolloutWait(
            for: goal, 7, version, RolloutRoster(heartbeatMs: 100, ttlMs: 500), timeoutMs: timeoutMs, nowMs: 0)
    }

    @Test func theWaitEndsWhenEveryNodeHasLoadedAndTheListHasSettled() {
        var wait = wait()
        #expect(wait.looked([node("a"), node("b")], nowMs: 0) == [.report(done: 0, nodes: 2), .lookAgain])
        #expect(
            wait.looked([node("a", deployment: 7), node("b")], nowMs: 100) == [.report(done: 1, nodes: 2), .lookAgain])
        #expect(wait.looked([node("a", deployment: 7), node("b")], nowMs: 150) == [.lookAgain])
        let loaded = [node("a", deployment: 7), node("b", deployment: 8)]
        #expect(wait.looked(loaded, nowMs: 190) == [.report(done: 2, nodes: 2), .lookAgain])
        #expect(wait.looked(loaded, nowMs: 200) == [.finish(nodes: 2)])
    }

    @Test func servingIsAboutTheVersionThatRequestsGet() {
        var wait = wait(.serve)
        #expect(wait.looked([node("a", deployment: 7, project: "other")], nowMs: 0).last == .lookAgain)
        #expect(wait.looked([node("a", deployment: 7, project: version.hex)], nowMs: 200).last == .finish(nodes: 1))
    }

    @Test func aClusterWithoutNodesIsWaitedForOnlyUntilTheListHasSettled() {
        var wait = wait()
        #expect(wait.looked([], nowMs: 0) == [.lookAgain])
        #expect(wait.looked([], nowMs: 200) == [.finish(nodes: 0)])
    }

    @Test func aNodeThatVanishesFromTheListIsWaitedForUntilItsEntryWouldHaveExpired() {
        var wait = wait()
        #expect(wait.looked([node("a")], nowMs: 0).last == .lookAgain)
        #expect(wait.looked([], nowMs: 499) == [.lookAgain])
        #expect(wait.looked([], nowMs: 500).last == .finish(nodes: 0))
    }

    @Test func timeEndsItWithTheNodesThatAreBehind() {
        var wait = wait(timeoutMs: 1_000)
        #expect(wait.looked([node("a"), node("b", deployment: 7)], nowMs: 1_000).last == .lookAgain)
        let waiting = RolloutProgress.Waiting(node: NodeID("a"), problem: "")
        #expect(wait.looked([node("a"), node("b", deployment: 7)], nowMs: 1_001).last == .giveUp([waiting]))
    }

    @Test func aListThatCannotBeReadEndsItWithoutNames() {
        var wait = wait(timeoutMs: 1_000)
        #expect(wait.looked(nil, nowMs: 0) == [.lookAgain])
        #expect(wait.looked(nil, nowMs: 1_001) == [.giveUp([])])
    }

    @Test func aProblemThatStaysEndsItEarly() {
        var wait = wait()
        let failing = [node("a", problem: "it does not compile")]
        #expect(wait.looked(failing, nowMs: 1_000).last == .lookAgain)
        #expect(wait.looked(failing, nowMs: 11_000).last == .lookAgain)
        let waiting = RolloutProgress.Waiting(node: NodeID("a"), problem: "it does not compile")
        #expect(wait.looked(failing, nowMs: 11_001).last == .giveUp([waiting]))
    }

    @Test func aProblemThatPassesStartsTheTimeAgain() {
        var wait = wait()
        #expect(wait.looked([node("a", problem: "away")], nowMs: 0).last == .lookAgain)
        #expect(wait.looked([node("a")], nowMs: 9_000).last == .lookAgain)
        #expect(wait.looked([node("a", problem: "away")], nowMs: 10_500).last == .lookAgain)
        #expect(wait.looked([node("a", problem: "away")], nowMs: 20_500).last == .lookAgain)
    }

    @Test func theRosterGoesOnToTheNextGoal() {
        var loading = wait()
        _ = loading.looked([node("a", deployment: 7)], nowMs: 0)
        #expect(loading.looked([node("a", deployment: 7)], nowMs: 200).last == .finish(nodes: 1))
        var serving = RolloutWait(for: .serve, 7, version, loading.roster, timeoutMs: 1_000, nowMs: 200)
        // Redis lost the list: the node that was seen is still waited for.
        #expect(serving.looked([], nowMs: 300).last == .lookAgain)
    }
}

/// The history as operators see it.
@Suite struct RolloutListingTests {
    private let folder = Digest(of: "folder".utf8)
    private let first = Digest(of: "first".utf8)
    private let second = Digest(of: "second".utf8)

    private func row(_ id: Int64, _ version: Digest, _ origin: Deployment.Origin, active: Int64?) -> Deployment {
        Deployment(id: id, version: version, origin: origin, createdAtMs: 0, activeAtMs: active, seenAtMs: 0)
    }

    private func standings(_ history: [Deployment]) -> [String] {
        let schedule = DeploymentSchedule(history, folder: nil, nowMs: 100, settings: .init())
        return RolloutListing.all(history, schedule, nodes: []).map {
            "\($0.deployment.id) \($0.standing?.rawValue ?? "-")"
        }
    }

    @Test func eachVersionHasOneStanding() {
        #expect(standings([row(1, folder, .folder, active: nil)]) == ["1 until the first deployment"])
        let history = [
            row(1, folder, .folder, active: nil), row(2, first, .deploy, active: 10),
            row(3, second, .deploy, active: 20), row(4, first, .deploy, active: 30),
            row(5, Digest(of: "third".utf8), .deploy, active: nil),
        ]
        #expect(
            standings(history) == [
                "5 announced", "4 current", "3 former, still served", "2 -", "1 former, still served",
            ])
    }

    @Test func goingBackFindsTheVersionBeforeTheCurrentOne() {
        let history = [
            row(1, folder, .folder, active: nil), row(2, first, .deploy, active: 10),
            row(3, second, .deploy, active: 20), row(4, Digest(of: "announced".utf8), .deploy, active: nil),
        ]
        #expect(DeploymentSchedule.former(of: second, in: history)?.id == 2)
        // There and back again.
        let back = history.dropLast() + [row(5, first, .deploy, active: 40)]
        #expect(DeploymentSchedule.former(of: first, in: Array(back))?.id == 3)
        #expect(DeploymentSchedule.former(of: first, in: Array(history.prefix(2)))?.id == 1)
        #expect(DeploymentSchedule.former(of: folder, in: Array(history.prefix(1))) == nil)
        #expect(DeploymentSchedule.former(of: nil, in: history) == nil)
    }
}
