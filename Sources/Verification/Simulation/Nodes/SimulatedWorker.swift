import Broker
import Streams
import FanoutWorker
import LiveModel
import Refresh
import Sharding

/// The worker's shell over simulated time: the same calls in the same order as in `FanoutWorker`. What it decides is
/// `RefreshMachine` with its reading of streams, `LeaseMachine`, `EventHistory` and `BatchQueue`.
final class SimulatedWorker: Process {
    private typealias Outgoing = (gateway: NodeID, message: InboxMessage)

    static let outgoingBytesMax = 20_000
    static let eventsAgeMaxMs: Int64 = 20_000

    var machine = RefreshMachine(settings: .init()) { _ throws(RequestError) in
        throw RequestError(.unavailable, "not started")
    }
    var leases = LeaseMachine(me: NodeID(""), shardCount: 0, settings: .init())
    var gateways: Set<NodeID> = []
    lazy var follower = StreamFollower(self) { [unowned self] in arrived($0) }
    var shardOfStream: [String: (shard: ShardID, isEvents: Bool)] = [:]
    private var outgoing = BatchQueue<Outgoing>(bytesMax: 0, batchBytesMax: 0)
    private var timerAtMs: Int64?
    var leaseTimerMs: Int64?
    var isDraining = false
    var lastTrimMs: Int64 = 0
    private var serverChangesKnown = 0
    var released: [ShardID: StreamID] = [:]
    var grants: [ShardID: LeaseGrant] = [:]
    /// Live queries whose statement is under way.
    private var running: Set<Int32> = []

    var outgoingBytes: Int { outgoing.bytes }
    var me: NodeID { NodeID(name) }
    var keys: Keys { world.redis.keys }
    var isUnchecked: Bool { world.sabotage == .epochsByTheClock || world.sabotage == .epochsNotRecorded }

    static var leaseSettings: LeaseMachine.Settings { LeaseMachine.Settings() }

    override func started() {
        let (workload, release) = (world.workload, release)
        machine = RefreshMachine(settings: world.refreshSettings) { query throws(RequestError) in
            try workload.rules(of: query, release: release)
        }
        var leaseSettings = Self.leaseSettings
        if world.sabotage == .formerOwnersForgotten { leaseSettings.holdOffMs = 0 }
        if world.sabotage == .serveAfterExpiry { leaseSettings.marginMs = -60_000 }
        leases = LeaseMachine(me: me, shardCount: Workload.shardCount, settings: leaseSettings)
        follower = StreamFollower(self) { [unowned self] in arrived($0) }
        outgoing = BatchQueue(bytesMax: Self.outgoingBytesMax, batchBytesMax: 4_000)
        (gateways, shardOfStream, running, released, grants) = ([], [:], [], [:], [:])
        (timerAtMs, leaseTimerMs, isDraining, lastTrimMs, serverChangesKnown) = (nil, nil, false, 0, 0)
        heartbeat()
        every(1_000) { [self] in heartbeat() }
        every(500) { [self] in
            noticeServerChange()
            if !isDraining { perform(leases.tick(nowMs: nowMs)) }
            checkpoint()
        }
    }

    /// Shards are handed over, then the process ends.
    override func drain() {
        guard isUp, !isDraining else { return }
        isDraining = true
        call { [me] in
            $0.withdraw(me)
        } then: { [self] _ in
            perform(leases.drain(nowMs: nowMs))
        }
        later(1_000) { [self] in kill() }
    }

    override func poke(_ stream: String?) {
        if stream.map({ shardOfStream[$0] != nil }) ?? true { follower.poke() }
    }

    private func heartbeat() {
        guard !isDraining else { return }
        let record = NodeRecordPayload(
            id: me, roles: ["worker"], address: "", adminAddress: "", version: "\(release)", startedAtMs: nowMs,
            isDraining: false, load: 0)
        call { redis in
            redis.announce(record, ttlMs: 5_000)
            return redis.nodes(livingAtMost: 20_000)
        } then: { [self] nodes in
            guard let nodes, !isDraining else { return }
            gateways = Set(nodes.filter { $0.roles.contains("gateway") }.map(\.id))
            perform(machine.gatewaysRead(gateways).actions)
            let workers = nodes.filter { $0.roles.contains("worker") && !$0.isDraining }.map(\.id)
            perform(leases.workersChanged(workers, nowMs: nowMs))
        }
    }

    private func noticeServerChange() {
        guard world.noticesServers, serverChanges != serverChangesKnown else { return }
        serverChangesKnown = serverChanges
        perform(machine.serverChanged(gateways: gateways.sorted(), nowMs: nowMs))
    }

    // MARK: Streams

    private func arrived(_ batch: StreamBatch) {
        guard let (shard, isEvents) = shardOfStream[batch.stream] else { return }
        world.note("\(name) reads \(batch.stream) \(batch.signal.map { "\($0)" } ?? "") \(batch.entries.map(\.id))")
        let signal = world.sabotage == .historyTrustedAfterLoss ? nil : batch.signal
        if isEvents {
            // The wrong way: an event that finds a run in flight counts as covered by it.
            let isCovered = world.sabotage == .noDirtyMark && !running.isEmpty
            let entries = isCovered ? [] : batch.entries
            var decoder = EventDecoder()
            perform(machine.eventsRead(shard, signal: signal, entries: entries, decoder: &decoder, nowMs: nowMs))
        } else if world.sabotage == .queryBeforeRegister {
            for entry in batch.entries { registerLate(shard, entry) }
        } else {
            perform(
                machine.controlRead(
                    shard, signal: signal, entries: batch.entries, gateways: gateways.sorted(), nowMs: nowMs))
        }
    }

