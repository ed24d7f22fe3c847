import Broker
import FanoutWorker
import LiveModel
import Refresh
import Sharding

/// The worker's shell over simulated time: the same calls in the same order as in `FanoutWorker`. What it decides is
/// `RefreshMachine` with its reading of streams, `LeaseMachine`, `EventHistory` and `FlightQueue`.
final class SimulatedWorker: Process {
    private typealias Outgoing = (gateway: NodeID, message: InboxMessage)

    static let outgoingBytesMax = 20_000
    private static let eventsAgeMaxMs: Int64 = 20_000

    private(set) var machine = RefreshMachine(settings: .init()) { _ throws(RequestError) in
        throw RequestError(.unavailable, "not started")
    }
    private(set) var leases = LeaseMachine(me: NodeID(""), shardCount: 0, settings: .init())
    private var gateways: Set<NodeID> = []
    private lazy var follower = StreamFollower(self) { [unowned self] in arrived($0) }
    private var shardOfStream: [String: (shard: ShardID, isEvents: Bool)] = [:]
    private var outgoing = FlightQueue<Outgoing>(bytesMax: 0, flightBytesMax: 0)
    private var timerAtMs: Int64?
    private var leaseTimerMs: Int64?
    private var isDraining = false
    private var lastTrimMs: Int64 = 0
    private var serverChangesKnown = 0
    private var released: [ShardID: StreamID] = [:]
    private var grants: [ShardID: LeaseGrant] = [:]
    /// Live queries whose statement is under way.
    private var running: Set<Int32> = []

    var outgoingBytes: Int { outgoing.bytes }
    private var me: NodeID { NodeID(name) }
    private var keys: Keys { world.redis.keys }
    private var isUnchecked: Bool { world.sabotage == .epochsByTheClock || world.sabotage == .epochsNotRecorded }

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
        outgoing = FlightQueue(bytesMax: Self.outgoingBytesMax, flightBytesMax: 4_000)
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

    // MARK: Leases

    private func armLeaseTimer() {
        guard let deadlineMs = leases.nextDeadlineMs, deadlineMs < leaseTimerMs ?? .max else { return }
        leaseTimerMs = deadlineMs
        later(max(0, deadlineMs - nowMs)) { [self] in
            guard leaseTimerMs == deadlineMs else { return }
            leaseTimerMs = nil
            guard !isDraining else { return }
            perform(leases.tick(nowMs: max(nowMs, deadlineMs)))
            armLeaseTimer()
        }
    }

    /// Serving ends in the same breath; the rest is performed at once but not in the same instant, as by concurrent tasks.
    private func perform(_ actions: [LeaseMachine.Action]) {
        for action in actions {
            switch action {
            case .stop(let shard, let epoch): stop(shard, epoch)
            case .release(let shard, let epoch):
                released[shard] = machine.lastEventID(of: shard)
                stop(shard, epoch)
            case .acquire, .renew, .start: break
            }
            later(timeline.pick(0...3)) { [self] in perform(action) }
        }
    }

    private func perform(_ action: LeaseMachine.Action) {
        world.note("\(name) \(action)")
        let sentMs = nowMs
        let (me, ttlMs) = (me, Self.leaseSettings.ttlMs)
        switch action {
        case .acquire(let shard):
            ask(for: shard, sentMs) { [self] answer, atMs in
                let grant = answer?.grant
                if let grant { grants[shard] = grant }
                perform(
                    leases.leaseAnswered(
                        shard, epoch: grant?.epoch, heldForMs: answer?.heldForMs.map(Int64.init),
                        knownForMs: grant?.knownForMs ?? 0, askedMs: sentMs, sentMs: atMs, nowMs: nowMs))
                armLeaseTimer()
            }
        case .renew(let shard, let epoch):
            call {
                $0.renew(shard, owner: me, epoch: epoch, ttlMs: ttlMs)
            } then: { [self] isHeld in
                perform(
                    leases.renewalAnswered(shard, epoch: epoch, isHeld: isHeld, sentMs: sentMs, nowMs: nowMs))
            }
        case .start(let shard, let epoch): start(shard, epoch)
        case .stop: break
        case .release(let shard, let epoch):
            let id = released.removeValue(forKey: shard)
            call { redis in
                if let id { _ = redis.checkpoint(shard, epoch: epoch, id: id) }
                redis.release(shard, owner: me, epoch: epoch)
            } then: { _ in
            }
        }
    }

    private func ask(for shard: ShardID, _ askedMs: Int64, then: @escaping (LeaseAnswer?, _ sentMs: Int64) -> Void) {
        // By its clock alone, an epoch would be above all others; only what is recorded counts here.
        statement {
            $0.recordedEpoch(of: shard)
        } then: { [self] recorded in
            guard case .done(let recorded) = recorded else { return then(nil, askedMs) }
            ask(for: shard, askedMs, above: recorded, isLast: false, then)
        }
    }

