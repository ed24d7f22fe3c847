import LiveModel
import Pacing
import Refresh
import Streams

/// The periodic work on the streams of owned shards: it records applied positions, for operators and the next owner,
/// each `checkpointMs`, and trims old entries. One call at a time, so that lease renewals never queue behind it.
extension WorkerMachine {
    enum UpkeepStep: Sendable {
        case checkpoint(ShardID)
        case trim(ShardID, stream: String, minimumID: StreamID)
    }

    /// Begins a round of what is due, unless one is in progress.
    mutating func beginUpkeep(nowMs: Int64) {
        guard !isUpkeepUnderWay else { return }
        isUpkeepUnderWay = true
        var steps: [UpkeepStep] = []
        if nowMs >= nextCheckpointMs {
            nextCheckpointMs = nowMs + settings.checkpointMs
            steps = refresh.ownedShards.map { .checkpoint($0) }
        }
        if nowMs >= lastTrimMs + settings.trimMs, nowMs > settings.eventsAgeMaxMs {
            lastTrimMs = nowMs
            let oldest = StreamID(ms: UInt64(nowMs - settings.eventsAgeMaxMs), sequence: 0)
            for shard in refresh.ownedShards {
                for stream in [keys.events(shard: shard.number), keys.control(shard: shard.number)] {
                    steps.append(.trim(shard, stream: stream, minimumID: oldest))
                }
            }
        }
        upkeep = steps.reversed()
        nextUpkeep()
    }

    /// Performs the next step and skips shards that were given up since the round began.
    mutating func nextUpkeep() {
        while let step = upkeep.popLast() {
            switch step {
            case .checkpoint(let shard):
                guard let id = unrecorded(of: shard), let epoch = refresh.epoch(of: shard) else { continue }
                return request(checkpointCall(shard, epoch, id), for: .checkpoint(shard, epoch: epoch, id))
            case .trim(let shard, let stream, let minimumID):
                guard let epoch = refresh.epoch(of: shard) else { continue }
                return request(
                    .trim(
                        stream: stream, minimumID: minimumID, lease: keys.lease(shard: shard.number), epoch: epoch),
                    for: .trim)
            }
        }
        isUpkeepUnderWay = false
    }

    /// Returns the position up to which events are applied, if it is not recorded yet.
    func unrecorded(of shard: ShardID) -> StreamID? {
        guard let id = refresh.lastEventID(of: shard), id != .zero, checkpointed[shard] != id else { return nil }
        return id
    }

    func checkpointCall(_ shard: ShardID, _ epoch: UInt64, _ id: StreamID) -> BrokerCall {
        .checkpoint(
            stream: keys.events(shard: shard.number), id: id, lease: keys.lease(shard: shard.number), epoch: epoch)
    }

    /// Logs the first of each interval only: anybody who can write to a control stream may write as many as they want.
    mutating func reportUnreadable(_ entries: [StreamID], of shard: ShardID, nowMs: Int64) {
        guard let first = entries.first,
            let leftOut = unreadableControl.failed("", count: entries.count, nowMs: nowMs)
        else { return }
        log(
            .warning, "unreadable control messages",
            ["shard": "\(shard)", "entry": "\(first)", "count": "\(entries.count)", "notLogged": "\(leftOut)"])
    }
}
