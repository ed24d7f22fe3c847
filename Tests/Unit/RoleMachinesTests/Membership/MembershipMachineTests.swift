import LiveModel
import RoleMachines
import Sharding
import Streams
import Testing

@Suite struct MembershipMachineTests {
    private let me = NodeID("me")

    private func machine(isWorker: Bool = true) -> MembershipMachine {
        var settings = MembershipMachine.Settings()
        settings.isWorker = isWorker
        return MembershipMachine(node: me, settings: settings)
    }

    private func record(
        _ name: String, roles: Set<Role> = [.worker], isDraining: Bool = false, remainingMs: Int = 5_000
    ) -> NodeRecord {
        let payload = NodeRecordPayload(
            id: NodeID(name), roles: roles, address: "", adminAddress: "", version: "1", startedAtMs: 0,
            isDraining: isDraining, load: 0)
        return NodeRecord(id: name, payload: payload.payload, remainingMs: remainingMs)
    }

    private func overrides(_ generation: UInt64, _ fields: [String: String]) -> ClusterOverrides {
        ClusterOverrides(generation: generation, fields: fields.mapValues { (version: generation, value: $0) })
    }

    /// A machine after its first round, and the wait under way.
    private func settled(_ overrides: ClusterOverrides = ClusterOverrides()) -> (MembershipMachine, wait: UInt64) {
        var machine = machine()
        _ = machine.started()
        _ = machine.overridesRead(1, .success(overrides))
        _ = machine.announced(2, .success(true))
        let effects = machine.nodesListed(3, .success([record("me")]), nowMs: 0)
        #expect(effects.last == .wait(4, ms: 1_000))
        return (machine, 4)
    }

