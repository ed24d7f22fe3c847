import Broker
import Streams
import LiveModel
import Sessions
import Sharding
import Synchronization

/// The gateway's shell with two hubs. What it decides is `InterestMachine`, `SubscriptionTable`, `DeliveryOutbox` and
/// `BatchQueue`. Some gateways keep their name over a restart, others are a new node each time.
final class SimulatedGateway: Process {
    static let hubCount = 2
    static let outgoingMax = 200

    private(set) var interest = InterestMachine(gateway: NodeID(""), settings: .init()) { _ in ShardRoute(ShardID(0)) }
    private(set) var tables: [SubscriptionTable<Connection>] = []
    private(set) var connections: [ObjectIdentifier: Connection] = [:]
    private lazy var follower = StreamFollower(self) { [unowned self] in arrived($0) }
    private var outgoing = BatchQueue<(ShardID, ControlMessage)>(bytesMax: 0, batchBytesMax: 0)
    private var orders = KnownOverrides()
    private var forgedRun: UInt64 = 0
    private let keepsName: Bool
    private var isDraining = false
    /// Newest epoch that a message of a shard came under.
    private var epochs: [ShardID: UInt64] = [:]

    init(_ name: String, keepsName: Bool, _ world: World) {
        self.keepsName = keepsName
        super.init(name, world)
    }

    var outgoingCount: Int { outgoing.bytes }
    var takesClients: Bool { isUp && !isDraining }
    var me: NodeID { NodeID(keepsName ? name : "\(name).\(incarnation)") }
    private var inbox: String { world.redis.keys.inbox(gateway: me.name) }

    override func started() {
        let orders = KnownOverrides()
        let isBlind = world.sabotage == .positionsTravel
        self.orders = orders
        interest = InterestMachine(
            gateway: me, settings: World.interestSettings, firstAnnouncement: UInt64(incarnation) << 32
        ) {
            let place = Workload.place(of: $0, by: orders.value.withLock { $0 })
            return isBlind ? ShardRoute(place.shard) : place
        }
        tables = Array(repeating: SubscriptionTable(), count: Self.hubCount)
        outgoing = BatchQueue(bytesMax: Self.outgoingMax, batchBytesMax: .max)
        (connections, isDraining, epochs) = ([:], false, [:])
        follower = StreamFollower(self) { [unowned self] in arrived($0) }
        announceAndBegin()
        every(1_000) { [self] in if !isDraining { heartbeat {} } }
        every(InterestMachine.sweepMs) { [self] in perform(interest.timeReached(nowMs: nowMs)) }
    }

    /// In the node list before anything else, then the former process's interest is withdrawn.
    private func announceAndBegin() {
        heartbeat { [self] in
            perform((0..<Workload.shardCount).map { .tell(ShardID($0), .leave(gateway: me)) })
            follower.follow(inbox, after: .zero)
        }
    }

    override func killed() {
        for connection in connections.values.sorted(by: { $0.isBefore($1) }) { connection.end() }
        connections = [:]
    }

    /// Sessions are told to come back elsewhere, one after the other, then all interest is withdrawn.
    override func drain() {
        guard isUp, !isDraining else { return }
        isDraining = true
        call { [me] in
            $0.withdraw(me)
        } then: { _ in
        }
        for connection in connections.values.sorted(by: { $0.isBefore($1) }) {
            later(timeline.pick(0...800)) { [self] in close(connection) }
        }
        later(900) { [self] in
            for connection in connections.values.sorted(by: { $0.isBefore($1) }) {
                close(connection)
            }
            perform(interest.leave())
        }
        later(1_500) { [self] in kill() }
    }

    override func poke(_ stream: String?) {
        if stream.map({ $0 == inbox }) ?? true { follower.poke() }
    }

    private func heartbeat(_ then: @escaping () -> Void) {
        let record = NodeRecordPayload(
            id: me, roles: ["gateway"], address: "", adminAddress: "", version: "\(release)", startedAtMs: nowMs,
            isDraining: false, load: 0)
        call {
            $0.announce(record, ttlMs: 5_000)
            return $0.orders
        } then: { [self] answer in
            if let answer, answer.generation != orders.value.withLock({ $0.generation }) {
                orders.value.withLock { $0 = answer }
                perform(interest.placesChanged(nowMs: nowMs))
            }
            then()
        }
    }

