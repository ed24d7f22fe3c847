import Streams
import Synchronization

/// Where a thread's next connection goes. Which server that is can change at any time; whoever waits is woken then.
protocol RedisEndpointResolver: Sendable {
    /// Connects now, blocking the calling thread for at most a few connect time-outs.
    func connect(name: String) throws(RedisConnection.Failure) -> RedisConnection
    /// To a server that has been named by the right one.
    func connect(to endpoint: RedisConfiguration.Endpoint, name: String) throws(RedisConnection.Failure)
        -> RedisConnection
    /// Whether a connection to there is still to the right server.
    func isCurrent(_ endpoint: RedisConfiguration.Endpoint) -> Bool
    /// Grows whenever the answer of `isCurrent` may have changed: what a reason to wait was is one no longer.
    var version: Int { get }
    /// A connection failed, or its server refused to be the right one.
    func failed()
    /// A server refused a command in these words, which may say who is the right one.
    func refused(_ message: String, by endpoint: RedisConfiguration.Endpoint)
    /// The longest that a read may block there.
    var blockMsMax: Int { get }
    /// Wakes a thread whenever `version` grows.
    func watch(_ wake: WakeFlag)
    /// For logs.
    var description: String { get }
}

extension RedisEndpointResolver {
    var blockMsMax: Int { .max }

    /// Where one server has all, it names no other.
    func connect(
        to endpoint: RedisConfiguration.Endpoint, name: String
    ) throws(RedisConnection.Failure) -> RedisConnection {
        throw RedisConnection.Failure(
            reason: "redirected to \(endpoint), which is for clusters (redis.cluster.addresses)")
    }

    func refused(_ message: String, by endpoint: RedisConfiguration.Endpoint) {}
}

/// Always the same address.
struct FixedEndpoint: RedisEndpointResolver {
    let configuration: RedisConfiguration
    let endpoint: RedisConfiguration.Endpoint
    let purpose: RedisConnection.Purpose
    /// Told of failures, when somebody can do something about them.
    var onFailure: @Sendable () -> Void = {}

    func connect(name: String) throws(RedisConnection.Failure) -> RedisConnection {
        try RedisConnection(configuration, at: endpoint, for: purpose, name: name)
    }

    func isCurrent(_ endpoint: RedisConfiguration.Endpoint) -> Bool { true }
    var version: Int { 0 }
    func failed() { onFailure() }
    func watch(_ wake: WakeFlag) {}

    var description: String { "\(configuration.tls == nil ? "redis" : "rediss")://\(endpoint)" }
}

/// The threads to wake when the servers change. Bound: one for each pipeline and reader that lives.
final class WakeList: Sendable {
    private struct Weak: Sendable {
        weak let wake: WakeFlag?
    }

    private let list = Mutex<[Weak]>([])

    func add(_ wake: WakeFlag) {
        list.withLock { list in
            list.removeAll { $0.wake == nil }
            list.append(Weak(wake: wake))
        }
    }

    func raiseAll() {
        for entry in list.withLock({ $0 }) { entry.wake?.raise() }
    }
}
