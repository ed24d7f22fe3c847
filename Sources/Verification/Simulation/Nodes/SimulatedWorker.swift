import LiveModel
import Refresh
import RoleMachines
import Sharding
import Streams

/// The second performer of `WorkerMachine`, over simulated time: calls are delayed, reordered and lost, answers arrive
/// twice or late, and the process is suspended in between. All decisions are the product machine's; a deliberate
/// mistake changes its settings, facts or effects (`SimulatedWorker+Mistakes.swift`).
final class SimulatedWorker: Process {
    private(set) var machine: WorkerMachine
    private lazy var follower = StreamFollower(self) { [unowned self] in arrived($0) }
    private var followed: Set<String> = []
    private var earliest = EarliestDeadline()
    private lazy var membership = newMembership()
    /// The live queries whose statement is in flight.
    private(set) var running: Set<Int32> = []
    /// Whether to suspend the process once between the next decision to run live queries and the statement.
    var stopsAtNextRun = false
    /// Results read before the live query was registered, by mistake.
    var readEarly: [LiveQueryKey: [UInt8]] = [:]

    var me: NodeID { NodeID(name) }

    override init(_ name: String, _ world: World) {
        machine = Self.makeMachine(name, world, SharedCatalogs(SimulatedCatalogs(current: 1, loadedDeployment: 0)))
        super.init(name, world)
    }

    private static func makeMachine(_ name: String, _ world: World, _ catalogs: SharedCatalogs) -> WorkerMachine {
        let (workload, isMixed) = (world.workload, world.sabotage == .versionsMixed)
        return WorkerMachine(
            node: NodeID(name), keys: world.redis.keys, shardCount: Workload.shardCount, settings: settings(world)
        ) { query throws(RequestError) in
            let served = catalogs.served
            return try workload.rules(of: isMixed ? query.of(version: served.current) : query, served)
        }
    }

    /// Time between two ticks.
    private static let tickMs: Int64 = 500

    private static func settings(_ world: World) -> WorkerMachine.Settings {
        var settings = WorkerMachine.Settings()
        settings.refresh = world.refreshSettings
        // A round with each tick: more calls for faults to hit.
        settings.checkpointMs = 1
        settings.eventsAgeMaxMs = 20_000
        settings.trimMs = 5_000
        // As soon as a shard is empty, so that shards are marked and followed again often.
        settings.unfollowedAfterMs = 500
        settings.inboxLengthMax = World.inboxLengthMax
        settings.outgoingBytesMax = World.outgoingBytesMax
        settings.batchBytesMax = 4_000
        makeMistakes(in: &settings, world.sabotage)
        return settings
    }

    // MARK: Facts

    override var roles: Set<Role> { [.worker] }

    override func prepare() {
        machine = Self.makeMachine(name, world, deployments.catalogs)
        follower = StreamFollower(self) { [unowned self] in arrived($0) }
        (followed, running, readEarly) = ([], [], [:])
        (earliest, stopsAtNextRun) = (EarliestDeadline(), false)
        membership = newMembership()
    }

    override func start(_ part: NodePart, _ next: @escaping () -> Void) {
        switch part {
        case .membership: membership.start(then: next)
        case .deployments: deployments.start(then: next)
        case .worker:
            perform(machine.started())
            every(Self.tickMs) { [self] in
                connectToPostgres()
                let changes = WorkerMachine.ServerChanges(
                    broker: world.noticesServers ? serverChanges : 0, database: databaseChanges)
                perform(machine.ticked(changes, nowMs: nowMs))
            }
            next()
        // The sweepers of the API nodes suffice.
        case .gateway, .sessions, .tailer, .sweeper: next()
        }
    }

    override func stop(_ part: NodePart, _ next: @escaping () -> Void) {
        switch part {
        case .membership: membership.leave(then: next)
        // Its supervisor does not wait long for the shards to be handed over.
        case .worker:
            perform(machine.drain(nowMs: nowMs))
            later(1_000, next)
        case .deployments, .gateway, .sessions, .tailer, .sweeper: next()
        }
    }

    override func poke(_ stream: String?) {
        if stream.map(followed.contains) ?? true { follower.poke() }
    }

