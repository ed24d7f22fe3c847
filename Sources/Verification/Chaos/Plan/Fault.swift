/// One thing that goes wrong, and for how long.
package enum Fault: Sendable, Hashable {
    /// Who stands at the other end of a node's link.
    package enum Peer: String, Sendable, Hashable, CaseIterable {
        case redis, postgres
        /// The proxy and those subscribers that come past it.
        case clients
    }

    /// What a link does while it is bad.
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
    case link(node: String, Peer, Trouble, ms: Int)
    /// The links of all nodes at once.
    case links(Peer, Trouble, ms: Int)
    /// SIGKILL, then a start, perhaps as on another machine whose clock is that far ahead.
    case killRedis(downMs: Int, Data, clockErrorMs: Int = 0)
    case pauseRedis(ms: Int)
    case flushRedis
    /// SIGKILL, then a start.
    case killPostgres(downMs: Int)
    /// SIGSTOP of all its processes, then SIGCONT.
    case pausePostgres(ms: Int)

    /// Two faults at once never have the same.
    package var target: String {
        switch self {
        case .kill(let node), .drain(let node), .pause(let node, _), .link(let node, _, _, _): node
        case .killRedis, .pauseRedis, .flushRedis: "redis"
        case .killPostgres, .pausePostgres: "postgres"
        case .links(let peer, _, _): peer.rawValue
        }
    }

    /// How long its cause lasts, starts and drains not counted.
    package var ms: Int {
        switch self {
        case .kill, .drain, .flushRedis: 0
        case .pause(_, let ms), .link(_, _, _, let ms), .links(_, _, let ms), .pauseRedis(let ms),
            .pausePostgres(let ms):
            ms
        case .killRedis(let downMs, .old(let ms), _): ms + downMs
        case .killRedis(let downMs, _, _), .killPostgres(let downMs): downMs
        }
    }

    /// Without names and times, for counting.
    package var kind: String {
        switch self {
        case .kill(let node): "kill \(Self.role(node))"
        case .drain(let node): "drain \(Self.role(node))"
        case .pause(let node, _): "pause \(Self.role(node))"
        case .link(let node, let peer, let trouble, _): "\(trouble.word) \(Self.role(node))-\(peer.rawValue)"
        case .links(let peer, let trouble, _): "\(trouble.word) all-\(peer.rawValue)"
        case .killRedis(_, .kept, _): "kill redis"
        case .killRedis(_, .lost, 0): "kill redis, data lost"
        case .killRedis(_, .lost, _): "kill redis, data lost, other clock"
        case .killRedis(_, .old, 0): "kill redis, old data"
        case .killRedis(_, .old, _): "kill redis, old data, other clock"
        case .pauseRedis: "pause redis"
        case .flushRedis: "FLUSHALL"
        case .killPostgres: "kill postgres"
        case .pausePostgres: "pause postgres"
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
        case .link(let node, let peer, let trouble, let ms):
            "\(trouble.word) \(node)-\(peer.rawValue)\(trouble.by) \(ms) ms"
        case .links(let peer, let trouble, let ms): "\(trouble.word) all-\(peer.rawValue)\(trouble.by) \(ms) ms"
        case .killRedis(let downMs, let data, let clockErrorMs):
            "kill redis \(downMs) ms\(data.words)"
                + (clockErrorMs == 0 ? "" : ", clock \(clockErrorMs > 0 ? "+" : "")\(clockErrorMs) ms")
        case .pauseRedis(let ms): "pause redis \(ms) ms"
        case .flushRedis: "FLUSHALL"
        case .killPostgres(let downMs): "kill postgres \(downMs) ms"
        case .pausePostgres(let ms): "pause postgres \(ms) ms"
        }
    }
}

extension Fault.Data {
    fileprivate var words: String {
        switch self {
        case .kept: ""
        case .lost: ", data lost"
        case .old(let ms): ", data \(ms) ms old"
        }
    }
}

extension Fault.Trouble {
    fileprivate var word: String {
        switch self {
        case .cut: "cut"
        case .silent: "silence"
        case .slow: "slow"
        }
    }

    fileprivate var by: String {
        if case .slow(let delayMs) = self { " by \(delayMs) ms" } else { "" }
    }
}
