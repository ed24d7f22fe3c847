import Clocks
import Streams
import Logging
import Synchronization

/// A Redis Cluster as this client knows it: its slot map, which a separate thread keeps current, and one command
/// pipeline for each primary. Bound: the cluster's primaries, 1,000 by Redis' own advice; pipelines of nodes that lost
/// their slots are retired.
///
/// The thread fetches the map as `TopologySchedule` wants it: when a hint suggests that it is outdated (a redirection,
/// a failed connection), and periodically. `SlotMapChoice` decides which nodes it asks and which answer to trust.
final class ClusterMap: Sendable {
    typealias Endpoint = RedisConfiguration.Endpoint

    private static let periodMs = 10_000

    private struct Shared {
        var choice = SlotMapChoice()
        var pipelines: [Endpoint: (pipeline: CommandPipeline, usedNs: UInt64)] = [:]
        var isClosed = false
        /// Counters of retired pipelines.
        var past = BrokerState()
    }

    private let configuration: RedisConfiguration
    private let seeds: [Endpoint]
    private let name: String
    private let logger: Logger
    private let shared = Mutex(Shared())
    private let thread: TopologyThread

    init(_ configuration: RedisConfiguration, seeds: [Endpoint], name: String, logger: Logger) throws(BrokerError) {
        self.configuration = configuration
        self.seeds = seeds
        self.name = name
        self.logger = logger
        thread = try TopologyThread()
    }

    /// Starts the thread, which ends with `close`. Call it once.
    func start() throws(BrokerError) { try thread.start(named: "redis-cluster") { self.run() } }

    var version: Int { thread.version }
    func watch(_ wake: WakeFlag) { thread.notify(wake) }

    func owner(of slot: Int) -> Endpoint? { shared.withLock { $0.choice.slots.owner(of: slot) } }
    /// The reason that the slots are unknown.
    var failure: RedisConnection.Failure { shared.withLock { $0.choice.failure } }

    /// Reports that the map may be outdated.
    func hint() { thread.hint() }

    /// Applies a node's redirection of one slot; the complete map follows.
    func moved(_ slot: Int, to endpoint: Endpoint) {
        if shared.withLock({ $0.choice.moved(slot, to: endpoint) }) { thread.changed() }
        hint()
    }

    /// Returns the pipeline of a node, creating it if there is none.
    func pipeline(at endpoint: Endpoint) throws(BrokerError) -> CommandPipeline {
        let configuration = configuration
        return try shared.withLock { shared throws(BrokerError) in
            if let found = shared.pipelines[endpoint]?.pipeline {
                shared.pipelines[endpoint]?.usedNs = MonotonicClock.nowNs()
                return found
            }
            if shared.isClosed { throw BrokerError(.closed) }
            let resolver = FixedEndpoint(configuration: configuration, endpoint: endpoint, purpose: .clusterPrimary) {
                [weak self] in self?.hint()
            }
            let made = try CommandPipeline(configuration, resolver: resolver, name: name, logger: logger)
            shared.pipelines[endpoint] = (made, MonotonicClock.nowNs())
            return made
        }
    }

    func countReconnect() { shared.withLock { $0.past.reconnects += 1 } }

    var state: BrokerState {
        let (slots, pipelines, past, failure) = shared.withLock { shared in
            (shared.choice.slots, shared.pipelines.mapValues(\.pipeline), shared.past, shared.choice.failure)
        }
        var sum = past
        sum.connected = !slots.isEmpty
        sum.lastConnectError = slots.isEmpty ? failure.reason : ""
        sum.isMisconfigured = slots.isEmpty && failure.isFinal
        let scheme = configuration.tls == nil ? "redis" : "rediss"
        for endpoint in Set(slots.primaries).union(pipelines.keys).sorted(by: { $0.description < $1.description }) {
            let state = pipelines[endpoint]?.state
            if let state {
                sum.add(state)
                // A node without a pipeline has not been used yet, which is no failure.
                if !state.connected, slots.primaries.contains(endpoint) {
                    sum.connected = false
                    sum.lastConnectError = state.lastConnectError
                }
            }
            sum.servers.append(
                BrokerServer(
                    address: "\(scheme)://\(endpoint)", connected: state?.connected ?? false, id: state?.serverID ?? "",
                    lastConnectError: state?.lastConnectError ?? ""))
        }
        return sum
    }

    func close() async {
        let pipelines = shared.withLock { shared in
            shared.isClosed = true
            return shared.pipelines.values.map(\.pipeline)
        }
        thread.close()
        for pipeline in pipelines { await pipeline.close() }
        await thread.waitUntilEnded()
    }

    // MARK: The thread

