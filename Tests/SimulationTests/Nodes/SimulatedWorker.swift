import LiveModel
import Refresh
import Sharding

/// The worker's shell: the same order of calls as in FanoutWorker, over simulated time.
final class SimulatedWorker: Process {
    private(set) var machine = RefreshMachine(settings: .init()) { _ in fatalError("not started") }
    private var leases = LeaseMachine(me: NodeID(""), shardCount: 0, settings: .init())
    private var gateways: Set<NodeID> = []
    private lazy var reader = StreamReader(self) { [unowned self] in arrived($0, $1, $2) }
    private var shardOfStream: [String: ShardID] = [:]
    private var outgoing: [(gateway: NodeID, message: InboxMessage)] = []
    private var isSending = false
    private var timerAtMs: Int64?
    private var isDraining = false
    private let leaseSettings = LeaseMachine.Settings()
    /// Live queries whose statement is under way.
    private var running: Set<Int32> = []

    private var me: NodeID { NodeID(name) }

    override func started() {
        let workload = world.workload
        machine = RefreshMachine(settings: World.refreshSettings) { workload.rules(of: $0) }
        leases = LeaseMachine(me: me, shardCount: Workload.shardCount, settings: leaseSettings)
        reader = StreamReader(self) { [unowned self] in arrived($0, $1, $2) }
        (gateways, shardOfStream, outgoing, running) = ([], [:], [], [])
        (isSending, timerAtMs, isDraining) = (false, nil, false)
        heartbeat()
        every(1_000) { [self] in heartbeat() }
        every(500) { [self] in if !isDraining { perform(leases.tick(nowMs: nowMs)) } }
    }

    /// SIGTERM: shards are handed over, then the process ends and comes back.
    func drainAndRestart(afterMs: Int64) {
        guard isUp, !isDraining else { return }
        isDraining = true
        perform(leases.drain(nowMs: nowMs))
        call { [me] in
            $0.withdraw(me)
        } then: { _ in
        }
        later(1_000) { [self] in
            kill()
            timeline.after(afterMs) { [self] in start() }
        }
    }

    func poke(_ stream: String?) { reader.poke(stream) }

    private func heartbeat() {
        guard !isDraining else { return }
        call { [me] broker in
            broker.announce(me, role: "worker", ttlMs: 5_000)
            return (broker.nodes(role: "worker"), Set(broker.nodes(role: "gateway")))
        } then: { [self] answer in
            guard let (workers, gateways) = answer, !isDraining else { return }
            machine.gatewaysListed(gateways)
            self.gateways = gateways
            perform(leases.workersChanged(workers, nowMs: nowMs))
        }
    }

    // MARK: Leases

    /// Performed at once but not in the same instant, as by concurrent tasks.
    private func perform(_ actions: [LeaseMachine.Action]) {
        for action in actions { later(timeline.pick(0...3)) { [self] in perform(action) } }
    }

    private func perform(_ action: LeaseMachine.Action) {
        let sentMs = nowMs
        let ttlMs = leaseSettings.ttlMs
        switch action {
        case .acquire(let shard):
            call { [me] in
                $0.acquire(shard, owner: me, ttlMs: ttlMs)
            } then: { [self] answer in
                perform(leases.leaseAnswered(shard, epoch: answer ?? nil, sentMs: sentMs, nowMs: nowMs))
            }
        case .renew(let shard, let epoch):
            call {
                $0.renew(shard, epoch: epoch, ttlMs: ttlMs)
            } then: { [self] isHeld in
                perform(
                    leases.renewalAnswered(shard, epoch: epoch, isHeld: isHeld, sentMs: sentMs, nowMs: nowMs))
            }
        case .start(let shard, let epoch): start(shard, epoch)
        case .stop(let shard, _): stop(shard)
        case .release(let shard, let epoch):
            stop(shard)
            call {
                $0.release(shard, epoch: epoch)
            } then: { _ in
            }
        }
    }

    private func start(_ shard: ShardID, _ epoch: UInt64) {
        call { broker in
            (
                broker.entries(of: "events:\(shard)"), broker.lastID(of: "events:\(shard)"),
                broker.lastID(of: "control:\(shard)"), broker.nodes(role: "gateway")
            )
        } then: { [self] answer in
            guard let (entries, lastID, controlEnd, gateways) = answer else {
                stop(shard)
                return perform(leases.startFailed(shard, epoch: epoch))
            }
            guard leases.held[shard] == epoch else { return }
            let history = entries.suffix(World.refreshSettings.historyMax).compactMap { entry in
                (try? MutationEvent(encoded: entry.fields[0].1)).map { (entry.id, $0) }
            }
            machine.shardAcquired(shard, epoch: epoch, lastEventID: lastID, history: history, nowMs: nowMs)
            shardOfStream["events:\(shard)"] = shard
            shardOfStream["control:\(shard)"] = shard
            reader.follow("events:\(shard)", after: lastID)
            reader.follow("control:\(shard)", after: controlEnd)
            ask(gateways, shard, epoch)
        }
    }

