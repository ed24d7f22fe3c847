import LiveModel
import Refresh
import RoleMachines
import Sharding
import Streams

/// The second performer of `WorkerMachine`, over simulated time: calls are delayed, reordered and lost, answers come twice
/// or late, the process stops in between. What is decided is decided by the machine that ships; a deliberate mistake
/// changes its settings, its facts or its effects (`SimulatedWorker+Mistakes.swift`).
final class SimulatedWorker: Process {
    private(set) lazy var machine = newMachine()
    private lazy var follower = StreamFollower(self) { [unowned self] in arrived([$0]) }
    private var followed: Set<String> = []
    private var timerAtMs: Int64?
    private var isDraining = false
    private var isHeartbeatDue = false
    /// Live queries whose statement is under way.
    private(set) var running: Set<Int32> = []
    /// What was read before the live query was registered, by mistake.
    var readEarly: [LiveQueryKey: [UInt8]] = [:]

    var me: NodeID { NodeID(name) }

    private func newMachine() -> WorkerMachine {
        let (workload, release) = (world.workload, release)
        return WorkerMachine(
            node: me, keys: world.redis.keys, shardCount: Workload.shardCount, settings: settings
        ) { query throws(RequestError) in
            try workload.rules(of: query, release: release)
        }
    }

    private var settings: WorkerMachine.Settings {
        var settings = WorkerMachine.Settings()
        settings.refresh = world.refreshSettings
        settings.eventsAgeMaxMs = 20_000
        settings.trimMs = 5_000
        settings.inboxLengthMax = World.inboxLengthMax
        settings.outgoingBytesMax = World.outgoingBytesMax
        settings.batchBytesMax = 4_000
        makeMistakes(in: &settings)
        return settings
    }

    // MARK: Facts

    override func started() {
        machine = newMachine()
        follower = StreamFollower(self) { [unowned self] in arrived([$0]) }
        (followed, running, readEarly) = ([], [], [:])
        (timerAtMs, isDraining, isHeartbeatDue) = (nil, false, false)
        perform(machine.started())
        heartbeat()
        every(1_000) { [self] in heartbeat() }
        every(settings.tickMs) { [self] in
            connectToPostgres()
            let changes = (world.noticesServers ? serverChanges : 0) + databaseChanges
            perform(machine.ticked(serverChanges: changes, nowMs: nowMs))
        }
    }

    /// Shards are handed over, then the process ends; its supervisor does not wait for long.
    override func drain() {
        guard isUp, !isDraining else { return }
        isDraining = true
        call { [me] in
            $0.withdraw(me)
        } then: { [self] _ in
            perform(machine.drain(nowMs: nowMs))
        }
        later(1_000) { [self] in kill() }
    }

    override func poke(_ stream: String?) {
        if stream.map(followed.contains) ?? true { follower.poke() }
    }

    private func heartbeat() {
        isHeartbeatDue = false
        guard !isDraining else { return }
        let record = NodeRecordPayload(
            id: me, roles: ["worker"], address: "", adminAddress: "", version: "\(release)", startedAtMs: nowMs,
            isDraining: false, load: 0)
        call { [me] redis in
            if redis.announce(record, ttlMs: 5_000) { redis.tellNews(of: me) }
            return redis.nodes(livingAtMost: 20_000)
        } then: { [self] nodes in
            guard let nodes, !isDraining else { return }
            let workers = nodes.filter { $0.roles.contains("worker") && !$0.isDraining }.map(\.id)
            let gateways = Set(nodes.filter { $0.roles.contains("gateway") }.map(\.id))
            perform(machine.nodesListed(workers: workers, gateways: gateways, nowMs: nowMs))
        }
    }

    private func arrived(_ batches: [StreamBatch]) {
        for batch in batches {
            world.note("\(name) reads \(batch.stream) \(batch.signal.map { "\($0)" } ?? "") \(batch.entries.map(\.id))")
        }
        guard let batches = mistaken(batches) else { return }
        streamsRead(batches)
    }

    func streamsRead(_ batches: [StreamBatch]) {
        var decoder = EventDecoder()
        for batch in machine.urgentFirst(batches) { perform(machine.streamRead(batch, &decoder, nowMs: nowMs)) }
    }

    /// Now and then an answer comes again: whoever waited for it is gone.
    private func answered(_ answer: @escaping () -> [WorkerMachine.Effect]) {
        perform(answer())
        if world.isTrouble, timeline.chance(1) {
            later(timeline.pick(0...900)) { [self] in perform(answer()) }
        }
    }

    // MARK: Effects

