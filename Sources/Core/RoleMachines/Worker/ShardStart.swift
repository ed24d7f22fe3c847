import LiveModel
import Streams

/// Begins to serve a shard whose lease was granted: catalogs → epoch → last event → history → end of control → nodes.
///
/// Its owner asks before every step whether the lease is still held under this epoch; if not, the start ends there.
struct ShardStart: Sendable {
    private enum Step: Sendable {
        case loadingCatalogs
        case readingEpoch
        case readingLastEvent
        case readingHistory(EventHistory)
        case readingControlEnd(EventHistory)
        case readingNodes(EventHistory, controlEnd: StreamID)
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
        case open(history: EventHistory, controlEnd: StreamID, nodes: [NodeRecord])
        case fail(String)
    }

    /// No deployment waits for a worker that was suspended or cut off; without the catalogs in service now it would
    /// refuse the new version's queries.
    func begin() -> Action { .loadCatalogs }

    mutating func catalogsLoaded() -> Action {
        guard case .loadingCatalogs = step else { preconditionFailure("catalogs loaded during \(step) of \(shard)") }
        step = .readingEpoch
        return .database(.readEpochs(shard))
    }

    /// Another owner, of a server that is gone, may have recorded its own epoch while this shard rested. Two things
    /// that `LeaseMachine` does rest on this: a worker that the server forgot and that asks again in time serves on
    /// without a rest (`mineUntilMs`), and a second grant does not begin the rest again (`granted(_:again:)`). A worker
    /// that was granted the shard in between finds here that it came too late.
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
            step = .readingNodes(history, controlEnd: controlEnd)
            return .broker(.nodes)
        case (.readingNodes(let history, let controlEnd), .nodes(let nodes)):
            return .open(history: history, controlEnd: controlEnd, nodes: nodes)
        case (.loadingCatalogs, _), (.readingEpoch, _), (.readingLastEvent, _), (.readingHistory, _),
            (.readingControlEnd, _), (.readingNodes, _):
            preconditionFailure("\(reply) does not answer \(step) of \(shard)")
        }
    }

    private mutating func read(_ history: EventHistory) -> Action {
        if let before = history.before {
            step = .readingHistory(history)
            return .broker(.newest(stream: events, before: before, limit: EventHistory.pageMax))
        }
        // What gateways announced before this point, they announce again on request.
        step = .readingControlEnd(history)
        return .broker(.lastID(stream: control))
    }
}