    private func newMembership() -> SimulatedMembership {
        SimulatedMembership(self, me, role: .worker) { [unowned self] in
            machine.refresh.shardStatuses
        } perform: { [unowned self] change in
            guard case .workers(let workers, let gateways, let movedShards, let unfollowed) = change else { return }
            perform(
                machine.nodesListed(
                    workers: workers, gateways: gateways, movedShards: movedShards,
                    unfollowed: mistaken(unfollowed),
                    nowMs: nowMs))
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

    /// Reports an answer, from time to time twice, although its call is over.
    private func answered(_ answer: @escaping () -> [WorkerMachine.Effect]) {
        perform(answer())
        sometimesAgain { [self] in perform(answer()) }
    }

    // MARK: Effects

    private func perform(_ effects: [WorkerMachine.Effect]) {
        touch()
        for effect in effects { perform(effect) }
        guard let (deadlineMs, afterMs) = earliest.named(machine.nextDeadlineMs, nowMs: nowMs) else { return }
        later(afterMs) { [self] in
            if let nowMs = earliest.fired(deadlineMs, nowMs: nowMs) { perform(machine.timeReached(nowMs: nowMs)) }
        }
    }

    /// Performs an effect. Calls start within a few milliseconds of each other, as with concurrent tasks.
    private func perform(_ effect: WorkerMachine.Effect) {
        switch effect {
        case .broker(let id, let request):
            let request = mistaken(request)
            later(timeline.pick(0...3) + delayByMutations(request)) { [self] in
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
            deployments.look { [self] problem in
                answered { [self] in machine.catalogsLoaded(id, problem: problem, nowMs: nowMs) }
            }
        case .run(let id, let batch):
            if stopsAtNextRun { pause(ms: timeline.pick(4_000...9_000)) }
            stopsAtNextRun = false
            let begunMs = nowMs
            later(timeline.pick(0...1)) { [self] in run(id, batch, begunMs: begunMs) }
        case .append(let id, let entries): append(id, mistaken(entries))
        case .follow(let stream, let cursor, let server):
            followed.insert(stream)
            world.checks.followed(stream, by: name)
            follower.follow(stream, after: mistaken(cursor, of: stream), server: server)
        case .unfollow(let stream):
            followed.remove(stream)
            follower.unfollow(stream)
        case .readNodes: membership.wake()
        case .log(let line): world.note("\(name): \(line.message) \(line.metadata.sorted { $0.key < $1.key })")
        case .endDrain: later(timeline.pick(0...50)) { [self] in kill() }
        }
    }

    /// Returns the delay of a call; before the last call of a shard's start, it begins mutations and delays the call.
    private func delayByMutations(_ request: WorkerMachine.BrokerCall) -> Int64 {
        guard case .nodes = request, !world.mutationsAtStart.isEmpty else { return 0 }
        for entity in world.mutationsAtStart.prefix(3) { world.mutate(entity, at: world.pick(world.apiNodes)) }
        world.mutationsAtStart.removeFirst(min(3, world.mutationsAtStart.count))
        return timeline.pick(50...400)
    }

    private func ask(_ id: WorkerMachine.CallID, _ request: WorkerMachine.DatabaseCall) {
        world.note("\(name) \(id) \(request)")
        statement { [self] postgres in
            if let made = madeUpReply(to: request) { return made }
            let truth = postgres.answer(request)
            if case .readEpochs(let shard) = request, case .epochs(let recorded, _) = truth,
                let epoch = machine.leases.epoch(of: shard)
            {
                world.checks.looked(world.redis.keys.events(shard: shard.number), epoch, recorded: recorded, by: name)
            }
            let reply = mistaken(truth, to: request)
            // The last check before a shard is served.
            if case .readEpochs(let shard) = request, case .epochs(let recorded, _) = reply,
                machine.leases.epoch(of: shard) == recorded
            {
                world.checks.granted(shard, recorded, me)
            }
            return reply
        } then: { [self] outcome in
            var reply = WorkerMachine.DatabaseReply.failed("Postgres is away")
            if case .done(let answer) = outcome { reply = answer }
            let timeline = world.sabotage == .timelineIgnored ? "" : databaseTimeline
            world.note("\(name) \(id) answered \(reply)")
            answered { [self] in machine.databaseAnswered(id, reply, timeline: timeline, nowMs: nowMs) }
        }
    }

    private func run(_ id: WorkerMachine.CallID, _ batch: RunBatch, begunMs: Int64) {
        for item in batch.items where !running.insert(item.slot).inserted {
            world.violated("two runs of one live query in flight at \(name)")
        }
        let (served, isMixed) = (deployments.served, world.sabotage == .versionsMixed)
        statement { [self] postgres in
            batch.items.map { item -> RunOutcome in
                let read = isMixed ? item.query.of(version: served.current) : item.query
                if !served.serves(read.version) { return .failed(.versionNotServed) }
                let body = readEarly.removeValue(forKey: item.query.key) ?? postgres.result(of: read)
                world.checks.read(item.query.key, item.shard, item.position, body, by: name)
                let digest = Digest(of: body)
                if digest == item.knownDigest { return .unchanged }
                return .result(
                    digest: digest, OperationAnswer(body: body), rows: Workload.rowsRead(of: read, body))
            }
        } then: { [self] answer in
            running.subtract(batch.items.map(\.slot))
            var outcomes = batch.items.map { _ in RunOutcome.failed(RequestError(.unavailable, "Postgres is away")) }
            if case .done(let read) = answer {
                outcomes = isCutShort(batch) ? read.map { _ in .cutShort } : mistaken(read)
            }
            let endedMs = world.sabotage == .lateResultsUsed ? begunMs : nowMs
            answered { [self] in machine.runFinished(id, outcomes, nowMs: endedMs) }
        }
    }

    /// Some statements take longer than they may; more often those of live queries that were slow before.
    private func isCutShort(_ batch: RunBatch) -> Bool {
        guard world.hasFaults else { return false }
        // The timeline is not asked, so that other faults stay where they are.
        let percent = batch.id &* 79 % 100
        return switch batch.mode {
        case .open, .apart(limitMs: nil): false
        case .shared: percent < 4
        case .apart: percent < 30
        }
    }

    private func append(_ id: WorkerMachine.CallID, _ entries: [InboxEntry]) {
        for entry in entries {
            for message in entry.messages {
                world.note("\(name) -> \(entry.gateway) \(message.short)")
                if case .result(let shard, let key, let result, _) = message {
                    world.checks.used(key, shard, result.position)
                }
            }
        }
        // If the connection ends in between, the first entries remain appended.
        let appended = world.hasFaults && timeline.chance(3) ? entries.dropLast() : entries[...]
        call { redis in
            for entry in appended {
                redis.append(
                    entry.append.stream, InboxMessage.fields(of: entry.messages), lengthMax: World.inboxLengthMax)
            }
        } then: { [self] answer in
            let isWhole = answer != nil && appended.count == entries.count
            answered { [self] in machine.batchAppended(id, problem: isWhole ? nil : "cut off", nowMs: nowMs) }
        }
    }
}
