import LiveModel
import RoleMachines
import Sessions
import Sharding
import Streams

/// Performs `GatewayMachine` over simulated servers, with two hubs. Some gateways keep their name across a restart,
/// others are a new node each time.
///
/// Long, because the machine, its hubs and its connections change together.
final class SimulatedGateway: Process {
    var machine = GatewayMachine(gateway: NodeID(""), settings: .init(), nowMs: 0)
    private(set) var hubs: [Hub] = []
    /// The steps that each hub has yet to take, in order.
    private var hubSteps: [[() -> Void]] = []
    /// The subscribers by hub.
    private var subscribers: [[Hub.Handle: any SimulatedSubscription]] = []
    private(set) var connections: [ObjectIdentifier: any SimulatedSession] = [:]
    /// The results and patches of clients that take patches, by hub.
    var deltas: [DeltaCache] = []
    private lazy var follower = StreamFollower(self) { [unowned self] in for batch in $0 { arrived(batch) } }
    private lazy var membership = newMembership()
    private var forgedRun: UInt64 = 0
    private let keepsName: Bool
    /// The time for which an event loop may be busy.
    private static let hubLateMaxMs: Int64 = 200
    /// The newest epoch of a message from each shard.
    private var epochs: [ShardID: UInt64] = [:]
    /// The last results taken.
    private var results: [LiveQueryKey: LiveResult] = [:]
    /// The connections that wait, and the events for which they do.
    var waits: [InterestMachine.WaitID: (connection: Connection, event: String)] = [:]
    var eventWaits = EventWaits()

    init(_ name: String, keepsName: Bool, _ world: World) {
        self.keepsName = keepsName
        super.init(name, world)
    }

    var takesClients: Bool { isUp && acceptsSessions && !membership.machine.isDrainedByOperator }
    var me: NodeID { NodeID(keepsName ? name : "\(name).\(incarnation)") }
    private var inbox: String { world.redis.keys.inbox(gateway: me.name) }

    override var roles: Set<Role> { [.gateway] }

    override func prepare() {
        membership = newMembership()
        machine = GatewayMachine(gateway: me, settings: world.gatewaySettings, nowMs: nowMs)
        hubs = Array(repeating: Hub(), count: World.hubCount)
        hubSteps = Array(repeating: [], count: World.hubCount)
        subscribers = Array(repeating: [:], count: World.hubCount)
        deltas = Array(repeating: World.emptyDeltas, count: World.hubCount)
        (connections, epochs, results, waits) = ([:], [:], [:], [:])
        follower = StreamFollower(self) { [unowned self] in for batch in $0 { arrived(batch) } }
    }

    override func start(_ part: NodePart, _ next: @escaping () -> Void) {
        switch part {
        case .membership: membership.start(then: next)
        case .deployments: deployments.start(ended: { [self] in moveSessions() }, then: next)
        case .gateway:
            perform(machine.started())
            follower.follow(inbox, after: .zero)
            every(machine.settings.tickMs) { [self] in
                perform(machine.ticked(redisConnection, nowMs: nowMs))
                checkSilence()
            }
            next()
        case .sessions, .worker, .tailer, .sweeper: next()
        }
    }

    override func stop(_ part: NodePart, _ next: @escaping () -> Void) {
        switch part {
        case .membership: membership.leave(then: next)
        // Closes sessions one after the other, so that they reconnect elsewhere.
        case .sessions:
            for connection in sortedConnections { later(timeline.pick(0...800)) { [self] in close(connection) } }
            later(900) { [self] in
                for connection in sortedConnections { close(connection) }
                next()
            }
        case .gateway:
            perform(machine.leave())
            later(600, next)
        case .deployments, .worker, .tailer, .sweeper: next()
        }
    }

    override func killed() {
        for connection in sortedConnections { connection.end(isKilled: true) }
        connections = [:]
    }

    override func poke(_ stream: String?) {
        if stream.map({ $0 == inbox }) ?? true { follower.poke() }
    }

    private func newMembership() -> SimulatedMembership {
        SimulatedMembership(self, me, role: .gateway) { [unowned self] change in
            switch change {
            case .overrides(let overrides):
                perform(machine.overridesChanged(overrides.tampered(by: world.sabotage), nowMs: nowMs))
            case .drainSessions: for connection in sortedConnections { close(connection) }
            case .workers: break
            }
        }
    }

    // MARK: Sessions

    /// The connections in a fixed order, since dictionaries have none.
    private var sortedConnections: [any SimulatedSession] { connections.values.sorted { $0.order < $1.order } }

    /// Accepts a connection, which the kernel does even while the process is suspended.
    func accept(_ connection: any SimulatedSession) { connections[ObjectIdentifier(connection)] = connection }

