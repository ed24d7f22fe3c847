import LiveModel
import Streams

/// Begins to serve a shard whose lease was granted: catalogs → epoch → last event → history → end of control
/// → marks of unfollowed shards → nodes.
///
/// Before every step the owner checks whether the lease is still held under this epoch; if not, the start ends.
struct ShardStart: Sendable {
    private enum Step: Sendable {
        case loadingCatalogs
        case readingEpoch
        case readingLastEvent
        case readingHistory(EventHistory)
        case readingControlEnd(EventHistory)
        case readingUnfollowed(EventHistory, controlEnd: StreamID)
        case readingNodes(EventHistory, controlEnd: StreamID, isUnfollowed: Bool)
    }

    let shard: ShardID
    let epoch: UInt64
    private let events: String
    private let control: String
    private let historyMax: Int
    private let historyBytesMax: Int
    private var step = Step.loadingCatalogs

    init(_ shard: ShardID, epoch: UInt64, keys: Keys, historyMax: Int, historyBytesMax: Int) {
        self.shard = shard
        self.epoch = epoch
        self.historyMax = historyMax
        self.historyBytesMax = historyBytesMax
        events = keys.events(shard: shard.number)
        control = keys.control(shard: shard.number)
    }

    enum Action: Sendable {
        case loadCatalogs
        case database(WorkerMachine.DatabaseCall)
        case broker(WorkerMachine.BrokerCall)
        case open(history: EventHistory, controlEnd: StreamID, isUnfollowed: Bool, nodes: [NodeRecord])
        case fail(String)
    }

    /// Loads the catalogs first: deployments do not wait for a suspended or disconnected worker, and with outdated
    /// catalogs it would refuse the new version's queries.
    func begin() -> Action { .loadCatalogs }

    mutating func catalogsLoaded(problem: String?) -> Action {
        guard case .loadingCatalogs = step else { preconditionFailure("catalogs loaded during \(step) of \(shard)") }
        if let problem { return .fail("the catalogs could not be loaded: \(problem)") }
        step = .readingEpoch
        return .database(.readEpochs(shard))
    }

    /// Continues the start if the database still records this start's epoch.
    ///
    /// While the shard was paused, a worker that a previous Redis server granted the lease may have recorded its own
    /// epoch. `LeaseMachine` relies on this check in two cases: a worker whose lease the server forgot, and that
    /// requests it again in time, continues without a pause (`mineUntilMs`); and a second grant does not restart the
    /// pause (`grantedLate`). A worker that was granted the shard in between finds a newer epoch here.
    mutating func databaseAnswered(_ reply: WorkerMachine.DatabaseReply) -> Action {
        guard case .readingEpoch = step else { preconditionFailure("\(reply) does not answer \(step) of \(shard)") }
        switch reply {
        case .epochs(let recorded, _) where recorded == epoch:
            step = .readingLastEvent
            return .broker(.lastID(stream: events))
        case .epochs: return .fail("a newer epoch was recorded")
        case .failed(let problem): return .fail(problem)
        case .recorded: preconditionFailure("\(reply) does not answer \(step) of \(shard)")
        }
    }

    mutating func brokerAnswered(_ reply: WorkerMachine.BrokerReply) -> Action {
        switch (step, reply) {
        case (_, .failed(let problem)): return .fail(problem)
        case (.readingLastEvent, .lastID(let lastID)):
            return read(EventHistory(lastID: lastID, countMax: historyMax, bytesMax: historyBytesMax))
        case (.readingHistory(var history), .entries(let page)):
            history.add(page)
            return read(history)
        case (.readingControlEnd(let history), .lastID(let controlEnd)):
            // After the lease was granted, so that only a late write of a former owner can mark the shard unseen.
            step = .readingUnfollowed(history, controlEnd: controlEnd)
            return .broker(.unfollowedShards)
        case (.readingUnfollowed(let history, let controlEnd), .unfollowed(let shards)):
            step = .readingNodes(history, controlEnd: controlEnd, isUnfollowed: shards.contains(shard))
            return .broker(.nodes)
        case (.readingNodes(let history, let controlEnd, let isUnfollowed), .nodes(let nodes)):
            return .open(history: history, controlEnd: controlEnd, isUnfollowed: isUnfollowed, nodes: nodes)
        case (.loadingCatalogs, _), (.readingEpoch, _), (.readingLastEvent, _), (.readingHistory, _),
            (.readingControlEnd, _), (.readingUnfollowed, _), (.readingNodes, _):
            preconditionFailure("\(reply) does not answer \(step) of \(shard)")
        }
    }

    private mutating func read(_ history: EventHistory) -> Action {
        if let before = history.before {
            step = .readingHistory(history)
            return .broker(.newest(stream: events, before: before, limit: EventHistory.pageMax))
        }
        // Gateways repeat on request what they announced before this point.
        step = .readingControlEnd(history)
        return .broker(.lastID(stream: control))
    }
}
