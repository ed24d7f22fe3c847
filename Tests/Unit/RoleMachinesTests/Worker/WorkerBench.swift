import CEL
import JSON
import LiveModel
import Refresh
import RoleMachines
import Sharding
import Streams

/// A worker's machine with its clock, the calls it waits for, and what it had performed. Nothing happens between two
/// calls.
struct WorkerBench {
    enum Call {
        case broker(WorkerMachine.CallID, WorkerMachine.BrokerCall)
        case database(WorkerMachine.CallID, WorkerMachine.DatabaseCall)
        case catalogs(WorkerMachine.CallID)
    }

    static let me = NodeID("me")
    static let zero = ShardID(0)
    /// The calls of a start whose stream of events is empty, after the epoch was recorded.
    static let startCalls = [
        "loadCatalogs", "readEpochs 0", "lastID events 0", "lastID control 0", "unfollowedShards", "nodes",
    ]

    let keys: Keys
    var machine: WorkerMachine
    var nowMs: Int64 = 1_000_000
    /// The database's timeline.
    var timeline: String? = "1"
    var recorded: UInt64 = 5
    private(set) var open: [Call] = []
    private(set) var followed: [String: StreamID] = [:]
    private(set) var runs: [RunBatch] = []
    /// The calls that the runs answer.
    private(set) var runCalls: [WorkerMachine.CallID] = []
    /// The call that the last batch answers.
    private(set) var appendCall: WorkerMachine.CallID?
    private(set) var batches: [[InboxEntry]] = []
    private(set) var log: [String] = []
    private(set) var drainsEnded = 0
    private(set) var nodesWanted = 0

    init(shardCount: Int = 1, _ change: (inout WorkerMachine.Settings) -> Void = { _ in }) throws {
        var settings = WorkerMachine.Settings()
        change(&settings)
        keys = try Keys(namespace: "t")
        machine = WorkerMachine(
            node: Self.me, keys: keys, shardCount: shardCount, settings: settings
        ) { query throws(RequestError) in
            let any = Trigger(
                id: .init(operation: query.operation, version: query.version, number: 0), mutation: Self.mutation,
                condition: nil)
            return QueryRules(triggers: [any], lookupKeys: [], everyMs: nil, request: .map(MapValue([])))
        }
    }

    // MARK: Facts

    mutating func list(
        workers: [NodeID] = [me], gateways: Set<NodeID> = [NodeID("g")],
        unfollowed: UnfollowedShards = UnfollowedShards()
    ) {
        take(machine.nodesListed(workers: workers, gateways: gateways, unfollowed: unfollowed, nowMs: nowMs))
    }

    mutating func tick(afterMs: Int64 = 0, changes: WorkerMachine.ServerChanges = .init()) {
        nowMs += afterMs
        take(machine.ticked(changes, nowMs: nowMs))
    }

    /// Advances the time to the machine's own deadline.
    mutating func reachDeadline() {
        guard let deadlineMs = machine.nextDeadlineMs else { return }
        nowMs = max(nowMs, deadlineMs)
        take(machine.timeReached(nowMs: nowMs))
    }

    mutating func read(_ batches: [StreamBatch]) {
        var decoder = EventDecoder()
        for batch in machine.urgentFirst(batches) { take(machine.streamRead(batch, &decoder, nowMs: nowMs)) }
    }

    /// An event of the mutation that touches every live query.
    mutating func readEvent(_ ms: UInt64, shard: Int = 0) {
        read([StreamBatch(stream: keys.events(shard: shard), entries: [Self.event(ms)])])
    }

    mutating func announce(
        _ query: LiveQuery = query, shard: Int = 0, known: KnownResult? = nil, at ms: UInt64 = 1
    ) {
        let message = ControlMessage.announce(
            gateway: NodeID("g"), query: query, known: known, announcement: AnnouncementID())
        let entry = StreamEntry(
            id: StreamID(ms: ms, sequence: 0), fields: message.fields.map { (name: $0.0, value: $0.1) })
        read([StreamBatch(stream: keys.control(shard: shard), entries: [entry])])
    }

