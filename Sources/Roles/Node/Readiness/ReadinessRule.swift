import LiveModel
import Settings

/// Decides when a node is not ready because a server that its roles need has been down for long. Pure: answers and the
/// time are arguments.
///
/// Redis must serve the node's own streams: one that answers, but refuses to write or read them (no memory left, no
/// permission, a read-only replica, a key of another type) counts as down.
///
/// A gateway needs Redis, the source of its results. An API node needs Postgres; while Redis is down, its events wait
/// in the outbox. A worker needs both. A gateway that also runs mutations counts as a gateway: its sessions see changes
/// even while it alone cannot reach Postgres.
///
/// Only the readiness changes: connected clients stay, and one answer makes the node ready again. It cannot flap faster
/// than every `limitMs`, because a server must have been silent for that long.
struct ReadinessRule: Sendable {
    enum Server: String, Sendable, CaseIterable {
        case postgres = "Postgres"
        case redis = "Redis"
    }

    /// The silence after which a server counts as down. 0: the node always stays ready.
    let limitMs: Int64
    private var answeredMs: [Server: Int64]
    /// The servers that answered last, but refused to serve.
    private var refusing: Set<Server> = []

    /// Starts with both servers having answered; otherwise the node would not have started.
    init(roles: Set<Role>, limitMs: Int64, nowMs: Int64) {
        self.limitMs = limitMs
        var needed: Set<Server> = []
        if roles.contains(.worker) { needed = [.postgres, .redis] }
        if roles.contains(.gateway) {
            needed.insert(.redis)
        } else if roles.contains(.api) {
            needed.insert(.postgres)
        }
        answeredMs = Dictionary(uniqueKeysWithValues: needed.map { ($0, nowMs) })
    }

    var needed: [Server] { Server.allCases.filter { answeredMs[$0] != nil } }

    mutating func answered(_ server: Server, nowMs: Int64) {
        if let before = answeredMs[server] { answeredMs[server] = max(before, nowMs) }
        refusing.remove(server)
    }

    /// Reports a server that did not serve the node: it was silent, or it answered and refused. Both count the same.
    mutating func failed(_ server: Server, refused: Bool) {
        if refused { refusing.insert(server) } else { refusing.remove(server) }
    }

    /// The reason that the node is not ready, without details for operators; nil when it is ready.
    func problem(nowMs: Int64) -> String? {
        guard limitMs > 0 else { return nil }
        let away = needed.filter { nowMs - (answeredMs[$0] ?? nowMs) >= limitMs }
        guard !away.isEmpty else { return nil }
        return away.map { server in
            let problem = refusing.contains(server) ? "has refused this node's streams" : "has not answered"
            return "\(server.rawValue) \(problem) for \((nowMs - (answeredMs[server] ?? nowMs)) / 1_000) s"
        }.joined(separator: ", ")
    }
}
