import Streams
import Synchronization

/// Finds the server that a thread connects to. The server may change at any time, which wakes the waiting threads.
protocol RedisEndpointResolver: Sendable {
    /// Connects, blocking the calling thread for at most a few connect timeouts.
    func connect(name: String) throws(RedisConnection.Failure) -> RedisConnection
    /// Connects to a server that the right one redirected to.
    func connect(to endpoint: RedisConfiguration.Endpoint, name: String) throws(RedisConnection.Failure)
        -> RedisConnection
    /// Whether the server at this endpoint is still the right one.
    func isCurrent(_ endpoint: RedisConfiguration.Endpoint) -> Bool
    /// Increases whenever the result of `isCurrent` may have changed; back-off then has no reason any more.
    var version: Int { get }
    /// Reports that a connection failed, or that its server was not the right one.
    func failed()
    /// Reports that a server refused a command, possibly with the right server's address.
    func refused(_ failure: RedisFailure, by endpoint: RedisConfiguration.Endpoint)
    /// The longest time that a read may block.
    var blockMsMax: Int { get }
    /// Wakes a thread whenever `version` increases.
    func watch(_ wake: WakeFlag)
    /// The server's description for logs.
    var description: String { get }
}

extension RedisEndpointResolver {
    var blockMsMax: Int { .max }

    /// - Throws: always, because only servers of a cluster redirect.
    func connect(
        to endpoint: RedisConfiguration.Endpoint, name: String
    ) throws(RedisConnection.Failure) -> RedisConnection {
        throw RedisConnection.Failure(
            reason: "redirected to \(endpoint), which is for clusters (redis.cluster.addresses)")
    }

    func refused(_ failure: RedisFailure, by endpoint: RedisConfiguration.Endpoint) {}
}

/// A resolver that always returns the same address.
struct FixedEndpoint: RedisEndpointResolver {
    let configuration: RedisConfiguration
    let endpoint: RedisConfiguration.Endpoint
    let purpose: RedisConnection.Purpose
    /// Called when a connection fails.
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

/// The threads to wake when servers change. Bound: one for each live pipeline and reader.
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
