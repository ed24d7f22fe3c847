import LiveModel
import Sessions
import Sharding
import Synchronization

/// The gateway's shell with two hubs; a restarted gateway is a new node.
final class SimulatedGateway: Process {
    private static let hubCount = 2

    private(set) var interest = InterestMachine(gateway: NodeID(""), settings: .init()) { _ in ShardPlace(ShardID(0)) }
    private var tables: [SubscriptionTable<Connection>] = []
    private lazy var reader = StreamReader(self) { [unowned self] in arrived($1, $2) }
    private var orders = KnownOrders()
    private var outgoing: [(ShardID, ControlMessage)] = []
    private var isSending = false
    private var forgedRun: UInt64 = 0

    private var me: NodeID { NodeID("\(name).\(incarnation)") }

    override func started() {
        let orders = KnownOrders()
        let isBlind = world.sabotage == .positionsTravel
        self.orders = orders
        interest = InterestMachine(
            gateway: me, settings: World.interestSettings, firstAsk: UInt64(incarnation) << 32
        ) {
            let place = Workload.place(of: $0, by: orders.value.withLock { $0 })
            return isBlind ? ShardPlace(place.shard) : place
        }
        tables = Array(repeating: SubscriptionTable(), count: Self.hubCount)
        (outgoing, isSending) = ([], false)
        reader = StreamReader(self) { [unowned self] in arrived($1, $2) }
        reader.follow("inbox:\(me)", after: .zero)
        heartbeat()
        every(1_000) { [self] in heartbeat() }
        every(InterestMachine.sweepMs) { [self] in perform(interest.timeReached(nowMs: nowMs)) }
    }

    override func killed() {
        for client in world.clients where client.connection?.gateway === self { client.connectionLost() }
    }

    func poke(_ stream: String?) { reader.poke(stream) }

    private func heartbeat() {
        call { [me] in
            $0.announce(me, role: "gateway", ttlMs: 5_000)
            return $0.orders
        } then: { [self] answer in
            guard let answer, answer.generation != orders.value.withLock({ $0.generation }) else { return }
            orders.value.withLock { $0 = answer }
            perform(interest.placesChanged(nowMs: nowMs))
        }
    }

    // MARK: Sessions

    func subscribe(_ connection: Connection, known: KnownResult?) -> SubscriptionTable<Connection>.Handle? {
        let client = connection.client
        guard let answer = try? interest.subscribed(hub: client.hub, client.query, known: known, nowMs: nowMs) else {
            return nil
        }
        let handle = tables[client.hub].insert(
            connection, id: "1", key: client.query.key, known: known, fromAsk: answer.fromAsk)
        if let immediate = answer.immediate, tables[client.hub].deliver(immediate, to: handle) {
            client.delivered(immediate, through: connection)
        }
        perform(answer.actions)
        return handle
    }

    func unsubscribe(_ connection: Connection) {
        let hub = connection.client.hub
        guard let handle = connection.handle, tables[hub].remove(handle) else { return }
        perform(interest.unsubscribed(hub: hub, handle.key, nowMs: nowMs))
    }

    // MARK: Inbox

    private func arrived(_ signal: SimulatedBroker.Signal?, _ entries: [SimulatedBroker.Entry]) {
        if signal != nil { perform(interest.inboxLost(nowMs: nowMs)) }
        for entry in entries {
            guard let message = try? InboxMessage(fields: entry.fields) else { continue }
            perform(interest.inboxArrived(world.sabotage == .noFencing ? unfenced(message) : message, nowMs: nowMs))
        }
    }

    /// As if everything that arrives were newer than all before.
    private func unfenced(_ message: InboxMessage) -> InboxMessage {
        forgedRun += 1
        func forged(_ position: Position) -> Position {
            Position(epoch: .max, run: UInt64(timeline.nowMs) << 20 + forgedRun, id: position.id)
        }
        switch message {
        case .result(let shard, let key, var result, let answers):
            result.position = forged(result.position)
            return .result(shard: shard, key: key, result: result, answers: answers)
        case .unchanged(let shard, let key, let digest, let position, let answers):
            return .unchanged(shard: shard, key: key, digest: digest, position: forged(position), answers: answers)
        case .ticked(let shard, let key, let digest, let position, let answers):
            return .ticked(shard: shard, key: key, digest: digest, position: forged(position), answers: answers)
        case .failed(let shard, let key, let position, let error, let answers):
            return .failed(shard: shard, key: key, position: forged(position), error: error, answers: answers)
        case .announceAll(let shard, _): return .announceAll(shard: shard, epoch: .max)
        }
    }

    // MARK: Actions

    private func perform(_ actions: [InterestMachine.Action]) {
        for action in actions {
            switch action {
            case .tell(let shard, let message):
                outgoing.append((shard, message))
            case .deliver(let hubs, let key, let delivery, let answers):
                for hub in hubs {
                    var due: [Connection] = []
                    due += tables[hub].take(delivery, key: key, answers: answers).map(\.subscription.session)
                    for connection in due.sorted(by: { $0.client.number < $1.client.number }) {
                        connection.client.delivered(delivery, through: connection)
                    }
                }
            }
        }
        guard !outgoing.isEmpty, !isSending else { return }
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
            for (shard, message) in flight {
                broker.append("control:\(shard)", message.fields, lengthMax: World.controlLengthMax)
            }
        } then: { [self] _ in
            flush()
        }
    }
}

/// What a node last read of the orders.
final class KnownOrders: Sendable {
    let value = Mutex(Orders())
}
