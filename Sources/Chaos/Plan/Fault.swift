/// One thing that goes wrong, and for how long.
package enum Fault: Sendable, Hashable {
    /// A server that nodes depend on.
    package enum Server: String, Sendable, Hashable, CaseIterable {
        case redis, postgres
    }

    /// What a node's link to a server does while it is bad.
    package enum Trouble: Sendable, Hashable {
        /// Connections are closed, new ones too.
        case cut
        /// Connections stay, and nothing passes.
        case silent
        /// Everything comes later, in order.
        case slow(delayMs: Int)
    }

    /// What Redis has when it starts again.
    package enum Data: Sendable, Hashable {
        /// What was on disk.
        case kept
        case lost
        /// What it had some time before its end, as a replica that was behind.
        case old(ms: Int)
    }

    /// SIGKILL; its supervisor starts it again.
    case kill(node: String)
    /// SIGTERM: it drains and ends; its supervisor starts it again.
    case drain(node: String)
    /// SIGSTOP, then SIGCONT.
    case pause(node: String, ms: Int)
    case link(node: String, Server, Trouble, ms: Int)
    /// SIGKILL, then a start.
    case killRedis(downMs: Int, Data)
    case pauseRedis(ms: Int)
    case flushRedis
    /// SIGKILL, then a start.
    case killPostgres(downMs: Int)

    /// Two faults at once never have the same.
    package var target: String {
        switch self {
        case .kill(let node), .drain(let node), .pause(let node, _), .link(let node, _, _, _): node
        case .killRedis, .pauseRedis, .flushRedis: "redis"
        case .killPostgres: "postgres"
        }
    }

    /// Without names and times, for counting.
    package var kind: String {
        switch self {
        case .kill(let node): "kill \(Self.role(node))"
        case .drain(let node): "drain \(Self.role(node))"
        case .pause(let node, _): "pause \(Self.role(node))"
        case .link(let node, let server, .cut, _): "cut \(Self.role(node))-\(server.rawValue)"
        case .link(let node, let server, .silent, _): "silence \(Self.role(node))-\(server.rawValue)"
        case .link(let node, let server, .slow, _): "slow \(Self.role(node))-\(server.rawValue)"
        case .killRedis(_, .kept): "kill redis"
        case .killRedis(_, .lost): "kill redis, data lost"
        case .killRedis(_, .old): "kill redis, old data"
        case .pauseRedis: "pause redis"
        case .flushRedis: "FLUSHALL"
        case .killPostgres: "kill postgres"
        }
    }

    /// `worker-2` is a `worker`.
    package static func role(_ node: String) -> String { String(node.prefix { $0 != "-" }) }
}

extension Fault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .kill(let node): "kill \(node)"
        case .drain(let node): "drain \(node)"
        case .pause(let node, let ms): "pause \(node) \(ms) ms"
        case .link(let node, let server, .cut, let ms): "cut \(node)-\(server.rawValue) \(ms) ms"
        case .link(let node, let server, .silent, let ms): "silence \(node)-\(server.rawValue) \(ms) ms"
        case .link(let node, let server, .slow(let delayMs), let ms):
            "slow \(node)-\(server.rawValue) by \(delayMs) ms \(ms) ms"
        case .killRedis(let downMs, .kept): "kill redis \(downMs) ms"
        case .killRedis(let downMs, .lost): "kill redis \(downMs) ms, data lost"
        case .killRedis(let downMs, .old(let ms)): "kill redis \(downMs) ms, data \(ms) ms old"
        case .pauseRedis(let ms): "pause redis \(ms) ms"
        case .flushRedis: "FLUSHALL"
        case .killPostgres(let downMs): "kill postgres \(downMs) ms"
        }
    }
}
