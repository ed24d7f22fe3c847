import LiveModel
import RoleMachines
import Sharding
import Streams
import Testing

/// Membership frees the entries of another node whose process has ended.
@Suite struct EndedNodesTests {
    private typealias Effect = MembershipMachine.Effect

    private let me = NodeID("me")
    private let failure = StepFailure("away")

    private static func process(_ startTicks: UInt64) -> ProcessIdentity {
        ProcessIdentity(machine: "m", processID: 7, startTicks: startTicks)
    }

    private func statuses(_ shards: [Int], epoch: UInt64) -> [ShardStatus] {
        shards.map {
            ShardStatus(
                shard: ShardID($0), epoch: epoch, ownedSinceMs: 0, liveQueries: 0, due: 0, running: 0, paced: 0,
                waiting: 0, lastEventID: .zero, lastRefreshMs: 0, takeOver: TakeOverCounts())
        }
    }

    private func record(
        _ name: String, _ startTicks: UInt64? = nil, shards: [Int] = [], epoch: UInt64 = 3
    ) -> NodeRecord {
        let payload = NodeRecordPayload(
            id: NodeID(name), roles: [.worker], address: "", adminAddress: "", version: "1", startedAtMs: 0,
            isDraining: false, load: 0, shards: statuses(shards, epoch: epoch), process: startTicks.map(Self.process))
        return NodeRecord(id: name, payload: payload.payload, remainingMs: 5_000)
    }

    /// Takes the machine through a round that lists these nodes.
    /// - Returns: what follows, without the end of the round.
    private func round(
        _ machine: inout MembershipMachine, _ listed: [NodeRecord], ended: Set<ProcessIdentity>
    ) -> [Effect] {
        var effects = machine.roundRequested().effects
        if effects.isEmpty { effects = machine.started() }
        while let effect = effects.last {
            switch effect {
            case .readOverrides(let call): effects = machine.overridesRead(call, .success(ClusterOverrides()))
            case .announce(let call, _, _): effects = machine.announced(call, .success(false))
            case .listNodes(let call, _): effects = machine.nodesListed(call, .success(listed), nowMs: 0)
            case .checkProcesses(let call, let processes):
                effects = machine.processesChecked(call, ended: ended.intersection(processes), nowMs: 0)
            default:
                return effects.filter {
                    switch $0 {
                    case .endRound, .wait: false
                    default: true
                    }
                }
            }
        }
        return []
    }

    private func machine(isWorker: Bool = true) -> MembershipMachine {
        var settings = MembershipMachine.Settings()
        settings.isWorker = isWorker
        return MembershipMachine(node: me, settings: settings)
    }

    private func workers(_ names: String...) -> Effect {
        .updateWorker(
            workers: names.map { NodeID($0) }, gateways: [], [:], UnfollowedShards(areKnownToAll: true))
    }

