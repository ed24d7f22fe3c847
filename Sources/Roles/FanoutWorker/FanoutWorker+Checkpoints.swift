import Broker
import Streams
import Execution
import LiveModel
import Refresh

/// How far the streams of owned shards are applied, recorded for the next owner, and what is trimmed off them.
extension FanoutWorker {
    func checkpoint() async {
        for shard in machine.ownedShards { await checkpoint(shard) }
        let nowMs = clock.nowMs()
        guard nowMs >= lastTrimMs + 30_000, nowMs > settings.eventsAgeMaxMs else { return }
        lastTrimMs = nowMs
        let oldest = StreamID(ms: UInt64(nowMs - settings.eventsAgeMaxMs), sequence: 0)
        for shard in machine.ownedShards {
            guard let epoch = machine.epoch(of: shard) else { continue }
            let lease = broker.keys.lease(shard: shard.number)
            for stream in [broker.keys.events(shard: shard.number), broker.keys.control(shard: shard.number)] {
                _ = try? await broker.trimFenced(stream, minimumID: oldest, lease: lease, epoch: epoch)
            }
        }
    }

    /// Up to where events are applied, if that is not recorded yet.
    func unrecorded(of shard: ShardID) -> StreamID? {
        guard let id = machine.lastEventID(of: shard), id != .zero, checkpointed[shard] != id else { return nil }
        return id
    }

    private func checkpoint(_ shard: ShardID) async {
        guard let id = unrecorded(of: shard), let epoch = machine.epoch(of: shard) else { return }
        await checkpoint(shard, epoch, id)
    }

    func checkpoint(_ shard: ShardID, _ epoch: UInt64, _ id: StreamID) async {
        let isDone = try? await broker.checkpoint(
            stream: broker.keys.events(shard: shard.number), group: Keys.workersGroup, id: id,
            lease: broker.keys.lease(shard: shard.number), epoch: epoch)
        if isDone == true, machine.epoch(of: shard) == epoch { checkpointed[shard] = id }
    }
}
