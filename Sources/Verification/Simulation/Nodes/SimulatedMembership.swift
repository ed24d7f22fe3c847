import LiveModel
import RoleMachines
import Sharding
import Streams

/// Performs `MembershipMachine` for a worker or a gateway.
final class SimulatedMembership {
    private unowned let process: Process
    private let node: NodeID
    private let role: Role
    private(set) var machine: MembershipMachine
    let overrideList: SimulatedOverrideList
    /// The shards that the node announces.
    private let shards: () -> [ShardStatus]
    /// Handles a change of the node's membership.
    private let perform: (Change) -> Void
    private var firstRoundEnded: () -> Void = {}

    enum Change {
        case workers(
            [NodeID], gateways: Set<NodeID>, movedShards: [ShardID: NodeID], unfollowed: UnfollowedShards)
        case overrides(ClusterOverrides)
        case drainSessions
    }

    init(
        _ process: Process, _ node: NodeID, role: Role, shards: @escaping () -> [ShardStatus] = { [] },
        perform: @escaping (Change) -> Void
    ) {
        (self.process, self.node, self.role, self.perform) = (process, node, role, perform)
        self.shards = shards
        overrideList = SimulatedOverrideList(process)
        var settings = MembershipMachine.Settings()
        settings.isWorker = role == .worker
        machine = MembershipMachine(node: node, settings: settings)
    }

    /// - Parameter then: called when the attempt to write the node's first entry has ended.
    func start(then: @escaping () -> Void) {
        firstRoundEnded = then
        perform(machine.started())
    }
    func wake() { perform(machine.woken()) }
    func leave(then: @escaping () -> Void) {
        guard machine.leave() else { return then() }
        process.call { [node] in
            $0.withdraw(node)
        } then: { (_: Void?) in
            then()
        }
    }

    // MARK: Effects

    private func perform(_ effects: [MembershipMachine.Effect]) { for effect in effects { perform(effect) } }

    private func perform(_ effect: MembershipMachine.Effect) {
        switch effect {
        case .wait(let id, let ms):
            process.later(ms) { [self] in perform(machine.waitEnded(id)) }
        case .readOverrides(let id):
            overrideList.read { [self] answer in
                // As the node does: the copy counts, which a read begun later may have changed.
                let known = answer.map { _ in overrideList.overrides }
                answered { [self] in machine.overridesRead(id, known.orFailure) }
            }
        case .announce(let id, let isDraining, let ttlMs):
            let record = NodeRecordPayload(
                id: node, roles: [role], address: "", adminAddress: "", version: "\(process.release)",
                startedAtMs: process.nowMs, isDraining: isDraining, load: 0, shards: shards(),
                project: Workload.version(process.deployments.served.current).hex,
                deployment: process.deployments.report(), deploymentProblem: process.deployments.problem,
                process: process.identity)
            process.call {
                $0.announce(record, ttlMs: ttlMs)
            } then: { [self] answer in
                answered { [self] in machine.announced(id, answer.orFailure) }
            }
        case .listNodes(let id, let ttlMaxMs):
            process.call {
                $0.nodeRecords(livingAtMost: Int(ttlMaxMs))
            } then: { [self] answer in
                answered { [self] in
                    machine.nodesListed(id, answer.orFailure, nowMs: process.timeline.nowMs)
                }
            }
        case .checkProcesses(let id, let processes):
            process.later(0) { [self] in
                let ended = Set(processes.filter(process.world.hasEnded))
                answered { [self] in machine.processesChecked(id, ended: ended, nowMs: process.timeline.nowMs) }
            }
        case .releaseLeases(let id, let owner, let shards):
            process.call { redis in
                for status in shards {
                    _ = redis.release(redis.keys.lease(shard: status.shard.number), owner: owner, epoch: status.epoch)
                }
            } then: { [self] (answer: Void?) in
                answered { [self] in machine.leasesReleased(id, answer.orFailure) }
            }
        case .removeEntry(let id, let gone, let payload):
            process.call { [process] in
                let isUnchecked = process.world.sabotage == .entryRemovedUnchecked
                if let removed = $0.withdraw(gone, payload: isUnchecked ? nil : payload) {
                    process.world.removed(removed, by: process)
                }
            } then: { [self] (answer: Void?) in
                answered { [self] in machine.entryRemoved(id, answer.orFailure) }
            }
        case .wakeWorkers:
            process.call { [node] in
                $0.wakeWorkers(of: node)
            } then: { (_: Void?) in
            }
        case .updateWorker(let workers, let gateways, let movedShards, let unfollowed):
            perform(
                .workers(workers, gateways: gateways, movedShards: movedShards, unfollowed: unfollowed))
        case .updateGateway(let overrides): perform(.overrides(overrides))
        case .drainSessions: perform(.drainSessions)
        case .endRound(let number): if number == 1 { firstRoundEnded() }
        case .report(let report): process.world.note("\(process.name) \(report)")
        }
    }

    /// Reports an answer, from time to time twice.
    private func answered(_ answer: @escaping () -> [MembershipMachine.Effect]) {
        perform(answer())
        process.sometimesAgain { [self] in perform(answer()) }
    }
}

extension Optional {
    /// The server's answer, or a failure if there was none.
    var orFailure: Result<Wrapped, StepFailure> {
        map { .success($0) } ?? .failure(StepFailure("no answer"))
    }
}