    private func ask(
        for shard: ShardID, _ askedMs: Int64, above floor: UInt64, isLast: Bool,
        _ then: @escaping (LeaseAnswer?, Int64) -> Void
    ) {
        guard leases.isAsking(shard, askedMs: askedMs) else { return then(nil, askedMs) }
        let (me, ttlMs, sentMs) = (me, Self.leaseSettings.ttlMs, nowMs)
        func again(above floor: UInt64) {
            if isLast { return then(nil, sentMs) }
            ask(for: shard, askedMs, above: floor, isLast: true, then)
        }
        call {
            $0.acquire(shard, owner: me, ttlMs: ttlMs, epoch: floor + 1)
        } then: { [self] answer in
            switch answer {
            case .held, nil: then(answer, sentMs)
            case .outdated(let newest): again(above: max(floor, newest))
            case .granted(let grant):
                statement { [self] in
                    ($0.recordEpoch(grant.epoch, of: shard) || isUnchecked, $0.recordedEpoch(of: shard))
                } then: { recorded in
                    guard case .done(let (isRecorded, newest)) = recorded else { return then(nil, sentMs) }
                    if isRecorded { return then(answer, sentMs) }
                    again(above: max(grant.epoch, newest))
                }
            }
        }
    }

    /// One request after the other, as the shell awaits them.
    private func start(_ shard: ShardID, _ epoch: UInt64) {
        let events = keys.events(shard: shard.number)
        let settings = world.refreshSettings
        func failed() {
            stop(shard, epoch)
            perform(leases.startFailed(shard, epoch: epoch, nowMs: nowMs))
        }
        func load(_ history: EventHistory) {
            guard let before = history.before else { return ask(shard, epoch, history, failed) }
            call {
                $0.newest(events, before: before, limit: EventHistory.pageMax)
            } then: { page in
                guard let page else { return failed() }
                var history = history
                history.add(page)
                load(history)
            }
        }
        statement { [self] postgres in
            let recorded = postgres.recordedEpoch(of: shard)
            if recorded == epoch || isUnchecked { world.checks.granted(shard, epoch, me) }
            return recorded
        } then: { [self] recorded in
            guard case .done(let recorded) = recorded, recorded == epoch || isUnchecked else { return failed() }
            call {
                $0.info(events)?.lastID ?? .zero
            } then: { lastID in
                guard let lastID else { return failed() }
                load(
                    EventHistory(lastID: lastID, countMax: settings.historyMax, bytesMax: settings.historyBytesMax))
            }
        }
    }

    private func ask(
        _ shard: ShardID, _ epoch: UInt64, _ history: EventHistory, _ failed: @escaping () -> Void
    ) {
        let events = keys.events(shard: shard.number)
        let control = keys.control(shard: shard.number)
        call {
            $0.info(control)?.lastID ?? .zero
        } then: { [self] controlEnd in
            guard let controlEnd else { return failed() }
            call {
                $0.nodes()
            } then: { [self] nodes in
                guard let nodes else { return failed() }
                guard leases.held[shard] == epoch else { return }
                let isTrusting = world.sabotage == .historyTrustedAfterLoss
                let grant = grants[shard].flatMap { $0.epoch == epoch ? $0 : nil }
                let gateways = gateways.union(nodes.filter { $0.roles.contains("gateway") }.map(\.id))
                let actions = machine.shardOpened(
                    shard, epoch: epoch, history: history, trustedEpoch: isTrusting ? 0 : grant?.trustedEpoch ?? epoch,
                    gateways: gateways.sorted(), nowMs: nowMs)
                leases.started(shard)
                shardOfStream[events] = (shard, true)
                shardOfStream[control] = (shard, false)
                follower.follow(events, after: history.lastID, server: grant?.server)
                follower.follow(control, after: controlEnd, server: grant?.server)
                perform(actions)
            }
        }
    }

    private func stop(_ shard: ShardID, _ epoch: UInt64) {
        if let current = machine.epoch(of: shard), current != epoch { return }
        for stream in [keys.events(shard: shard.number), keys.control(shard: shard.number)] {
            follower.unfollow(stream)
            shardOfStream[stream] = nil
        }
        machine.shardLost(shard)
    }

    private func checkpoint() {
        let isTrimming = nowMs >= lastTrimMs + 5_000
        if isTrimming { lastTrimMs = nowMs }
        let oldest = StreamID(ms: UInt64(nowMs - Self.eventsAgeMaxMs), sequence: 0)
        for shard in machine.ownedShards {
            guard let id = machine.lastEventID(of: shard), let epoch = machine.epoch(of: shard), id != .zero else {
                continue
            }
            call { redis in
                _ = redis.checkpoint(shard, epoch: epoch, id: id)
                if isTrimming { redis.trim(shard, epoch: epoch, minimumID: oldest) }
            } then: { _ in
            }
        }
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
                return digest == item.knownDigest ? .unchanged : .result(digest: digest, body: body)
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
        let flight = outgoing.nextFlight()
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
