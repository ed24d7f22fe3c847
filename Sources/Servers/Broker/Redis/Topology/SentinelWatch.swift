import Clocks
import Streams
import Logging
import Synchronization

/// The current master of a group that Redis Sentinel monitors
/// (https://redis.io/docs/latest/develop/reference/sentinel-clients/).
///
/// A thread queries every sentinel as `TopologySchedule` wants it: when a connection failed or was refused, when a
/// sentinel announces `+switch-master`, and periodically. `MasterChoice` decides which report to believe.
final class SentinelWatch: Sendable {
    typealias Endpoint = RedisConfiguration.Endpoint

    private static let periodMs = 1_000

    private let configuration: RedisConfiguration
    private let addresses: [Endpoint]
    private let master: String
    private let name: String
    private let logger: Logger
    private let choice = Mutex(MasterChoice())
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
    var current: Endpoint? { choice.withLock { $0.master } }
    /// The reason that the master is unknown.
    var failure: RedisConnection.Failure { choice.withLock { $0.failure } }
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
        var schedule = TopologySchedule(pauseMinMs: configuration.reconnectMinMs, periodMs: Self.periodMs)
        while !thread.isClosed {
            let isHinted = thread.takeHint()
            if isHinted {
                if queryAll(&asking) { schedule.changed() }
                if listening == nil { listening = listen(asking) }
            }
            schedule.wait(afterRound: isHinted, nowNs: MonotonicClock.nowNs()) { Int.random(in: $0) }
            wait(schedule, &listening)
        }
    }

    /// Waits until the schedule wants a look at hints, or `close`.
    private func wait(_ schedule: TopologySchedule, _ listening: inout RedisConnection?) {
        while !thread.isClosed {
            let (raised, readable) = thread.wake.wait(
                socket: listening?.fd, waitMs: msUntil(schedule.untilNs))
            if raised { thread.wake.lower() }
            if readable, let heard = listening, (try? heard.reply()) == nil { listening = nil }
            switch schedule.step(isHinted: raised, isAnnounced: readable, nowNs: MonotonicClock.nowNs()) {
            case .wait: break
            case .proceed: return
            case .query: return hint()
            }
        }
    }

    /// Queries all sentinels. Returns whether the master changed.
    private func queryAll(_ connections: inout [Endpoint: RedisConnection]) -> Bool {
        var round = SentinelRound(sentinelCount: addresses.count)
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
                if let report = SentinelRound.decode(answer) {
                    round.heard(report)
                } else {
                    round.failed(.init(reason: "\(address): unknown master \(master)"))
                }
            } catch {
                round.failed(.init(reason: "\(address): \(error.reason)", isFinal: error.isFinal))
            }
        }
        return learn(round)
    }

    private func learn(_ round: SentinelRound) -> Bool {
        switch choice.withLock({ $0.learn(round) }) {
        case .unchanged: return false
        case .silent(let isNew):
            if isNew { logger.warning("no sentinel answers", metadata: ["reason": "\(round.failure.reason)"]) }
            return false
        case .changed(let report):
            logger.info(
                "redis master by sentinel", metadata: ["address": "\(report.master)", "epoch": "\(report.epoch)"])
            thread.changed()
            return true
        }
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