    /// Where the live query belongs, as this gateway knows.
    func shard(of query: LiveQuery) -> ShardID { Workload.place(of: query, by: orders.value.withLock { $0 }).shard }

    // MARK: Sessions

    /// The kernel takes the connection, whatever the process does.
    func accept(_ connection: Connection) { connections[ObjectIdentifier(connection)] = connection }

    func subscribe(_ connection: Connection, known: KnownResult?) {
        guard !isDraining else { return close(connection) }
        let (hub, query) = (connection.hub, connection.query)
        guard
            let answer = try? interest.subscribed(
                hub: hub, query, known: known, reportsTimerRuns: connection.wantsTicks, nowMs: nowMs)
        else {
            return close(connection)
        }
        let handle = tables[hub].insert(
            connection, id: "1", key: query.key, known: known, fromAnnouncement: answer.fromAnnouncement,
            reportsTimerRuns: connection.wantsTicks)
        connection.handle = handle
        if let immediate = answer.immediate, tables[hub].deliver(immediate, to: handle) {
            connection.deliver(immediate)
        }
        perform(answer.actions)
    }

    func close(_ connection: Connection) {
        connection.end()
        connections[ObjectIdentifier(connection)] = nil
        guard let handle = connection.handle, tables[connection.hub].remove(handle) else { return }
        perform(interest.unsubscribed(hub: connection.hub, handle.key, nowMs: nowMs))
    }

    // MARK: Inbox

    private func arrived(_ batch: StreamBatch) {
        if batch.signal != nil { perform(interest.inboxLost(nowMs: nowMs)) }
        for entry in batch.entries {
            guard let message = try? InboxMessage(fields: entry.fields.map { ($0.name, $0.value) }) else { continue }
            if world.sabotage == .noReannouncement, case .announceAll = message { continue }
            let actions = interest.inboxArrived(tampered(message), nowMs: nowMs)
            let (shard, epoch) = message.sender
            world.note("\(me) <- \(message.short) => \(actions.map(\.short))")
            for case .deliver(_, let key, let delivery, _) in actions {
                if epoch < epochs[shard] ?? 0 { world.violated("one owner: \(name) took a delivery of epoch \(epoch)") }
                if case .result(let result) = delivery { world.checks.accepted(key, result) }
            }
            epochs[shard] = max(epochs[shard] ?? 0, epoch)
            perform(actions)
        }
    }

    private func tampered(_ message: InboxMessage) -> InboxMessage {
        switch world.sabotage {
        case .gatewayFenceSkipped:
            // As if everything that arrives were newer than all before.
            forgedRun += 1
            return message.at(epoch: .max) { Position(epoch: .max, run: self.forgedRun, id: $0.id) }
        case .epochIgnored: return message.at(epoch: 1) { Position(epoch: 1, run: $0.run, id: $0.id) }
        default: return message
        }
    }

    // MARK: Actions

    private func perform(_ actions: [InterestMachine.Action]) {
        for action in actions {
            switch action {
            case .tell(let shard, let message):
                world.note("\(me) -> \(shard) \(message.short)")
                if world.sabotage == .noWithdrawal, message.endsInterest { continue }
                if outgoing.offer((shard, message), bytes: 1) == .begin { later(0) { [self] in flush() } }
            case .deliver(let hubs, let key, let delivery, let answers):
                for hub in hubs {
                    let due = tables[hub].take(delivery, key: key, answers: answers)
                    for (subscription, _) in due.sorted(by: { $0.0.session.isBefore($1.0.session) }) {
                        subscription.session.deliver(delivery)
                    }
                }
            }
        }
    }

    private func flush() {
        let flight = outgoing.nextBatch()
        if flight.isEmpty { return }
        call { redis in
            for (shard, message) in flight {
                redis.append(
                    redis.keys.control(shard: shard.number), message.fields, lengthMax: World.controlLengthMax)
            }
        } then: { [self] _ in
            flush()
        }
    }
}

