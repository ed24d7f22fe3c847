import Settings

/// Decides when a node is not ready because a server that its roles need has been away for long. Pure: answers and the
/// time are arguments.
///
/// A gateway needs Redis, from which results come. An API node needs Postgres; while Redis is away its events wait in
/// the outbox. A worker needs both. A gateway that also runs mutations counts as a gateway: its sessions see changes
/// even while Postgres is away from it alone.
///
/// Only the readiness changes: connected clients stay, and one answer makes the node ready again. It cannot flap faster
/// than every `limitMs`, since that long a server must have been silent.
struct ReadinessRule: Sendable {
    enum Server: String, Sendable, CaseIterable {
        case postgres = "Postgres"
        case redis = "Redis"
    }

    /// 0: a node stays ready, whichever server is away.
    let limitMs: Int64
    private var answeredMs: [Server: Int64]

    /// Both servers have answered: otherwise the node would not have started.
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
    }

    /// Why the node is not ready, without details that only operators may know; nil when it is.
    func problem(nowMs: Int64) -> String? {
        guard limitMs > 0 else { return nil }
        let away = needed.filter { nowMs - (answeredMs[$0] ?? nowMs) >= limitMs }
        guard !away.isEmpty else { return nil }
        return away.map { "\($0.rawValue) has not answered for \((nowMs - (answeredMs[$0] ?? nowMs)) / 1_000) s" }
            .joined(separator: ", ")
    }
}