    @Test func aRoundReadsOverridesThenAnnouncesThenListsNodes() {
        var machine = machine()
        #expect(machine.started() == [.readOverrides(1)])
        #expect(
            machine.overridesRead(1, .success(ClusterOverrides())) == [
                .announce(2, isDraining: false, ttlMs: 5_000)
            ])
        #expect(machine.announced(2, .success(true)) == [.wakeWorkers, .listNodes(3, livingAtMostMs: 20_000)])
        let listed = [
            record("me"), record("other"), record("leaving", isDraining: true), record("edge", roles: [.gateway]),
        ]
        #expect(
            machine.nodesListed(3, .success(listed), nowMs: 0) == [
                .updateWorker(
                    workers: ["me", "other"].map { NodeID($0) }, gateways: [NodeID("edge")], [:],
                    UnfollowedShards(areKnownToAll: true)),
                .endRound(1), .wait(4, ms: 1_000),
            ])
        #expect(machine.waitEnded(4) == [.readOverrides(5)])
    }

    @Test func valuesThatNoNodeWritesAreReportedAndTheRoundGoesOn() {
        var machine = machine()
        _ = machine.started()
        let junk = overrides(3, ["shard:x": "0 n"])
        let read = machine.overridesRead(1, .success(junk))
        #expect(read.first == .report(.overridesDefective(junk.defects)) && junk.defects.count == 1)
        #expect(read.last == .announce(2, isDraining: false, ttlMs: 5_000))
        _ = machine.announced(2, .success(true))
        let text = #"{"id":"other","roles":["worker"],"startedAt":-1}"#
        let other = NodeRecord(id: "other", payload: Array(text.utf8), remainingMs: 5_000)
        let listed = machine.nodesListed(3, .success([record("me"), other]), nowMs: 0)
        var defects = StoredDefects()
        defects.add("startedAt: -1")
        #expect(listed.first == .report(.nodesDefective(defects)) && listed.last == .wait(4, ms: 1_000))
    }

    @Test func aKnownNodeDoesNotWakeWorkers() {
        var (machine, wait) = settled()
        _ = machine.waitEnded(wait)
        _ = machine.overridesRead(5, .success(ClusterOverrides()))
        #expect(machine.announced(6, .success(false)) == [.listNodes(7, livingAtMostMs: 20_000)])
    }

    @Test(arguments: [(300, 302), (998, 1_000), (4_000, 1_000)])
    func theNextRoundComesWhenAnotherEntryExpires(remainingMs: Int, waitMs: Int64) {
        var (machine, wait) = settled()
        _ = machine.waitEnded(wait)
        _ = machine.overridesRead(5, .success(ClusterOverrides()))
        _ = machine.announced(6, .success(false))
        let listed = [record("me", remainingMs: 10), record("other", remainingMs: remainingMs)]
        #expect(machine.nodesListed(7, .success(listed), nowMs: 0).last == .wait(8, ms: waitMs))
    }

    @Test func aNodeWithoutShardsWaitsForItsHeartbeat() {
        var machine = machine(isWorker: false)
        _ = machine.started()
        _ = machine.overridesRead(1, .success(ClusterOverrides()))
        _ = machine.announced(2, .success(false))
        let listed = [record("other", remainingMs: 10)]
        #expect(machine.nodesListed(3, .success(listed), nowMs: 0) == [.endRound(1), .wait(4, ms: 1_000)])
    }

    @Test func overridesThatCannotBeReadDoNotKeepTheNodeFromBeingAnnounced() {
        var (machine, wait) = settled(overrides(1, ["drain:me": "yes"]))
        _ = machine.waitEnded(wait)
        #expect(
            machine.overridesRead(5, .failure(StepFailure("away"))) == [
                .report(.overridesNotRead(reason: "away")), .announce(6, isDraining: true, ttlMs: 5_000),
            ])
    }

    @Test func aFailedAnnouncementEndsTheRound() {
        var (machine, wait) = settled()
        _ = machine.waitEnded(wait)
        _ = machine.overridesRead(5, .success(ClusterOverrides()))
        #expect(
            machine.announced(6, .failure(StepFailure("away"))) == [
                .report(.heartbeatFailed(reason: "away")), .endRound(2), .wait(7, ms: 1_000),
            ])
    }

    @Test func aFailedListEndsTheRound() {
        var (machine, wait) = settled()
        _ = machine.waitEnded(wait)
        _ = machine.overridesRead(5, .success(ClusterOverrides()))
        _ = machine.announced(6, .success(false))
        #expect(
            machine.nodesListed(7, .failure(StepFailure("away")), nowMs: 0) == [
                .report(.heartbeatFailed(reason: "away")), .endRound(2), .wait(8, ms: 1_000),
            ])
    }

    // MARK: Overrides

    @Test func anOperatorDrainsTheNodeAndTakesItBack() {
        var (machine, wait) = settled()
        _ = machine.waitEnded(wait)
        #expect(
            machine.overridesRead(5, .success(overrides(7, ["drain:me": "yes"]))) == [
                .report(.overridesChanged(generation: 7)), .updateGateway(overrides(7, ["drain:me": "yes"])),
                .report(.drainChanged(isDrained: true)), .drainSessions, .announce(6, isDraining: true, ttlMs: 5_000),
            ])
        #expect(machine.isDraining)
        // Drained nodes do not wake workers.
        #expect(machine.announced(6, .success(true)) == [.listNodes(7, livingAtMostMs: 20_000)])
        _ = machine.nodesListed(7, .success([]), nowMs: 0)
        _ = machine.waitEnded(8)
        // A broker that lost its data has an older generation, and counts.
        #expect(
            machine.overridesRead(9, .success(ClusterOverrides())) == [
                .report(.overridesChanged(generation: 0)), .updateGateway(ClusterOverrides()),
                .report(.drainChanged(isDrained: false)),
                .announce(10, isDraining: false, ttlMs: 5_000),
            ])
    }

    @Test func aGenerationThatIsKnownChangesNothing() {
        var (machine, wait) = settled(overrides(3, ["drain:other": "yes"]))
        _ = machine.waitEnded(wait)
        #expect(
            machine.overridesRead(5, .success(overrides(3, ["drain:other": "yes"]))) == [
                .announce(6, isDraining: false, ttlMs: 5_000)
            ])
    }

    @Test func movesAreInForceUntilTheyEnd() {
        func movedShards(nowMs: Int64) -> [ShardID: NodeID]? {
            var machine = machine()
            _ = machine.started()
            _ = machine.overridesRead(1, .success(overrides(1, ["shard:2": "1000 other", "shard:3": "0 me"])))
            _ = machine.announced(2, .success(false))
            let effects = machine.nodesListed(3, .success([record("me")]), nowMs: nowMs)
            guard case .updateWorker(_, _, let movedShards, _)? = effects.first else { return nil }
            return movedShards
        }
        #expect(movedShards(nowMs: 999) == [ShardID(2): NodeID("other"), ShardID(3): me])
        #expect(movedShards(nowMs: 1_000) == [ShardID(3): me])
    }

    // MARK: Hints and requests

    @Test func hintsAreGatheredOnce() {
        var (machine, wait) = settled()
        #expect(machine.woken() == [.wait(5, ms: 3)])
        #expect(machine.woken().isEmpty)
        #expect(machine.waitEnded(wait).isEmpty, "the wait before it is replaced")
        #expect(machine.waitEnded(5) == [.readOverrides(6)])
    }

    @Test func aHintDuringARoundCausesOneMore() {
        var (machine, wait) = settled()
        _ = machine.waitEnded(wait)
        #expect(machine.woken().isEmpty)
        _ = machine.overridesRead(5, .success(ClusterOverrides()))
        _ = machine.announced(6, .success(false))
        #expect(machine.nodesListed(7, .success([]), nowMs: 0).suffix(2) == [.endRound(2), .wait(8, ms: 3)])
        _ = machine.waitEnded(8)
        _ = machine.overridesRead(9, .success(ClusterOverrides()))
        _ = machine.announced(10, .success(false))
        #expect(machine.nodesListed(11, .success([]), nowMs: 0).last == .wait(12, ms: 1_000))
    }

    @Test func aRequestBeginsARoundAtOnce() {
        var (machine, wait) = settled()
        let request = machine.roundRequested()
        #expect(request.round == 2)
        #expect(request.effects == [.readOverrides(5)])
        #expect(machine.waitEnded(wait).isEmpty)
    }

    @Test func aRequestDuringARoundIsServedByTheNextOne() {
        var (machine, wait) = settled()
        _ = machine.waitEnded(wait)
        // The read under way may not see what was changed.
        let request = machine.roundRequested()
        #expect(request.round == 3)
        #expect(request.effects.isEmpty)
        #expect(machine.woken().isEmpty)
        _ = machine.overridesRead(5, .success(ClusterOverrides()))
        #expect(
            machine.announced(6, .failure(StepFailure("away"))).suffix(2) == [.endRound(2), .readOverrides(7)])
    }

    @Test func unexpectedAnswersChangeNothing() {
        var (machine, wait) = settled()
        _ = machine.waitEnded(wait)
        let announcement = machine.overridesRead(5, .success(ClusterOverrides()))
        #expect(announcement == [.announce(6, isDraining: false, ttlMs: 5_000)])
        #expect(machine.overridesRead(5, .success(overrides(9, [:]))).isEmpty)
        #expect(machine.announced(2, .success(true)).isEmpty)
        #expect(machine.nodesListed(3, .success([]), nowMs: 0).isEmpty)
        #expect(machine.announced(6, .success(false)) == [.listNodes(7, livingAtMostMs: 20_000)])
    }

    // MARK: Leaving

    @Test func aNodeThatLeavesIsWithdrawnAndAnnouncedAsDraining() {
        var (machine, wait) = settled()
        let removals = [machine.leave(), machine.leave()]
        #expect(removals == [true, false])
        _ = machine.waitEnded(wait)
        #expect(
            machine.overridesRead(5, .success(ClusterOverrides())) == [
                .announce(6, isDraining: true, ttlMs: 5_000)
            ])
        #expect(machine.announced(6, .success(true)) == [.listNodes(7, livingAtMostMs: 20_000)])
    }

    @Test func anAnnouncementThatCrossesTheWithdrawalIsCorrectedAtOnce() {
        var (machine, wait) = settled()
        _ = machine.waitEnded(wait)
        _ = machine.overridesRead(5, .success(ClusterOverrides()))
        _ = machine.leave()
        _ = machine.announced(6, .success(true))
        let effects = machine.nodesListed(7, .success([record("me")]), nowMs: 0)
        #expect(effects.suffix(2) == [.endRound(2), .readOverrides(8)])
        #expect(
            machine.overridesRead(8, .success(ClusterOverrides())) == [.announce(9, isDraining: true, ttlMs: 5_000)])
    }
}
