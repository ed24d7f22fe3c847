import LiveModel
import RoleMachines
import Sessions
import Streams

/// A subscriber that connects and disconnects, changes gateways, resumes from earlier results, and checks every result
/// that it receives.
final class ClientApp {
    enum Style { case stream, poll }

    private unowned let world: World
    let number: Int
    private(set) var query: Workload.ClientQuery
    private let style: Style
    private(set) var connection: Connection?
    private var connectionCount = 0
    /// The last result's body; a browser keeps it and the entity tag across a sign-in.
    private(set) var body: [UInt8]?
    private var tag: String?
    private var seen: [String: Int] = [:]
    private var lastPosition = ""
    private(set) var isAtFault = false
    /// The time until which the client reads nothing.
    private(set) var stalledUntilMs: Int64 = 0
    /// The number of results received.
    private(set) var answers = 0

    init(_ number: Int, query: Workload.ClientQuery, style: Style, _ world: World) {
        self.world = world
        self.number = number
        self.query = query
        self.style = style
    }

    private var timeline: Timeline { world.timeline }

    // MARK: Connections

    func connect() {
        guard world.isOpen, connection == nil else { return }
        guard let gateway = world.anyGateway() else { return connectSoon(3_000) }
        switch timeline.pick(0...11) {
        case 0:
            // A new session without earlier results.
            (tag, body, seen) = (nil, nil, [:])
        case 1:
            // The client knows only the content, so the result it gets must be read after it connected.
            if let held = tag { tag = String(held.prefix(while: { $0 != "@" })) }
        case 2, 3:
            guard query.uid != nil else { break }
            // Another user signs in, and the stored result remains.
            query.uid = Workload.users.randomElement(using: &timeline.random)
            seen = [:]
        default: break
        }
        let version = gateway.deployments.served.current
        guard query.isServed(by: version) else { return connectSoon(3_000) }
        let query = query.liveQuery(version: version)
        connectionCount += 1
        let connection = Connection(self, gateway, query, number: connectionCount)
        self.connection = connection
        isAtFault = false
        gateway.accept(connection)
        let known = tag.flatMap { self.known(in: $0, of: connection.query.key) }
        gateway.later(world.networkDelay()) { [self] in
            guard self.connection === connection, !connection.isOver else { return }
            world.note("client\(number) subscribes \(connection.query.key.short) at \(gateway.name) with \(tag ?? "-")")
            gateway.subscribe(connection, known: known)
        }
    }

    private func known(in tag: String, of key: LiveQueryKey) -> KnownResult? {
        if world.sabotage == .tagTrustedForOthers {
            let parts = tag.split(separator: "@")
            guard let digest = Digest(hex: parts[0]) else { return nil }
            return KnownResult(digest: digest, position: parts.count > 1 ? Position(parts[1]) : nil)
        }
        return EntityTag(bare: tag)?.known(of: key)
    }

    func disconnect() {
        guard let connection else { return }
        if connection.cutUntilMs <= timeline.nowMs {
            connection.gateway.later(world.networkDelay()) { connection.gateway.close(connection) }
        }
        connectionLost(connection)
    }

    /// Reconnects after a while, as apps do.
    func connectionLost(_ lost: Connection) {
        guard connection === lost else { return }
        world.note("client\(number) lost its connection")
        connection = nil
        if style != .poll { world.lastLossMs = timeline.nowMs }
        stalledUntilMs = 0
        connectSoon(style == .poll ? 60 : 3_000)
    }

    private func connectSoon(_ withinMs: Int64) {
        timeline.after(timeline.pick(5...withinMs)) { [self] in connect() }
    }

    func stall(ms: Int64) { stalledUntilMs = max(stalledUntilMs, timeline.nowMs + ms) }

    /// Drops the connection in the network; both sides notice by their own timeouts.
    func lose() {
        guard let lost = connection else { return }
        lost.cut(ms: 60_000)
        timeline.after(timeline.pick(500...3_000)) { [self] in connectionLost(lost) }
        lost.gateway.later(World.idleTimeoutMs) { lost.gateway.close(lost) }
    }

    /// Whether its connections last, as those of long-polls do not.
    var keepsConnections: Bool { style != .poll }

    // MARK: Results

    /// Handles the end of a wait for a mutation.
    func waited(for event: String, through connection: Connection) {
        guard self.connection === connection, !isAtFault, let body else { return }
        let shard = connection.gateway.machine.shard(of: connection.query)
        world.waitChecks.answered(
            event, of: world.redis.keys.events(shard: shard.number), server: world.redis.serverID, connection.query,
            body, by: number)
    }

    /// Handles an error. It answers a long-poll, which the client makes again; other subscriptions go on, and their
    /// next result ends the error.
    func failed(through connection: Connection) {
        guard self.connection === connection else { return }
        world.note("client\(number) failed")
        isAtFault = true
        if style == .poll { disconnect() }
    }

    func receive(_ result: LiveResult, through connection: Connection) {
        guard self.connection === connection else { return }
        answers += 1
        world.note("client\(number) got \(String(decoding: result.answer.body, as: UTF8.self)) \(result.position)")
        world.checks.received(
            result.answer.body, identity: SimulatedPostgres.identity(of: connection.query), by: number)
        let versions = SimulatedPostgres.versions(in: result.answer.body)
        // After a loss of commits, results of a former life do not count.
        if let life = versions["life"], let former = seen["life"], life > former { seen = [:] }
        for (entity, version) in versions.sorted(by: { $0.key < $1.key }) {
            if let former = seen[entity], version < former {
                world.violated(
                    "no regress: client \(number) got \(entity)=\(version) at \(result.position) after"
                        + " \(entity)=\(former) at \(lastPosition)"
                )
            }
            seen[entity] = version
        }
        lastPosition = result.position.description
        body = result.answer.body
        let known = KnownResult(digest: result.digest, position: result.position)
        tag = EntityTag(known, of: connection.query.key).bare
        isAtFault = false
        if style == .poll { disconnect() }
    }
}