    func subscribe(_ subscription: any SimulatedSubscription, known: KnownResult?) {
        guard !isDraining else { return close(subscription.session) }
        let (hub, query) = (subscription.hub, subscription.query)
        guard
            let (start, effects) = try? machine.subscribed(
                hub: hub, query, known: known, reportsTimerRuns: subscription.reportsTimerRuns, nowMs: nowMs)
        else {
            return close(subscription.session)
        }
        let (handle, immediate) = hubs[hub].subscribed(
            query.key, known: known, reportsTimerRuns: subscription.reportsTimerRuns,
            confirmsKnown: subscription.confirmsKnown, start: start)
        subscription.handle = handle
        subscribers[hub][handle] = subscription
        if known == nil { subscription.silentSinceMs = nowMs }
        if let immediate { subscription.deliver(immediate) }
        perform(effects)
    }

    func close(_ connection: any SimulatedSession) {
        let subscriptions = connection.subscriptions
        connection.end(isKilled: false)
        // A connection of a former process has ended with it, and its handles may be others' now.
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        for id in waits.filter({ $0.value.connection === connection }).keys.sorted() {
            waits[id] = nil
            machine.waitEnded(id)
        }
        for subscription in subscriptions { unsubscribe(subscription) }
    }

    func unsubscribe(_ subscription: any SimulatedSubscription) {
        guard let handle = subscription.handle, hubs[subscription.hub].unsubscribed(handle) else { return }
        subscribers[subscription.hub][handle] = nil
        perform(machine.unsubscribed(hub: subscription.hub, handle.key, nowMs: nowMs))
    }

    /// Asks the sessions of versions that are about to go to reconnect.
    private func moveSessions() {
        let staying = deployments.staying
        for connection in sortedConnections where !staying.contains(connection.version) {
            later(timeline.pick(0...500)) { [self] in close(connection) }
        }
    }

    // MARK: Inbox

    private func arrived(_ batch: StreamBatch) {
        batch.forEachInboxFact { fact in
            guard case .message(let message) = fact else { return perform(machine.inboxRead(fact, nowMs: nowMs)) }
            guard let tampered = message.tampered(by: world.sabotage, forgedRun: &forgedRun) else { return }
            let effects = machine.inboxRead(.message(tampered), nowMs: nowMs)
            world.note("\(me) <- \(message.short) => \(effects.map(\.short))")
            check(effects, message.sender)
            perform(effects)
        }
    }

    /// Checks, right after a tick, that every client without a result got one, or an error, in time.
    private func checkSilence() {
        let limitMs = World.answerMaxMs + 2 * machine.settings.tickMs
        // The steps of a busy hub are on their way.
        for subscription in sortedConnections.flatMap(\.subscriptions) where hubSteps[subscription.hub].isEmpty {
            guard let sinceMs = subscription.silentSinceMs, nowMs - sinceMs > limitMs else { continue }
            world.violated("silence: client \(subscription.order.client) has heard nothing for \(nowMs - sinceMs) ms")
        }
    }

    private func check(_ effects: [GatewayMachine.Effect], _ sender: (shard: ShardID, epoch: UInt64)) {
        for case .deliver(_, let key, let delivery, _) in effects {
            if sender.epoch < epochs[sender.shard] ?? 0 {
                world.violated("one owner: \(name) took a delivery of epoch \(sender.epoch)")
            }
            if case .result(let result) = delivery {
                world.checks.accepted(key, result)
                if world.carriesMarkers { results[key] = result }
            }
        }
        if world.forgedEpochs.contains(sender.epoch) { return }
        epochs[sender.shard] = max(epochs[sender.shard] ?? 0, sender.epoch)
    }

    /// Checks what this gateway holds of the shard when a marker counts.
    private func check(_ arrived: InterestMachine.ArrivedMarker) {
        world.markerChecks.counted()
        let stream = world.redis.keys.events(shard: arrived.shard.number)
        for (key, result) in results {
            // What a client reported, or a confirmation replaced, is not known here.
            guard let held = machine.held(key), held.digest == result.digest else {
                results[key] = nil
                continue
            }
            guard held.shard == arrived.shard, !held.isAwaitingOwner else { continue }
            world.markerChecks.counted(arrived.marker, of: stream, held.query, result, by: name)
        }
    }

    // MARK: Effects