    private func ask(_ gateways: [NodeID], _ shard: ShardID, _ epoch: UInt64) {
        perform(gateways.map { .send(to: $0, .announceAll(shard: shard, epoch: epoch)) })
    }

    private func stop(_ shard: ShardID) {
        for stream in ["events:\(shard)", "control:\(shard)"] {
            reader.unfollow(stream)
            shardOfStream[stream] = nil
        }
        machine.shardLost(shard)
    }

    // MARK: Streams

    private func arrived(_ stream: String, _ signal: SimulatedBroker.Signal?, _ entries: [SimulatedBroker.Entry]) {
        guard let shard = shardOfStream[stream] else { return }
        if stream.hasPrefix("events") {
            if let signal {
                let lastID = signal == .regressed ? .zero : machine.lastEventID(of: shard) ?? .zero
                perform(machine.eventsLost(shard, lastEventID: lastID, nowMs: nowMs))
            }
            let events = entries.map { ($0.id, try? MutationEvent(encoded: $0.fields[0].1)) }
            perform(machine.eventsArrived(shard, events, nowMs: nowMs))
        } else {
            if signal != nil, let epoch = machine.epoch(of: shard) { ask(gateways.sorted(), shard, epoch) }
            for entry in entries {
                guard let message = try? ControlMessage(fields: entry.fields) else { continue }
                control(shard, message)
            }
        }
    }

    private func control(_ shard: ShardID, _ message: ControlMessage) {
        guard world.sabotage == .runBeforeIndex, case .announce(let gateway, let query, _, let ask) = message else {
            return perform(machine.controlArrived(shard, message, nowMs: nowMs))
        }
        // The wrong order: read first, enter the index afterwards, and answer with what was read.
        let body = world.database.result(of: query)
        let digest = Digest(of: body)
        later(timeline.pick(5...60)) { [self] in
            let known = KnownResult(digest: digest, position: nil)
            let actions = machine.controlArrived(
                shard, .announce(gateway: gateway, query: query, known: known, ask: ask), nowMs: nowMs)
            for action in actions {
                guard case .run(let batch) = action else {
                    perform([action])
                    continue
                }
                let outcomes = batch.items.map { item in
                    item.query == query ? RunOutcome.result(digest: Digest(of: [0]), body: body) : .unchanged
                }
                later(1) { [self] in perform(machine.runFinished(batch, outcomes, nowMs: nowMs)) }
            }
        }
    }

    // MARK: Actions

    private func perform(_ actions: [RefreshAction]) {
        for action in actions {
            switch action {
            case .run(let batch): run(batch)
            case .send(let gateway, let message): send(message, to: gateway)
            }
        }
        armTimer()
    }

    private func run(_ batch: RunBatch) {
        for item in batch.items where !running.insert(item.slot).inserted {
            world.violated("two runs of one live query in flight at \(name)")
        }
        let incarnation = incarnation
        timeline.after(world.databaseDelay()) { [self] in
            let database = world.database
            let outcomes = batch.items.map { item -> RunOutcome in
                guard database.isUp else { return .failed(RequestError(.unavailable, "the database is away")) }
                let body = database.result(of: item.query)
                let digest = Digest(of: body)
                return digest == item.knownDigest ? .unchanged : .result(digest: digest, body: body)
            }
            guard self.incarnation == incarnation else { return }
            later(world.databaseDelay()) { [self] in
                running.subtract(batch.items.map(\.slot))
                let isSwapped = world.sabotage == .swappedOutcomes
                perform(machine.runFinished(batch, isSwapped ? outcomes.reversed() : outcomes, nowMs: nowMs))
            }
        }
    }

    private func send(_ message: InboxMessage, to gateway: NodeID) {
        outgoing.append((gateway, message))
        guard !isSending else { return }
        isSending = true
        later(0) { [self] in flush() }
    }

    private func flush() {
        let flight = outgoing
        outgoing = []
        guard !flight.isEmpty else {
            isSending = false
            return
        }
        call { broker in
            for (gateway, message) in flight {
                broker.append("inbox:\(gateway)", message.fields, lengthMax: World.inboxLengthMax)
            }
        } then: { [self] answer in
            if answer == nil {
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