    /// The oldest run gives a body for each of its live queries.
    mutating func finishRun(_ body: String) {
        let batch = runs.removeFirst()
        let outcome = RunOutcome.result(
            digest: Digest(of: body.utf8), OperationAnswer(body: Array(body.utf8)))
        take(machine.runFinished(runCalls.removeFirst(), batch.items.map { _ in outcome }, nowMs: nowMs))
    }

    /// The last batch was appended, or `problem` says why not.
    mutating func batchAppended(problem: String? = nil) {
        guard let appendCall else { fatalError("no batch was to be appended") }
        batchAppended(appendCall, problem: problem)
    }

    mutating func batchAppended(_ call: WorkerMachine.CallID, problem: String? = nil) {
        take(machine.batchAppended(call, problem: problem, nowMs: nowMs))
    }

    mutating func finishRun(_ call: WorkerMachine.CallID, _ outcomes: [RunOutcome]) {
        take(machine.runFinished(call, outcomes, nowMs: nowMs))
    }

    mutating func drain() { take(machine.drain(nowMs: nowMs)) }

    // MARK: Answers

    /// The open calls, oldest first.
    var calls: [String] { open.map(Self.name) }

    mutating func answer(_ reply: WorkerMachine.BrokerReply) {
        guard case .broker(let id, _) = open.removeFirst() else { fatalError("no call of the broker") }
        take(machine.brokerAnswered(id, reply, nowMs: nowMs))
    }

    mutating func answer(_ reply: WorkerMachine.DatabaseReply) {
        guard case .database(let id, _) = open.removeFirst() else { fatalError("no call of the database") }
        take(machine.databaseAnswered(id, reply, timeline: timeline, nowMs: nowMs))
    }

    /// The oldest call succeeds: no other node wants anything, and streams are empty.
    mutating func succeed() {
        switch open[0] {
        case .broker(_, let call):
            switch call {
            case .lastID: answer(.lastID(.zero))
            case .newest: answer(.entries([]))
            case .nodes: answer(.nodes([]))
            case .requestLease(_, _, _, _, let epoch): answer(.lease(.granted(Self.grant(epoch))))
            case .unfollowedShards: answer(.unfollowed([]))
            case .renewLease, .releaseLease, .checkpoint, .trim, .wakeWorkers, .changeOverrides, .appendResyncMarker:
                answer(.done(true))
            }
        case .database(_, .readEpochs): answer(.epochs(recorded: recorded, clockMs: recorded))
        case .database(_, .recordEpoch(let epoch, _)):
            recorded = epoch
            answer(.recorded(true))
        case .catalogs: loadCatalogs(problem: nil)
        }
    }

    private mutating func loadCatalogs(problem: String?) {
        guard case .catalogs(let id) = open.removeFirst() else { fatalError("no catalogs are loaded") }
        take(machine.catalogsLoaded(id, problem: problem, nowMs: nowMs))
    }

    /// The oldest call fails.
    mutating func fail() {
        switch open[0] {
        case .broker: answer(WorkerMachine.BrokerReply.failed("cut off"))
        case .database: answer(WorkerMachine.DatabaseReply.failed("cut off"))
        case .catalogs: loadCatalogs(problem: "cut off")
        }
    }

    /// The oldest call is answered later, if at all.
    mutating func postpone() -> Call { open.removeFirst() }

    mutating func answerLate(_ call: Call) {
        open.insert(call, at: 0)
        succeed()
    }

    /// The worker's shards are listed, granted, recorded, started.
    mutating func serve(lastEvent: StreamID = .zero) {
        list()
        while !open.isEmpty {
            if calls[0].hasPrefix("lastID events") { answer(.lastID(lastEvent)) } else { succeed() }
        }
    }

    // MARK: Effects