    func perform(_ effects: [GatewayMachine.Effect]) {
        touch()
        for effect in effects {
            switch effect {
            case .gather: later(0) { [self] in perform(machine.batchDue()) }
            case .append(let call, let messages): append(call, messages)
            case .deliver(let indices, let key, let delivery, let answers):
                for hub in indices { onHub(hub) { $0.deliver(delivery, key, answers: answers, hub: hub) } }
            case .readEpoch(let shard, let call): readEpoch(of: shard, call: call)
            case .forgetPositions(let indices, let key, let from):
                for hub in indices { onHub(hub) { $0.hubs[hub].forgetPositions(key, from: from) } }
            case .reportEpoch(let shard, _, let recorded):
                // Postgres may have lost the epochs of owners that this gateway met.
                epochs[shard] = min(epochs[shard] ?? 0, recorded)
            case .trimInbox(let minimumID):
                call { [inbox] in
                    $0.trim(inbox, minimumID: minimumID)
                } then: { (_: Void?) in
                }
            case .reportUnsent, .reportLoss, .reportProbe, .reportResult, .sample, .reportMarker: break
            case .passMarker(let arrived):
                check(arrived)
                pass(arrived)
            case .ensureAppended(let id, let event):
                ensureAppended(event, for: id, untilMs: nowMs + World.waitTimeoutMs)
            case .appendTicket(let shard, let ticket): append(ticket, to: shard)
            case .answerWait(let hub, let id, let error, _):
                onHub(hub) { gateway in
                    guard let (connection, event) = gateway.waits.removeValue(forKey: id) else { return }
                    if error == nil { connection.answerWait(for: event) }
                }
            }
        }
    }

    /// Lets a hub take a step: from time to time later than it was decided, as an event loop does that is busy, but in
    /// order.
    private func onHub(_ hub: Int, _ step: @escaping (SimulatedGateway) -> Void) {
        let isLate = world.hasFaults && timeline.chance(5)
        guard isLate || !hubSteps[hub].isEmpty else { return step(self) }
        hubSteps[hub].append { [unowned self] in step(self) }
        later(timeline.pick(0...Self.hubLateMaxMs)) { [self] in hubSteps[hub].removeFirst()() }
    }

    /// Passes a marker through every hub, each in its turn.
    private func pass(_ arrived: InterestMachine.ArrivedMarker) {
        var remaining = World.hubCount
        for hub in 0..<World.hubCount {
            onHub(hub) { gateway in
                remaining -= 1
                if remaining == 0 { gateway.perform(gateway.machine.markerTaken(arrived, nowMs: gateway.nowMs)) }
            }
        }
    }

    private func deliver(_ delivery: InterestMachine.Delivery, _ key: LiveQueryKey, answers: UInt64, hub: Int) {
        guard let (update, due) = hubs[hub].take(delivery, key: key, answers: answers) else { return }
        if case .unanswered = delivery { world.silences += due.count }
        let subscriptions = due.compactMap { subscribers[hub][$0] }.sorted { $0.order < $1.order }
        for subscription in subscriptions where subscription.handle.map(hubs[hub].contains) == true {
            subscription.deliver(update)
        }
    }

    private func readEpoch(of shard: ShardID, call: UInt64) {
        statement {
            $0.recordedEpoch(of: shard)
        } then: { [self] outcome in
            var recorded: UInt64?
            if case .done(let epoch) = outcome { recorded = epoch }
            world.note("\(me) \(shard) #\(call) recorded \(recorded.map(String.init) ?? "unknown")")
            if world.sabotage == .recordedEpochIgnored { return }
            perform(machine.epochRead(shard, call: call, recorded: recorded, nowMs: nowMs))
            sometimesAgain(call) { [self] in
                perform(machine.epochRead(shard, call: call, recorded: recorded, nowMs: nowMs))
            }
        }
    }

    /// Writes an entry with an epoch that no owner has into the inbox.
    func forgeOwner(of shard: ShardID, epoch: UInt64) {
        world.forgedEpochs.insert(epoch)
        world.redis.append(
            inbox, InboxMessage.announceAll(shard: shard, epoch: epoch).fields, lengthMax: World.inboxLengthMax)
    }

    private func append(_ id: GatewayMachine.CallID, _ messages: [GatewayMachine.Outgoing]) {
        for (shard, message) in messages { world.note("\(me) -> \(shard) \(message.short)") }
        let sent = messages.filter { [sabotage = world.sabotage] in $0.message.isSent(despite: sabotage) }
        call { redis in
            for (shard, message) in sent {
                redis.append(
                    redis.keys.control(shard: shard.number), message.fields, lengthMax: World.controlLengthMax)
            }
        } then: { [self] (answer: Void?) in
            let problem = answer == nil ? "cut off" : nil
            perform(machine.batchAppended(id, problem: problem))
            sometimesAgain(id) { [self] in perform(machine.batchAppended(id, problem: problem)) }
        }
    }
}