    private func run() {
        var connection: RedisConnection?
        var schedule = TopologySchedule(pauseMinMs: configuration.reconnectMinMs, periodMs: Self.periodMs)
        while !thread.isClosed {
            let isHinted = thread.takeHint()
            if isHinted, refresh(&connection) { schedule.changed() }
            schedule.wait(afterRound: isHinted, nowNs: MonotonicClock.nowNs()) { Int.random(in: $0) }
            wait(schedule)
        }
    }

    /// Waits until the schedule wants a look at hints, or `close`.
    private func wait(_ schedule: TopologySchedule) {
        while !thread.isClosed {
            let (raised, _) = thread.wake.wait(waitMs: msUntil(schedule.untilNs))
            if raised { thread.wake.lower() }
            switch schedule.step(isHinted: raised, isAnnounced: false, nowNs: MonotonicClock.nowNs()) {
            case .wait: break
            case .proceed: return
            case .query: return hint()
            }
        }
    }

    /// Queries one node after another until one reports the slots. Returns whether anything changed.
    private func refresh(_ connection: inout RedisConnection?) -> Bool {
        if let known = connection {
            if let hasChanged = ask(known) { return hasChanged }
            connection = nil
        }
        for endpoint in shared.withLock({ $0.choice.candidates(seeds: seeds) }) {
            if thread.isClosed { return false }
            do throws(RedisConnection.Failure) {
                let made = try RedisConnection(configuration, at: endpoint, for: .clusterNode, name: name)
                if let hasChanged = ask(made) {
                    connection = made
                    return hasChanged
                }
            } catch {
                learn(endpoint) { $0.failed(endpoint, error) }
            }
        }
        return false
    }

    /// Returns whether anything changed; nil if the node is not trusted.
    private func ask(_ connection: RedisConnection) -> Bool? {
        let endpoint = connection.endpoint
        var commands = CommandBuffer("CLUSTER", "INFO")
        commands.add(["CLUSTER", "SLOTS"])
        do throws(RedisConnection.Failure) {
            let values = try connection.call(commands)
            return learn(endpoint) { $0.heard(info: values[0], slots: values[1], from: endpoint) }
        } catch {
            // A call that fails says nothing about settings.
            return learn(endpoint) { $0.failed(endpoint, RedisConnection.Failure(reason: error.reason)) }
        }
    }

    /// Returns whether anything changed; nil if the node is not trusted.
    @discardableResult
    private func learn(_ endpoint: Endpoint, _ hear: (inout SlotMapChoice) -> SlotMapChoice.News) -> Bool? {
        let (news, retired) = shared.withLock { shared -> (SlotMapChoice.News, [CommandPipeline]) in
            let news = hear(&shared.choice)
            switch news {
            case .refused: return (news, [])
            case .changed(isFailover: true): shared.past.serverChanges += 1
            case .changed, .unchanged: break
            }
            return (news, takeRetired(&shared))
        }
        for pipeline in retired { pipeline.retire() }
        switch news {
        case .unchanged: return false
        case .changed:
            let count = shared.withLock { $0.choice.slots.primaries.count }
            logger.info("redis cluster slots", metadata: ["primaries": "\(count)"])
            thread.changed()
            return true
        case .refused(let reason, let isNew):
            if isNew {
                logger.warning(
                    "redis cluster node did not return its slots",
                    metadata: ["address": "\(endpoint)", "reason": "\(reason)"])
            }
            return nil
        }
    }

    /// Removes the pipelines that are to be retired.
    private func takeRetired(_ shared: inout Shared) -> [CommandPipeline] {
        let nowNs = MonotonicClock.nowNs()
        var retired: [CommandPipeline] = []
        for (endpoint, entry) in shared.pipelines {
            let state = entry.pipeline.state
            guard
                shared.choice.retires(
                    endpoint, isConnected: state.connected, usedNs: entry.usedNs, nowNs: nowNs)
            else { continue }
            shared.pipelines[endpoint] = nil
            shared.past.addCounters(of: state)
            retired.append(entry.pipeline)
        }
        return retired
    }
}

extension BrokerState {
    fileprivate mutating func addCounters(of other: BrokerState) {
        reconnects += other.reconnects
        serverChanges += other.serverChanges
        bytesWritten += other.bytesWritten
        commandsAnswered += other.commandsAnswered
        sentByCallers += other.sentByCallers
        requestsOverloaded += other.requestsOverloaded
        requestsUnknown += other.requestsUnknown
    }

    fileprivate mutating func add(_ other: BrokerState) {
        addCounters(of: other)
        queuedRequests += other.queuedRequests
        queuedBytes += other.queuedBytes
        inFlightRequests += other.inFlightRequests
    }
}