    private mutating func take(_ effects: [WorkerMachine.Effect]) {
        for effect in effects {
            switch effect {
            case .broker(let id, let call): open.append(.broker(id, call))
            case .database(let id, let call): open.append(.database(id, call))
            case .loadCatalogs(let id): open.append(.catalogs(id))
            case .run(let id, let batch):
                runs.append(batch)
                runCalls.append(id)
            case .append(let id, let entries):
                batches.append(entries)
                appendCall = id
            case .follow(let stream, let cursor, _): followed[stream] = cursor
            case .unfollow(let stream): followed[stream] = nil
            case .readNodes: nodesWanted += 1
            case .log(let line): log.append(line.message)
            case .endDrain: drainsEnded += 1
            }
        }
    }

    /// The kinds of messages sent since the last look, one list a batch.
    mutating func takeSent() -> [[String]] {
        defer { batches = [] }
        return batches.map { batch in
            batch.flatMap(\.messages).map { message in
                switch message {
                case .result(_, _, let result, _): String(decoding: result.answer.body, as: UTF8.self)
                case .unchanged: "unchanged"
                case .unchangedTick: "ticked"
                case .failed(_, _, _, let error, _): error.code.rawValue
                case .announceAll(let shard, let epoch): "announceAll \(shard) \(epoch)"
                case .settled: "settled"
                case .marker(_, _, let marker): "marker \(marker.entry)"
                case .ticket(_, _, let number): "ticket \(number)"
                }
            }
        }
    }

    // MARK: Values

    static let mutation = OperationReference(connector: "c", operation: "M")
    static let query = LiveQuery(
        operation: OperationReference(connector: "c", operation: "Q"), version: Digest(of: [1]), variables: [:],
        auth: nil)

    static func grant(_ epoch: UInt64, knownForMs: Int64 = .max) -> LeaseGrant {
        LeaseGrant(epoch: epoch, serverEpoch: 1, basisEpoch: 1, server: "redis", knownForMs: knownForMs)
    }

    /// An event that no rule heeds.
    static func unrelatedEvent(_ ms: UInt64) -> StreamEntry {
        event(ms, of: OperationReference(connector: "c", operation: "Other"))
    }

    static func event(_ ms: UInt64, of mutation: OperationReference = mutation) -> StreamEntry {
        let event = MutationEvent(
            id: "\(ms)", operation: mutation, variables: [:], auth: .null, keysWritten: [], traceID: "t",
            committedAtMs: 1)
        return StreamEntry(id: StreamID(ms: ms, sequence: 0), fields: [(name: "e", value: event.encoded)])
    }

    private static func name(_ call: Call) -> String {
        func short(_ key: String) -> String {
            let parts = key.split(whereSeparator: { ":}".contains($0) })
            return "\(parts[parts.count - 1]) \(parts[parts.count - 2])"
        }
        switch call {
        case .catalogs: return "loadCatalogs"
        case .database(_, .readEpochs(let shard)): return "readEpochs \(shard)"
        case .database(_, .recordEpoch(let epoch, let shard)): return "recordEpoch \(epoch) of \(shard)"
        case .broker(_, let call):
            switch call {
            case .lastID(let stream): return "lastID \(short(stream))"
            case .newest(let stream, let before, let limit): return "newest \(short(stream)) before \(before) \(limit)"
            case .nodes: return "nodes"
            case .requestLease(_, _, _, let basis, let epoch): return "requestLease \(epoch) on \(basis)"
            case .renewLease(_, _, let epoch, _): return "renewLease \(epoch)"
            case .releaseLease(_, _, let epoch): return "releaseLease \(epoch)"
            case .checkpoint(let stream, let id, _, let epoch): return "checkpoint \(short(stream)) \(id) by \(epoch)"
            case .trim(let stream, let id, _, let epoch): return "trim \(short(stream)) below \(id) by \(epoch)"
            case .wakeWorkers: return "wakeWorkers"
            case .unfollowedShards: return "unfollowedShards"
            case .changeOverrides(let changes):
                return changes.map { "\($0.field) = \($0.value ?? "none")" }.joined(separator: ", ")
            case .appendResyncMarker(let stream): return "resync \(short(stream))"
            }
        }
    }
}
