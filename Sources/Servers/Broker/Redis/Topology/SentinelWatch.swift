import Clocks
import Pacing
import Streams
import Logging
import Synchronization

/// The current master of a group that Redis Sentinel monitors
/// (https://redis.io/docs/latest/develop/reference/sentinel-clients/).
///
/// A thread queries every sentinel and trusts the one with the highest configuration epoch, so a sentinel that was cut
/// off does not lead back to a former master. It queries them when a connection failed or was refused, when a sentinel
/// announces `+switch-master`, and every `periodMs`.
final class SentinelWatch: Sendable {
    typealias Endpoint = RedisConfiguration.Endpoint

    private static let periodMs = 1_000
    private static let pauseMaxMs = 500

    private struct Shared {
        var master: Endpoint?
        var epoch = -1
        var lastError = "no sentinel has been queried yet"
        var isLastErrorFinal = false
    }

    private let configuration: RedisConfiguration
    private let addresses: [Endpoint]
    private let master: String
    private let name: String
    private let logger: Logger
    private let shared = Mutex(Shared())
    private let thread: TopologyThread

    init(
        _ configuration: RedisConfiguration, addresses: [Endpoint], master: String, name: String, logger: Logger
    ) throws(BrokerError) {
        guard !addresses.isEmpty, !master.isEmpty else {
            throw BrokerError(.misconfigured, "sentinels need addresses and the name of the master")
        }
        self.configuration = configuration
        self.addresses = addresses
        self.master = master
        self.name = name
        self.logger = logger
        thread = try TopologyThread()
    }

    /// Starts the thread, which ends with `close`. Call it once.
    func start() throws(BrokerError) { try thread.start(named: "redis-sentinel") { self.run() } }

    var version: Int { thread.version }
    var current: Endpoint? { shared.withLock { $0.master } }
    /// The reason that the master is unknown.
    var failure: RedisConnection.Failure {
        shared.withLock { RedisConnection.Failure(reason: $0.lastError, isFinal: $0.isLastErrorFinal) }
    }
    func watch(_ wake: WakeFlag) { thread.notify(wake) }

    /// Reports that the master may have changed.
    func hint() { thread.hint() }

    func close() async {
        thread.close()
        await thread.waitUntilEnded()
    }

    // MARK: The thread

    private func run() {
        var asking: [Endpoint: RedisConnection] = [:]
        /// Subscribed to `+switch-master` at the first sentinel that answers.
        var listening: RedisConnection?
        var pause = JitteredBackoff(minMs: configuration.reconnectMinMs, maxMs: SentinelWatch.pauseMaxMs)
        while !thread.isClosed {
            let isHinted = thread.takeHint()
            if isHinted {
                if queryAll(&asking) { pause.reset() }
                if listening == nil { listening = listen(asking) }
            }
            // Further hints wait for the pause, unless a sentinel announces something.
            let waitMs = isHinted ? pause.nextMs() : SentinelWatch.periodMs
            let untilNs = addMs(waitMs, to: MonotonicClock.nowNs())
            while !thread.isClosed {
                let (raised, readable) = thread.wake.wait(socket: listening?.fd, waitMs: msUntil(untilNs))
                if raised { thread.wake.lower() }
                if readable, let heard = listening {
                    if (try? heard.reply()) == nil { listening = nil }
                    hint()
                    break
                }
                if MonotonicClock.nowNs() >= untilNs {
                    if !isHinted { hint() }
                    break
                }
                if raised, !isHinted { break }
            }
        }
    }

    /// Queries all sentinels. Returns whether the master changed.
    private func queryAll(_ connections: inout [Endpoint: RedisConnection]) -> Bool {
        var best: (epoch: Int, master: Endpoint)?
        var failure = RedisConnection.Failure(reason: "")
        var answers = 0
        for address in addresses {
            if thread.isClosed { return false }
            do throws(RedisConnection.Failure) {
                let connection: RedisConnection
                if let known = connections.removeValue(forKey: address) {
                    connection = known
                } else {
                    connection = try RedisConnection(configuration, at: address, for: .sentinel, name: name)
                }
                let answer = try connection.call(CommandBuffer("SENTINEL", "MASTER", master))[0]
                connections[address] = connection
                guard let found = SentinelWatch.decode(answer) else {
                    failure = .init(reason: "\(address): unknown master \(master)")
                    continue
                }
                answers += 1
                if best == nil || found.epoch > best?.epoch ?? -1 { best = found }
            } catch {
                failure = .init(reason: "\(address): \(error.reason)", isFinal: error.isFinal)
            }
        }
        return learn(best, isMajority: 2 * answers > addresses.count, failure)
    }

    /// Decodes the reply to `SENTINEL MASTER`; nil: the sentinel does not know the name.
    static func decode(_ answer: RedisValue) -> (epoch: Int, master: Endpoint)? {
        guard let host = answer["ip"]?.text, !host.isEmpty, let port = answer["port"]?.integer,
            (1...65_535).contains(port), let epoch = answer["config-epoch"]?.integer
        else { return nil }
        return (epoch, .tcp(host: host, port: port))
    }

    private func learn(
        _ found: (epoch: Int, master: Endpoint)?, isMajority: Bool, _ failure: RedisConnection.Failure
    ) -> Bool {
        guard let found else {
            let isNew = shared.withLock { shared in
                defer { (shared.lastError, shared.isLastErrorFinal) = (failure.reason, failure.isFinal) }
                return shared.lastError != failure.reason
            }
            if isNew { logger.warning("no sentinel answers", metadata: ["reason": "\(failure.reason)"]) }
            return false
        }
        let hasChanged = shared.withLock { shared in
            shared.lastError = ""
            // A lower epoch comes from outdated sentinels, unless a majority agrees: replaced sentinels start at 0.
            guard found.epoch >= shared.epoch || isMajority, found.master != shared.master else { return false }
            shared.epoch = found.epoch
            shared.master = found.master
            return true
        }
        guard hasChanged else { return false }
        logger.info(
            "redis master by sentinel", metadata: ["address": "\(found.master)", "epoch": "\(found.epoch)"])
        thread.changed()
        return true
    }

    private func listen(_ asking: [Endpoint: RedisConnection]) -> RedisConnection? {
        for address in addresses where asking[address] != nil {
            guard
                let connection = try? RedisConnection(
                    configuration, at: address, for: .sentinel, name: "\(name):switch-master"),
                let answer = try? connection.call(CommandBuffer("SUBSCRIBE", "+switch-master")), answer[0].array != nil
            else { continue }
            return connection
        }
        return nil
    }
}

/// The master that the sentinels report. A server that reports to be a replica is rejected.
struct SentinelEndpoint: RedisEndpointResolver {
    let configuration: RedisConfiguration
    let watch: SentinelWatch

    func connect(name: String) throws(RedisConnection.Failure) -> RedisConnection {
        guard let endpoint = watch.current else { throw watch.failure }
        return try RedisConnection(configuration, at: endpoint, for: .primary, name: name)
    }

    func isCurrent(_ endpoint: RedisConfiguration.Endpoint) -> Bool { watch.current == endpoint }
    var version: Int { watch.version }
    func failed() { watch.hint() }
    func watch(_ wake: WakeFlag) { watch.watch(wake) }

    var description: String {
        watch.current.map { "\(configuration.tls == nil ? "redis" : "rediss")://\($0)" } ?? configuration.description
    }
}
