import LiveModel
import RoleMachines
import Sharding
import Streams

extension SimulatedRedis {
    func answer(_ call: WorkerMachine.BrokerCall) -> WorkerMachine.BrokerReply {
        switch call {
        case .lastID(let stream): return .lastID(info(stream)?.lastID ?? .zero)
        case .newest(let stream, let before, let limit): return .entries(newest(stream, before: before, limit: limit))
        case .nodes: return .nodes(nodeRecords())
        case .requestLease(let key, let owner, let ttlMs, let basis, let epoch):
            return .lease(acquire(key, owner: owner, ttlMs: ttlMs, basis: basis, epoch: epoch))
        case .renewLease(let key, let owner, let epoch, let ttlMs):
            return .done(renew(key, owner: owner, epoch: epoch, ttlMs: ttlMs))
        case .releaseLease(let key, let owner, let epoch): return .done(release(key, owner: owner, epoch: epoch))
        case .checkpoint(let stream, let id, let lease, let epoch):
            return .done(checkpoint(stream, id: id, lease: lease, epoch: epoch))
        case .trim(let stream, let minimumID, let lease, let epoch):
            return .done(trim(stream, minimumID: minimumID, lease: lease, epoch: epoch))
        case .wakeWorkers(let node):
            wakeWorkers(of: node)
            return .done(true)
        case .unfollowedShards: return .unfollowed(overrides.unfollowed)
        case .changeOverrides(let changes):
            for change in changes { self.change(change) }
            return .done(true)
        case .appendResyncMarker(let stream):
            append(.resyncMarker(to: stream), lengthMax: World.eventsLengthMax)
            return .done(true)
        }
    }
}

extension SimulatedPostgres {
    func answer(_ call: WorkerMachine.DatabaseCall) -> WorkerMachine.DatabaseReply {
        switch call {
        case .readEpochs(let shard): .epochs(recorded: recordedEpoch(of: shard), clockMs: clockMs)
        case .recordEpoch(let epoch, let shard): .recorded(recordEpoch(epoch, of: shard))
        }
    }
}

extension WorkerMachine.BrokerReply {
    /// A short form for the trace.
    var short: String {
        switch self {
        case .lastID(let id): "last \(id)"
        case .entries(let entries): "\(entries.count) entries"
        case .nodes(let nodes): "\(nodes.map(\.id))"
        case .lease(let answer): "\(answer)"
        case .unfollowed(let shards): "unfollowed \(shards.sorted())"
        case .done(let isDone): "\(isDone)"
        case .failed(let problem): problem
        }
    }
}
