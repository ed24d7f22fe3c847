import DeploymentPlan
import LiveModel
import Testing

/// Which versions a node serves, by the history alone.
struct DeploymentScheduleTests {
    private let folder = Digest(of: "folder".utf8)
    private let first = Digest(of: "first".utf8)
    private let second = Digest(of: "second".utf8)

    private func deployed(_ id: Int64, _ version: Digest, created: Int64, active: Int64?) -> Deployment {
        Deployment(
            id: id, version: version, origin: .deploy, createdAtMs: created, activeAtMs: active, seenAtMs: created)
    }

    private func noted(_ id: Int64, _ version: Digest, seen: Int64) -> Deployment {
        Deployment(id: id, version: version, origin: .folder, createdAtMs: 0, activeAtMs: nil, seenAtMs: seen)
    }

    private func schedule(_ deployments: [Deployment], at nowMs: Int64, folder: Digest? = nil) -> DeploymentSchedule {
        var settings = DeploymentSchedule.Settings()
        settings.keepMs = 1_000
        settings.moveMs = 100
        return DeploymentSchedule(deployments, folder: folder, nowMs: nowMs, settings: settings)
    }

    @Test func folderUntilSomethingIsDeployed() {
        let alone = schedule([noted(1, folder, seen: 0)], at: 500, folder: folder)
        #expect(alone.current == folder)
        #expect(alone.others.isEmpty)
        #expect(alone.newestID == 1)
        #expect(schedule([], at: 0).current == nil)
    }

    @Test func announcedIsLoadedAndNotCurrent() {
        let rows = [noted(1, folder, seen: 0), deployed(2, first, created: 10, active: nil)]
        let announced = schedule(rows, at: 20, folder: folder)
        #expect(announced.current == folder)
        #expect(announced.others == [first])
        #expect(announced.moving.isEmpty)
        #expect(announced.newestID == 2)
        // The tool that announced it never finished.
        #expect(schedule(rows, at: 10 + DeploymentSchedule.announcedMaxMs, folder: folder).others == [])
    }

    @Test func formerIsKeptThenMovedThenGone() {
        let rows = [
            noted(1, folder, seen: 0), deployed(2, first, created: 10, active: 100),
            deployed(3, second, created: 200, active: 5_000),
        ]
        let before = schedule(Array(rows.prefix(2)), at: 100, folder: folder)
        #expect(before.current == first)
        #expect(before.others == [folder])
        #expect(before.moving.isEmpty)
        #expect(schedule(Array(rows.prefix(2)), at: 1_100, folder: folder).moving == [folder])

        let kept = schedule(rows, at: 5_999)
        #expect(kept.current == second)
        #expect(kept.others == [first, folder])
        #expect(kept.moving == [folder])
        #expect(schedule(rows, at: 6_000).moving == [first, folder])
        let goneMs = 6_000 + 200 + DeploymentSchedule.Settings().stragglerMs
        #expect(schedule(rows, at: goneMs - 1).others == [first])
        #expect(schedule(rows, at: goneMs).others == [])
    }

    @Test func rollingBackServesTheOldVersionAsCurrent() {
        let rows = [
            deployed(1, first, created: 0, active: 0), deployed(2, second, created: 10, active: 10),
            deployed(3, first, created: 20, active: 20),
        ]
        let back = schedule(rows, at: 30)
        #expect(back.current == first)
        #expect(back.others == [second])
        #expect(schedule(rows, at: 1_020).moving == [second])
    }

    /// The database's clock may be behind after a failover.
    @Test func theLastDeploymentCountsWhateverTheClockSaid() {
        let rows = [
            deployed(1, first, created: 500, active: 500), deployed(2, second, created: 200, active: 210),
        ]
        #expect(schedule(rows, at: 220).current == second)
        #expect(schedule(rows, at: 220).others == [first])
    }

    /// A cluster restarted with another folder, node after node.
    @Test func foldersOfLivingNodesAreServedTogether() {
        let rows = [noted(1, folder, seen: 0), noted(2, first, seen: 900)]
        #expect(schedule(rows, at: 950, folder: first).others == [folder])
        #expect(schedule(rows, at: 950, folder: folder).others == [first])
    }
}

/// The progress of a rollout, as nodes report it.
struct RolloutProgressTests {
    private func node(_ name: String, project: String, deployment: Int64, problem: String = "") -> NodeRecordPayload {
        NodeRecordPayload(
            id: NodeID(name), roles: [.api], address: "", adminAddress: "", version: "", startedAtMs: 0,
            isDraining: false, load: 0, project: project, deployment: deployment, deploymentProblem: problem)
    }

    @Test func everyNodeMustLoadAndThenServe() throws {
        let old = Digest(of: "old".utf8)
        let new = Digest(of: "new".utf8)
        let progress = RolloutProgress(
            [
                node("c", project: old.hex, deployment: 4, problem: "no memory"),
                node("a", project: new.hex, deployment: 5), node("b", project: old.hex, deployment: 5),
            ], deployment: 5, version: new)
        #expect(progress.nodes == 3)
        #expect(progress.loading == [.init(node: NodeID("c"), problem: "no memory")])
        #expect(progress.switching.map(\.node.name) == ["b", "c"])
    }

    /// Redis lost its data, and nodes come back into the list one by one; or a node is gone for good.
    @Test func listedNodesAreAwaitedUntilTheirEntriesExpire() {
        var roster = RolloutRoster(heartbeatMs: 1_000, ttlMs: 5_000)
        roster.looked(nil, nowMs: 0)
        roster.looked([], nowMs: 100)
        #expect(!roster.isSettled(nowMs: 2_000))
        roster.looked([node("a", project: "", deployment: 1)], nowMs: 400)
        roster.looked([node("b", project: "", deployment: 1)], nowMs: 500)
        #expect(roster.nodes.map(\.id.name) == ["a", "b"])
        #expect(roster.isSettled(nowMs: 2_100))
        roster.looked([node("b", project: "", deployment: 2)], nowMs: 5_399)
        #expect(roster.nodes.map(\.deployment) == [1, 2])
        roster.looked([node("b", project: "", deployment: 2)], nowMs: 5_400)
        #expect(roster.nodes.map(\.id.name) == ["b"])
        // An unreadable list says nothing, and the first one after it little.
        roster.looked(nil, nowMs: 60_000)
        #expect(!roster.isSettled(nowMs: 60_000))
        roster.looked([], nowMs: 70_000)
        #expect(roster.nodes.map(\.id.name) == ["b"])
        #expect(roster.isSettled(nowMs: 72_000))
        roster.looked([], nowMs: 75_000)
        #expect(roster.nodes.isEmpty)
    }

    @Test func nodeRecordsCarryTheDeployment() throws {
        let record = node("a", project: "p", deployment: 7, problem: "x")
        #expect(NodeRecordPayload(payload: record.payload) == record)
    }
}