    /// The wrong order: read first, enter the index afterwards, and answer with what was read.
    private func registerLate(_ shard: ShardID, _ entry: StreamEntry) {
        guard let message = try? ControlMessage(fields: entry.fields.map { ($0.name, $0.value) }),
            case .announce(let gateway, let query, _, let ask) = message
        else {
            return perform(
                machine.controlRead(shard, signal: nil, entries: [entry], gateways: gateways.sorted(), nowMs: nowMs))
        }
        let body = world.postgres.result(of: query)
        later(timeline.pick(5...60)) { [self] in
            let known = KnownResult(digest: Digest(of: body), position: nil)
            let announced = ControlMessage.announce(gateway: gateway, query: query, known: known, ask: ask)
            for action in machine.controlArrived(shard, announced, nowMs: nowMs) {
                guard case .run(let batch) = action else {
                    perform([action])
                    continue
                }
                let outcomes = batch.items.map { item in
                    item.query == query
                        ? RunOutcome.result(digest: Digest(of: [0]), OperationAnswer(body: body)) : .unchanged
                }
                later(1) { [self] in perform(machine.runFinished(batch, outcomes, nowMs: nowMs)) }
            }
        }
    }

    // MARK: Actions

    func perform(_ actions: [RefreshAction]) {
        for action in actions {
            switch action {
            case .run(let batch): run(batch)
            case .send(let gateway, let message): send(message, to: gateway)
            case .replay(let page):
                let stream = keys.events(shard: page.shard.number)
                call {
                    $0.newest(stream, before: page.before, limit: page.limit)
                } then: { [self] entries in
                    world.note("\(name) replays \(page.shard) before \(page.before): \(entries?.count ?? -1)")
                    var entries = entries
                    if world.sabotage == .replayHole, let page = entries, page.count > 1 {
                        entries?[1] = StreamEntry(id: page[1].id, fields: page[0].fields)
                    }
                    perform(machine.replayRead(page, entries, nowMs: nowMs))
                }
            }
        }
        armTimer()
    }

    private func run(_ batch: RunBatch) {
        for item in batch.items where !running.insert(item.slot).inserted {
            world.violated("two runs of one live query in flight at \(name)")
        }
        statement { [self] postgres in
            batch.items.map { item -> RunOutcome in
                let body = postgres.result(of: item.query)
                world.checks.read(item.query.key, item.shard, item.position, body, by: name)
                let digest = Digest(of: body)
                return digest == item.knownDigest ? .unchanged : .result(digest: digest, OperationAnswer(body: body))
            }
        } then: { [self] answer in
            running.subtract(batch.items.map(\.slot))
            var outcomes = batch.items.map { _ in RunOutcome.failed(RequestError(.unavailable, "Postgres is away")) }
            if case .done(let read) = answer { outcomes = world.sabotage == .swappedOutcomes ? read.reversed() : read }
            if world.sabotage != .lateResultsUsed {
                for case .stop(let shard, let epoch) in leases.expired(nowMs: nowMs) { stop(shard, epoch) }
            }
            perform(machine.runFinished(batch, outcomes, nowMs: nowMs))
        }
    }

    private func send(_ message: InboxMessage, to gateway: NodeID) {
        var message = message
        if world.sabotage == .settledAhead,
            case .settled(let shard, let epoch, let through, let except, let held) = message
        {
            let later = StreamID(ms: through.ms + 3_000, sequence: 0)
            message = .settled(shard: shard, epoch: epoch, through: later, except: except, held: held)
        }
        world.note("\(name) -> \(gateway) \(message.short)")
        if case .result(let shard, let key, let result, _) = message { world.checks.used(key, shard, result.position) }
        switch outgoing.offer((gateway, message), bytes: message.fields.reduce(0) { $0 + $1.1.count }) {
        case .begin: later(0) { [self] in flush() }
        case .queued: break
        case .full: perform(machine.sendFailed(gateway, [message.key].compactMap { $0 }, nowMs: nowMs))
        }
    }

    private func flush() {
        let flight = outgoing.nextBatch()
        if flight.isEmpty { return }
        // A connection that ends in between leaves the first ones appended.
        let appended = world.isTrouble && timeline.chance(3) ? flight.dropLast() : flight[...]
        call { redis in
            for (gateway, message) in appended {
                redis.append(
                    redis.keys.inbox(gateway: gateway.name), message.fields, lengthMax: World.inboxLengthMax)
            }
        } then: { [self] answer in
            if answer == nil || appended.count < flight.count {
                for (gateway, messages) in Dictionary(grouping: flight, by: \.gateway).sorted(by: { $0.key < $1.key }) {
                    perform(machine.sendFailed(gateway, messages.compactMap(\.message.key), nowMs: nowMs))
                }
            }
            flush()
        }
    }

    private func armTimer() {
        guard let deadlineMs = machine.nextDeadlineMs else { return }
        if let timerAtMs, timerAtMs <= deadlineMs { return }
        timerAtMs = deadlineMs
        later(max(0, deadlineMs - nowMs)) { [self] in
            guard timerAtMs == deadlineMs else { return }
            timerAtMs = nil
            perform(machine.timeReached(nowMs: max(nowMs, deadlineMs)))
        }
    }
}
