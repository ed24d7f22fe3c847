/// A fault and its duration.
package enum Fault: Sendable, Hashable {
    /// The other end of a node's link.
    package enum Peer: String, Sendable, Hashable, CaseIterable {
        case redis, postgres
        /// The proxy, and subscribers that bypass it.
        case clients
    }

    /// The way in which a link is impaired.
    package enum Impairment: Sendable, Hashable {
        /// Existing and new connections are closed.
        case cut
        /// Connections stay open, but nothing passes.
        case silent
        /// Everything is delayed, in order.
        case slow(delayMs: Int)
    }

    /// The data of Redis after its restart.
    package enum Data: Sendable, Hashable {
        /// The data on disk.
        case kept
        case lost
        /// The data of some time before it ended, like those of a lagging replica.
        case old(ms: Int)
    }

    /// SIGKILL; the supervisor restarts the node.
    case kill(node: String)
    /// SIGTERM: the node drains and ends; the supervisor restarts it.
    case drain(node: String)
    /// SIGSTOP, then SIGCONT.
    case pause(node: String, ms: Int)
    case link(node: String, Peer, Impairment, ms: Int)
    /// An impairment of the links of all nodes at once.
    case links(Peer, Impairment, ms: Int)
    /// SIGKILL, then a restart, optionally as if on another machine with a clock that is ahead by `clockErrorMs`.
    case killRedis(downMs: Int, Data, clockErrorMs: Int = 0)
    case pauseRedis(ms: Int)
    case flushRedis
    /// SIGKILL, then a restart.
    case killPostgres(downMs: Int)
    /// SIGSTOP of all processes, then SIGCONT.
    case pausePostgres(ms: Int)

    /// The fault's target; concurrent faults have different targets.
    package var target: String {
        switch self {
        case .kill(let node), .drain(let node), .pause(let node, _), .link(let node, _, _, _): node
        case .killRedis, .pauseRedis, .flushRedis: "redis"
        case .killPostgres, .pausePostgres: "postgres"
        case .links(let peer, _, _): peer.rawValue
        }
    }

    /// The duration of the fault without restarts and drains.
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

    /// The kind without names and times, for counting.
    package var kind: String {
        switch self {
        case .kill(let node): "kill \(Self.role(node))"
        case .drain(let node): "drain \(Self.role(node))"
        case .pause(let node, _): "pause \(Self.role(node))"
        case .link(let node, let peer, let impairment, _): "\(impairment.word) \(Self.role(node))-\(peer.rawValue)"
        case .links(let peer, let impairment, _): "\(impairment.word) all-\(peer.rawValue)"
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

    /// Returns the role in a node's name: `worker` for `worker-2`.
    package static func role(_ node: String) -> String { String(node.prefix { $0 != "-" }) }
}

extension Fault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .kill(let node): "kill \(node)"
        case .drain(let node): "drain \(node)"
        case .pause(let node, let ms): "pause \(node) \(ms) ms"
        case .link(let node, let peer, let impairment, let ms):
            "\(impairment.word) \(node)-\(peer.rawValue)\(impairment.by) \(ms) ms"
        case .links(let peer, let impairment, let ms):
            "\(impairment.word) all-\(peer.rawValue)\(impairment.by) \(ms) ms"
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

extension Fault.Impairment {
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