/// What a node last read of the orders.
final class KnownOverrides: Sendable {
    let value = Mutex(ClusterOverrides())
}

// MARK: The trace

extension LiveQueryKey {
    var short: String { String(digest.hex.prefix(4)) }
}

extension InboxMessage {
    var short: String {
        switch self {
        case .result(_, let key, let result, _):
            "result \(key.short) \(result.digest.hex.prefix(4)) \(result.position) \(String(decoding: result.answer.body, as: UTF8.self))"
        case .unchanged(_, let key, let digest, let position, let epoch, _):
            "unchanged \(key.short) \(digest.hex.prefix(4)) \(position) by \(epoch)"
        case .unchangedTick(_, let key, let digest, let position, _):
            "ticked \(key.short) \(digest.hex.prefix(4)) \(position)"
        case .failed(_, let key, let position, let error, _): "failed \(key.short) \(position) \(error.message)"
        case .announceAll(let shard, let epoch): "announceAll \(shard) \(epoch)"
        case .settled(let shard, let epoch, let through, let except, _):
            "settled \(shard) through \(through) by \(epoch) except \(except.map(\.short))"
        }
    }
}

extension InterestMachine.Action {
    var short: String {
        switch self {
        case .tell: "tell"
        case .deliver(let hubs, let key, .result(let result), _): "\(hubs) \(key.short) result \(result.position)"
        case .deliver(let hubs, let key, .unchangedTick(let result), _): "\(hubs) \(key.short) again \(result.position)"
        case .deliver(let hubs, let key, .unchanged, _): "\(hubs) \(key.short) unchanged"
        case .deliver(let hubs, let key, .failed, _): "\(hubs) \(key.short) failed"
        }
    }
}

extension ControlMessage {
    var short: String {
        switch self {
        case .announce(_, let query, let known, _):
            "announce \(query.key.short) \(known.map { "\($0.digest.hex.prefix(4)) \($0.position?.description ?? "-")" } ?? "-")"
        case .withdraw(_, let key): "withdraw \(key.short)"
        case .leave: "leave"
        case .summary(_, let count, _, _): "summary \(count)"
        }
    }

    fileprivate var endsInterest: Bool {
        switch self {
        case .withdraw, .leave, .summary: true
        case .announce: false
        }
    }
}

extension InboxMessage {
    /// Shard, and epoch of its owner who sent this.
    fileprivate var sender: (ShardID, UInt64) {
        switch self {
        case .result(let shard, _, let result, _): (shard, result.position.epoch)
        case .unchanged(let shard, _, _, _, let epoch, _), .announceAll(let shard, let epoch),
            .settled(let shard, let epoch, _, _, _):
            (shard, epoch)
        case .unchangedTick(let shard, _, _, let position, _), .failed(let shard, _, let position, _, _):
            (shard, position.epoch)
        }
    }

    /// With other positions and another sender's epoch.
    fileprivate func at(epoch: UInt64, _ forge: (Position) -> Position) -> InboxMessage {
        switch self {
        case .result(let shard, let key, var result, let answers):
            result.position = forge(result.position)
            return .result(shard: shard, key: key, result: result, answers: answers)
        case .unchanged(let shard, let key, let digest, let position, _, let answers):
            return .unchanged(
                shard: shard, key: key, digest: digest, position: forge(position), epoch: epoch, answers: answers)
        case .unchangedTick(let shard, let key, let digest, let position, let answers):
            return .unchangedTick(shard: shard, key: key, digest: digest, position: forge(position), answers: answers)
        case .failed(let shard, let key, let position, let error, let answers):
            return .failed(shard: shard, key: key, position: forge(position), error: error, answers: answers)
        case .announceAll(let shard, _): return .announceAll(shard: shard, epoch: epoch)
        case .settled(let shard, _, let through, let except, let held):
            return .settled(shard: shard, epoch: epoch, through: through, except: except, held: held)
        }
    }
}