    private func perform(_ effects: [WorkerMachine.Effect]) {
        for effect in effects { perform(effect) }
        guard let deadlineMs = machine.nextDeadlineMs, deadlineMs < timerAtMs ?? .max else { return }
        timerAtMs = deadlineMs
        later(max(0, deadlineMs - nowMs)) { [self] in
            guard timerAtMs == deadlineMs else { return }
            timerAtMs = nil
            perform(machine.timeReached(nowMs: max(nowMs, deadlineMs)))
        }
    }

    /// Calls are made at once but not in the same instant, as by concurrent tasks.
    private func perform(_ effect: WorkerMachine.Effect) {
        switch effect {
        case .broker(let id, let request):
            later(timeline.pick(0...3)) { [self] in
                world.note("\(name) \(id) \(request)")
                call {
                    $0.answer(request)
                } then: { [self] reply in
                    let reply = mistaken(reply ?? .failed("cut off"))
                    world.note("\(name) \(id) answered \(reply.short)")
                    answered { [self] in machine.brokerAnswered(id, reply, nowMs: nowMs) }
                }
            }
        case .database(let id, let request):
            later(timeline.pick(0...3)) { [self] in ask(id, request) }
        case .loadCatalogs(let id):
            let isSlow = world.isTrouble && timeline.chance(5)
            later(isSlow ? timeline.pick(500...6_000) : timeline.pick(0...5)) { [self] in
                answered { [self] in machine.catalogsLoaded(id, nowMs: nowMs) }
            }
        case .run(let batch): run(batch)
        case .append(let messages): append(mistaken(messages))
        case .follow(let stream, let cursor, let server):
            followed.insert(stream)
            follower.follow(stream, after: cursor, server: server)
        case .unfollow(let stream):
            followed.remove(stream)
            follower.unfollow(stream)
        case .readNodes:
            if !isHeartbeatDue { later(3) { [self] in heartbeat() } }
            isHeartbeatDue = true
        case .log(let line): world.note("\(name): \(line.message) \(line.metadata.sorted { $0.key < $1.key })")
        case .endDrain: later(timeline.pick(0...50)) { [self] in kill() }
        }
    }

    private func ask(_ id: WorkerMachine.CallID, _ request: WorkerMachine.DatabaseCall) {
        world.note("\(name) \(id) \(request)")
        statement { [self] postgres in
            let reply = mistaken(postgres.answer(request), to: request)
            // The last thing that is looked at before a shard is served.
            if case .readEpochs(let shard) = request, case .epochs(let recorded, _) = reply,
                machine.leases.epoch(of: shard) == recorded
            {
                world.checks.granted(shard, recorded, me)
            }
            return reply
        } then: { [self] outcome in
            var reply = WorkerMachine.DatabaseReply.failed("Postgres is away")
            if case .done(let answer) = outcome { reply = answer }
            let timeline = databaseTimeline
            world.note("\(name) \(id) answered \(reply)")
            answered { [self] in machine.databaseAnswered(id, reply, timeline: timeline, nowMs: nowMs) }
        }
    }

    private func run(_ batch: RunBatch) {
        for item in batch.items where !running.insert(item.slot).inserted {
            world.violated("two runs of one live query in flight at \(name)")
        }
        let begunMs = nowMs
        statement { [self] postgres in
            batch.items.map { item -> RunOutcome in
                let body = readEarly.removeValue(forKey: item.query.key) ?? postgres.result(of: item.query)
                world.checks.read(item.query.key, item.shard, item.position, body, by: name)
                let digest = Digest(of: body)
                return digest == item.knownDigest ? .unchanged : .result(digest: digest, OperationAnswer(body: body))
            }
        } then: { [self] answer in
            running.subtract(batch.items.map(\.slot))
            var outcomes = batch.items.map { _ in RunOutcome.failed(RequestError(.unavailable, "Postgres is away")) }
            if case .done(let read) = answer { outcomes = mistaken(read) }
            let endedMs = world.sabotage == .lateResultsUsed ? begunMs : nowMs
            perform(machine.runFinished(batch, outcomes, nowMs: endedMs))
        }
    }

    private func append(_ messages: [OutgoingMessage]) {
        for message in messages {
            world.note("\(name) -> \(message.gateway) \(message.message.short)")
            if case .result(let shard, let key, let result, _) = message.message {
                world.checks.used(key, shard, result.position)
            }
        }
        // A connection that ends in between leaves the first ones appended.
        let appended = world.isTrouble && timeline.chance(3) ? messages.dropLast() : messages[...]
        call { redis in
            for message in appended {
                redis.append(message.append.stream, message.message.fields, lengthMax: World.inboxLengthMax)
            }
        } then: { [self] answer in
            let isWhole = answer != nil && appended.count == messages.count
            perform(machine.batchAppended(problem: isWhole ? nil : "cut off", nowMs: nowMs))
        }
    }
}