    @Test func onlyProcessesOfOtherNodesAreChecked() {
        var machine = machine()
        _ = machine.started()
        _ = machine.overridesRead(1, .success(ClusterOverrides()))
        _ = machine.announced(2, .success(false))
        let listed = [record("me", 1), record("other", 2), record("old")]
        #expect(machine.nodesListed(3, .success(listed), nowMs: 0) == [.checkProcesses(4, [Self.process(2)])])
        #expect(machine.processesChecked(3, ended: [], nowMs: 0).isEmpty, "another call")
        #expect(
            machine.processesChecked(4, ended: [], nowMs: 0) == [
                workers("me", "other", "old"), .endRound(1), .wait(5, ms: 1_000),
            ])
        #expect(machine.processesChecked(4, ended: [Self.process(2)], nowMs: 0).isEmpty, "answered")
    }

    @Test func aHintDuringTheCheckCausesOneMoreRound() {
        var machine = machine()
        _ = machine.started()
        _ = machine.overridesRead(1, .success(ClusterOverrides()))
        _ = machine.announced(2, .success(false))
        _ = machine.nodesListed(3, .success([record("other", 2)]), nowMs: 0)
        #expect(machine.woken().isEmpty)
        let request = machine.roundRequested()
        #expect(request.round == 2 && request.effects.isEmpty)
        #expect(
            machine.processesChecked(4, ended: [], nowMs: 0).suffix(2) == [.endRound(1), .readOverrides(5)])
    }

    @Test(arguments: [true, false])
    func leasesAreReleasedThenTheEntryGoesThenWorkersWake(isWorker: Bool) {
        var machine = machine(isWorker: isWorker)
        let former = record("former", 1, shards: [2, 4])
        let listed = [record("me", 9), former, record("other", 2)]
        #expect(
            round(&machine, listed, ended: [Self.process(1)])
                == [.releaseLeases(1, owner: NodeID("former"), statuses([2, 4], epoch: 3))]
                + (isWorker ? [workers("me", "other")] : []))
        #expect(
            machine.leasesReleased(1, .success(())) == [.removeEntry(2, NodeID("former"), payload: former.payload)])
        #expect(machine.leasesReleased(1, .success(())).isEmpty, "answered")
        #expect(machine.entryRemoved(2, .success(())) == [.report(.freed(NodeID("former"))), .wakeWorkers])
        #expect(machine.entryRemoved(2, .success(())).isEmpty, "answered")
    }

    @Test func manyLeasesAreReleasedInParts() {
        var machine = machine()
        let former = record("former", 1, shards: Array(0..<150))
        var effects = round(&machine, [former], ended: [Self.process(1)])
        var counts: [Int] = []
        while case .releaseLeases(let call, _, let shards)? = effects.first {
            counts.append(shards.count)
            effects = machine.leasesReleased(call, .success(()))
        }
        #expect(counts == [64, 64, 22])
        #expect(effects == [.removeEntry(4, NodeID("former"), payload: former.payload)])
    }

    @Test func nodesAreFreedOneAfterTheOther() {
        var machine = machine()
        let (one, two) = (record("one", 1), record("two", 2))
        #expect(
            round(&machine, [one, two], ended: [Self.process(1), Self.process(2)])
                == [.removeEntry(1, NodeID("one"), payload: one.payload), workers()])
        #expect(
            machine.entryRemoved(1, .success(())) == [
                .report(.freed(NodeID("one"))), .removeEntry(2, NodeID("two"), payload: two.payload),
            ])
        #expect(machine.entryRemoved(2, .success(())) == [.report(.freed(NodeID("two"))), .wakeWorkers])
    }

    /// The entry names the leases: it must stay until they are released.
    @Test func leasesThatCannotBeReleasedKeepTheEntry() {
        var machine = machine()
        let (one, two) = (record("one", 1, shards: [2]), record("two", 2))
        let ended: Set = [Self.process(1), Self.process(2)]
        _ = round(&machine, [one, two], ended: ended)
        #expect(
            machine.leasesReleased(1, .failure(failure)) == [
                .report(.notFreed(NodeID("one"), reason: "away")),
                .removeEntry(2, NodeID("two"), payload: two.payload),
            ])
        _ = machine.entryRemoved(2, .success(()))
        #expect(
            round(&machine, [one], ended: ended).first
                == .releaseLeases(3, owner: NodeID("one"), statuses([2], epoch: 3)), "the next round begins again")
    }

    /// Woken workers begin a round, which would fail again at once.
    @Test func aFailureWakesNobody() {
        var machine = machine()
        _ = round(&machine, [record("one", 1)], ended: [Self.process(1)])
        #expect(
            machine.entryRemoved(1, .failure(failure)) == [.report(.notFreed(NodeID("one"), reason: "away"))])
    }

    @Test func roundsContinueMeanwhileAndBeginNothingTwice() {
        var machine = machine()
        let former = record("former", 1, shards: [2])
        _ = round(&machine, [former], ended: [Self.process(1)])
        #expect(round(&machine, [record("me", 9), former], ended: [Self.process(1)]) == [workers("me")])
        #expect(
            machine.leasesReleased(1, .success(())) == [.removeEntry(2, NodeID("former"), payload: former.payload)])
    }

    /// A later process has another entry, so that the removal of this one does nothing.
    @Test func theEntryIsRemovedAsItWasListed() {
        var machine = machine()
        let former = record("former", 1, shards: [2])
        _ = round(&machine, [former], ended: [Self.process(1)])
        let later = record("former", 5, shards: [2], epoch: 8)
        #expect(round(&machine, [later], ended: [Self.process(1)]) == [workers("former")])
        #expect(
            machine.leasesReleased(1, .success(())) == [.removeEntry(2, NodeID("former"), payload: former.payload)])
        #expect(later.payload != former.payload)
    }

    @Test func aNodeDoesNotFreeItself() {
        var machine = machine()
        let listed = [record("me", 1), record("other", 2)]
        #expect(round(&machine, listed, ended: [Self.process(1)]) == [workers("me", "other")])
    }
}
