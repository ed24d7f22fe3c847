import Broker
import Execution
import LiveModel
import Postgres
import RoleMachines
import Sharding
import Streams

extension Broker {
    /// Performs one call of the worker.
    func answer(_ call: WorkerMachine.BrokerCall) async -> WorkerMachine.BrokerReply {
        do throws(BrokerError) {
            switch call {
            case .lastID(let stream): return .lastID(try await lastID(of: stream))
            case .newest(let stream, let before, let limit):
                return .entries(try await newest(stream, before: before, limit: limit))
            case .nodes: return .nodes(try await nodes())
            case .requestLease(let key, let owner, let ttlMs, let basis, let epoch):
                return .lease(
                    try await requestLease(key, owner: owner.name, ttlMs: Int(ttlMs), basis: basis, epoch: epoch))
            case .renewLease(let key, let owner, let epoch, let ttlMs):
                return .done(try await renewLease(key, owner: owner.name, epoch: epoch, ttlMs: Int(ttlMs)))
            case .releaseLease(let key, let owner, let epoch):
                return .done(try await releaseLease(key, owner: owner.name, epoch: epoch))
            case .checkpoint(let stream, let id, let lease, let epoch):
                return .done(
                    try await checkpoint(
                        stream: stream, group: Keys.workersGroup, id: id, lease: lease, epoch: epoch))
            case .trim(let stream, let minimumID, let lease, let epoch):
                return .done(
                    try await trimFenced(stream, minimumID: minimumID, lease: lease, epoch: epoch) != nil)
            case .wakeWorkers(let node):
                await wakeWorkers(of: node.name)
                return .done(true)
            case .unfollowedShards:
                let stored = try await overrides()
                return .unfollowed(
                    ClusterOverrides(generation: stored.generation, fields: stored.fields).unfollowed)
            case .changeOverrides(let changes):
                _ = try await changeOverrides(changes.map { (field: $0.field, value: $0.value) })
                return .done(true)
            case .appendResyncMarker(let stream):
                _ = try await append([.resyncMarker(to: stream)])
                return .done(true)
            }
        } catch {
            return .failed("\(error)")
        }
    }
}

extension ShardEpochs {
    /// Performs one call of the worker.
    func answer(_ call: WorkerMachine.DatabaseCall) async -> WorkerMachine.DatabaseReply {
        do throws(PostgresError) {
            switch call {
            case .readEpochs(let shard):
                let (recorded, clockMs) = try await newest(of: shard)
                return .epochs(recorded: recorded, clockMs: clockMs)
            case .recordEpoch(let epoch, let shard): return .recorded(try await record(epoch, of: shard))
            }
        } catch {
            return .failed(error.sentence)
        }
    }
}
