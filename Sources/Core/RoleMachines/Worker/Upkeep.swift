import LiveModel
import Refresh
import Streams

/// The periodic work on the streams of owned shards: it records applied positions, for operators and the next owner,
/// each `checkpointMs`, and trims old entries. One call at a time, so that lease renewals never queue behind it.
struct Upkeep: Sendable {
    private enum Step: Sendable {
        case checkpoint(ShardID)
        case trim(ShardID, stream: String, minimumID: StreamID)
    }

    private let keys: Keys
    private let checkpointMs: Int64
    private let trimMs: Int64
    private let eventsAgeMaxMs: Int64
    /// The recorded applied position of each owned shard's events.
    private var recorded: [ShardID: StreamID] = [:]
    /// The remaining steps of the current round, last step first. Bound: three steps per owned shard.
    private var steps: [Step] = []
    private var isUnderWay = false
    private var nextCheckpointMs: Int64 = 0
    private var lastTrimMs: Int64 = 0

    init(keys: Keys, settings: WorkerMachine.Settings) {
        self.keys = keys
        checkpointMs = settings.checkpointMs
        trimMs = settings.trimMs
        eventsAgeMaxMs = settings.eventsAgeMaxMs
    }

    /// Begins a round of what is due, unless one is in progress.
    /// - Returns: whether it begins; `nextCall` then returns its first call.
    mutating func begin(_ refresh: RefreshMachine, nowMs: Int64) -> Bool {
        guard !isUnderWay else { return false }
        isUnderWay = true
        var steps: [Step] = []
        if nowMs >= nextCheckpointMs {
            nextCheckpointMs = nowMs + checkpointMs
            steps = refresh.ownedShards.map { .checkpoint($0) }
        }
        if nowMs >= lastTrimMs + trimMs, nowMs > eventsAgeMaxMs {
            lastTrimMs = nowMs
            let oldest = StreamID(ms: UInt64(nowMs - eventsAgeMaxMs), sequence: 0)
            for shard in refresh.ownedShards {
                for stream in [keys.events(shard: shard.number), keys.control(shard: shard.number)] {
                    steps.append(.trim(shard, stream: stream, minimumID: oldest))
                }
            }
        }
        self.steps = steps.reversed()
        return true
    }

    /// Returns the next call of the round and skips shards that were given up since it began; nil ends the round.
    mutating func nextCall(
        _ refresh: RefreshMachine
    ) -> (call: WorkerMachine.BrokerCall, purpose: WorkerMachine.PendingCall)? {
        while let step = steps.popLast() {
            switch step {
            case .checkpoint(let shard):
                guard let id = unrecorded(of: shard, refresh), let epoch = refresh.epoch(of: shard) else { continue }
                return (checkpointCall(shard, epoch, id), .checkpoint(shard, epoch: epoch, id))
            case .trim(let shard, let stream, let minimumID):
                guard let epoch = refresh.epoch(of: shard) else { continue }
                let lease = keys.lease(shard: shard.number)
                return (.trim(stream: stream, minimumID: minimumID, lease: lease, epoch: epoch), .trim)
            }
        }
        isUnderWay = false
        return nil
    }

    /// Returns the position up to which events are applied, if it is not recorded yet.
    func unrecorded(of shard: ShardID, _ refresh: RefreshMachine) -> StreamID? {
        guard let id = refresh.lastEventID(of: shard), id != .zero, recorded[shard] != id else { return nil }
        return id
    }

    func checkpointCall(_ shard: ShardID, _ epoch: UInt64, _ id: StreamID) -> WorkerMachine.BrokerCall {
        .checkpoint(
            stream: keys.events(shard: shard.number), id: id, lease: keys.lease(shard: shard.number), epoch: epoch)
    }

    mutating func positionRecorded(_ id: StreamID, of shard: ShardID) { recorded[shard] = id }

    mutating func shardLost(_ shard: ShardID) { recorded[shard] = nil }
}
