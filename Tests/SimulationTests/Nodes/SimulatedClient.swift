import LiveModel
import Sessions

/// One connection of a client. What comes through an old one reaches nobody.
final class Connection {
    let client: SimulatedClient
    private(set) weak var gateway: SimulatedGateway?
    var handle: SubscriptionTable<Connection>.Handle?

    init(_ client: SimulatedClient, _ gateway: SimulatedGateway) {
        self.client = client
        self.gateway = gateway
    }
}

/// One subscriber: comes and goes, remembers what it saw, and checks every result that reaches it.
final class SimulatedClient {
    private unowned let world: World
    let number: Int
    let query: LiveQuery
    let hub: Int
    private(set) var connection: Connection?
    /// The last result, and what it said.
    private(set) var body: [UInt8]?
    private var known: KnownResult?
    private var seen: [String: Int] = [:]
    private(set) var isAtFault = false
    /// A connection that does not read; what waits for it is bounded.
    private var isStalled = false
    private var outbox = DeliveryOutbox<LiveResult>(bytesMax: 400)

    init(_ number: Int, query: LiveQuery, _ world: World) {
        self.world = world
        self.number = number
        self.query = query
        hub = number % 2
    }

    func connect() {
        guard world.isOpen, connection == nil else { return }
        guard let gateway = world.anyGateway() else { return connectSoon() }
        let connection = Connection(self, gateway)
        self.connection = connection
        switch world.timeline.pick(0...9) {
        case 0:
            // A new session: nothing is remembered.
            (known, body, seen) = (nil, nil, [:])
        case 1:
            // It knows the content alone: what it gets is to be read after it came.
            known?.position = nil
        default: break
        }
        gateway.later(world.networkDelay()) { [self, known] in
            if self.connection === connection { connection.handle = gateway.subscribe(connection, known: known) }
        }
    }

    func disconnect() {
        if let connection, let gateway = connection.gateway {
            gateway.later(world.networkDelay()) { gateway.unsubscribe(connection) }
        }
        connectionLost()
    }

    /// Comes back after a while, as apps do.
    func connectionLost() {
        connection = nil
        isStalled = false
        outbox = DeliveryOutbox(bytesMax: 400)
        connectSoon()
    }

    private func connectSoon() {
        world.timeline.after(world.timeline.pick(10...3_000)) { [self] in connect() }
    }

    func stall(ms: Int64) {
        isStalled = true
        world.timeline.after(ms) { [self] in unstall() }
    }

    func unstall() {
        isStalled = false
        while let next = outbox.next() { receive(next.item) }
    }

    func delivered(_ delivery: InterestMachine.Delivery, through connection: Connection) {
        guard self.connection === connection else { return }
        switch delivery {
        case .failed: isAtFault = true
        case .unchanged: break
        case .result(let result), .again(let result):
            switch outbox.offer(result, id: "1", bytes: result.body.count, unwrittenBytes: isStalled ? 1 : 0) {
            case .write: receive(result)
            case .hold: break
            case .close: disconnect()
            }
        }
    }

    private func receive(_ result: LiveResult) {
        let text = String(decoding: result.body, as: UTF8.self)
        if !text.hasPrefix(SimulatedDatabase.identity(of: query)) {
            world.violated("isolation: client \(number) of \(SimulatedDatabase.identity(of: query)) got \(text)")
        }
        for (entity, version) in SimulatedDatabase.versions(in: result.body).sorted(by: { $0.key < $1.key }) {
            if let former = seen[entity], version < former {
                world.violated("regress: client \(number), \(text) after \(entity)=\(former), at \(result.position)")
            }
            seen[entity] = version
        }
        body = result.body
        known = KnownResult(digest: result.digest, position: result.position)
        isAtFault = false
    }
}
