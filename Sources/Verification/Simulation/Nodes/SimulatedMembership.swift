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
    /// The shards that the node announces.
    private let shards: () -> [ShardStatus]
    /// Handles a change of the node's membership.
    private let perform: (Change) -> Void

    enum Change {
        case workers([NodeID], gateways: Set<NodeID>, pins: [ShardID: NodeID])
        /// The overrides were read.
        case overrides(ClusterOverrides)
        /// The overrides changed.
        case routes
        case drainSessions
        /// The attempt to write the node's first entry ended.
        case announcedFirst
    }

    init(
        _ process: Process, _ node: NodeID, role: Role, shards: @escaping () -> [ShardStatus] = { [] },
        perform: @escaping (Change) -> Void
    ) {
        (self.process, self.node, self.role, self.perform) = (process, node, role, perform)
        self.shards = shards
        var settings = MembershipMachine.Settings()
        settings.isWorker = role == .worker
        machine = MembershipMachine(node: node, settings: settings)
    }

    func start() { perform(machine.started()) }
    func wake() { perform(machine.woken()) }
    func leave() { perform(machine.leave()) }

    // MARK: Effects

    private func perform(_ effects: [MembershipMachine.Effect]) { for effect in effects { perform(effect) } }

    private func perform(_ effect: MembershipMachine.Effect) {
        switch effect {
        case .wait(let id, let ms):
            process.later(ms) { [self] in perform(machine.waitEnded(id)) }
        case .readOverrides(let id):
            process.call {
                $0.overrides
            } then: { [self] answer in
                if let answer { perform(.overrides(answer)) }
                answered { [self] in machine.overridesRead(id, answer.orFailure) }
            }
        case .announce(let id, let isDraining, let ttlMs):
            let record = NodeRecordPayload(
                id: node, roles: [role], address: "", adminAddress: "", version: "\(process.release)",
                startedAtMs: process.nowMs, isDraining: isDraining, load: 0, shards: shards(),
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
                let ended = (answer ?? []).compactMap { NodeRecordPayload(payload: $0.payload)?.process }
                    .filter(process.world.hasEnded)
                answered { [self] in
                    machine.nodesListed(
                        id, answer.orFailure, ended: Set(ended), nowMs: process.timeline.nowMs)
                }
            }
        case .wakeWorkers:
            process.call { [node] in
                $0.wakeWorkers(of: node)
            } then: { (_: Void?) in
            }
        case .withdraw:
            process.call { [node] in
                $0.withdraw(node)
            } then: { (_: Void?) in
            }
        case .clear(let nodes): for node in nodes { clear(node) }
        case .updateWorker(let workers, let gateways, let pins):
            perform(.workers(workers, gateways: gateways, pins: pins))
        case .updateRoutes: perform(.routes)
        case .drainSessions: perform(.drainSessions)
        case .endRound(let number): if number == 1 { perform(.announcedFirst) }
        case .report(let report): process.world.note("\(process.name) \(report)")
        }
    }

    private func clear(_ gone: NodeRecordPayload) {
        process.call { redis in
            for status in gone.shards {
                _ = redis.release(redis.keys.lease(shard: status.shard.number), owner: gone.id, epoch: status.epoch)
            }
            let current = redis.nodeRecords().first { $0.id == gone.id.name }
            if current.flatMap({ NodeRecordPayload(payload: $0.payload) })?.process == gone.process {
                redis.withdraw(gone.id)
            }
        } then: { [self] (_: Void?) in
            perform(.wakeWorkers)
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
