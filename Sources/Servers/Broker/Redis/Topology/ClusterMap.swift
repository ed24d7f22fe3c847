import Clocks
import Pacing
import Streams
import Logging
import Synchronization

/// A Redis Cluster as this client knows it: its slot map, which a separate thread keeps current, and one command
/// pipeline for each primary. Bound: the cluster's primaries, 1,000 by Redis' own advice; pipelines of nodes that lost
/// their slots are retired.
///
/// The thread fetches the map when a hint suggests that it is outdated (a redirection, a failed connection), with
/// growing pauses while that does not help, and otherwise every `periodMs`.
final class ClusterMap: Sendable {
    typealias Endpoint = RedisConfiguration.Endpoint

    private static let periodMs = 10_000
    private static let pauseMaxMs = 500
    /// The pipeline of a node without slots is kept this long after its last use: a slot may be moving there.
    private static let idleMs = 5_000

    private struct Shared {
        var slots = SlotMap()
        var pipelines: [Endpoint: (pipeline: CommandPipeline, usedNs: UInt64)] = [:]
        var isClosed = false
        /// Counters of retired pipelines.
        var past = BrokerState()
        var lastError = "not queried yet"
        var isLastErrorFinal = false
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

    func owner(of slot: Int) -> Endpoint? { shared.withLock { $0.slots.owner(of: slot) } }
    var lastError: String { shared.withLock { $0.lastError } }
    /// The reason that the slots are unknown.
    var failure: RedisConnection.Failure {
        shared.withLock { RedisConnection.Failure(reason: $0.lastError, isFinal: $0.isLastErrorFinal) }
    }

    /// Reports that the map may be outdated.
    func hint() { thread.hint() }

    /// Applies a node's redirection of one slot; the complete map follows.
    func moved(_ slot: Int, to endpoint: Endpoint) {
        let hasChanged = shared.withLock { shared in
            guard shared.slots.owner(of: slot) != endpoint else { return false }
            shared.slots.move(slot, to: endpoint)
            return true
        }
        if hasChanged { thread.changed() }
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
            (
                shared.slots, shared.pipelines.mapValues(\.pipeline), shared.past,
                RedisConnection.Failure(reason: shared.lastError, isFinal: shared.isLastErrorFinal)
            )
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
        var pause = JitteredBackoff(minMs: configuration.reconnectMinMs, maxMs: ClusterMap.pauseMaxMs)
        while !thread.isClosed {
            if thread.takeHint() {
                if refresh(&connection) { pause.reset() }
                // Hints during the pause mostly concern changes just fetched, so they wait.
                sleep(ms: pause.nextMs())
            } else {
                let (raised, _) = thread.wake.wait(waitMs: ClusterMap.periodMs)
                thread.wake.lower()
                if !raised { thread.hint() }
            }
        }
    }

    /// Sleeps; only `close` interrupts it.
    private func sleep(ms: Int) {
        let untilNs = addMs(ms, to: MonotonicClock.nowNs())
        while MonotonicClock.nowNs() < untilNs, !thread.isClosed {
            if thread.wake.wait(waitMs: msUntil(untilNs)).raised { thread.wake.lower() }
        }
    }

    /// Queries one node after another until one reports the slots. Returns whether anything changed.
    private func refresh(_ connection: inout RedisConnection?) -> Bool {
        if let known = connection {
            if let hasChanged = ask(known) { return hasChanged }
            connection = nil
        }
        let slots = shared.withLock { $0.slots }
        var asked: Set<Endpoint> = []
        for endpoint in slots.primaries + slots.replicas + seeds where asked.insert(endpoint).inserted {
            if thread.isClosed { return false }
            do throws(RedisConnection.Failure) {
                let made = try RedisConnection(configuration, at: endpoint, for: .clusterNode, name: name)
                if let hasChanged = ask(made) {
                    connection = made
                    return hasChanged
                }
            } catch {
                failed(endpoint, error.reason, isFinal: error.isFinal)
            }
        }
        return false
    }

    private func failed(_ endpoint: Endpoint, _ reason: String, isFinal: Bool = false) {
        let isNew = shared.withLock { shared in
            defer { (shared.lastError, shared.isLastErrorFinal) = ("\(endpoint): \(reason)", isFinal) }
            return shared.lastError != "\(endpoint): \(reason)"
        }
        if isNew {
            logger.warning(
                "redis cluster node did not return its slots",
                metadata: ["address": "\(endpoint)", "reason": "\(reason)"])
        }
    }

    /// Returns whether anything changed; nil if the node cannot be trusted, because it is down or cut off from the
    /// majority.
    private func ask(_ connection: RedisConnection) -> Bool? {
        var commands = CommandBuffer("CLUSTER", "INFO")
        commands.add(["CLUSTER", "SLOTS"])
        do throws(RedisConnection.Failure) {
            let values = try connection.call(commands)
            guard values[0].text?.contains("cluster_state:ok") == true else {
                failed(connection.endpoint, "cluster_state is not ok")
                return nil
            }
            guard let slots = SlotMap(values[1], asked: connection.endpoint), !slots.isEmpty else {
                failed(connection.endpoint, "malformed reply to CLUSTER SLOTS")
                return nil
            }
            return learn(slots)
        } catch {
            failed(connection.endpoint, error.reason)
            return nil
        }
    }

    private func learn(_ slots: SlotMap) -> Bool {
        let now = MonotonicClock.nowNs()
        let (hasChanged, retired) = shared.withLock { shared -> (Bool, [CommandPipeline]) in
            let hasChanged = shared.slots != slots
            if shared.slots.isFailover(to: slots) { shared.past.serverChanges += 1 }
            shared.slots = slots
            shared.lastError = ""
            var retired: [CommandPipeline] = []
            for (endpoint, entry) in shared.pipelines where !slots.primaries.contains(endpoint) {
                let state = entry.pipeline.state
                guard !state.connected || now > addMs(ClusterMap.idleMs, to: entry.usedNs) else { continue }
                shared.pipelines[endpoint] = nil
                shared.past.addCounters(of: state)
                retired.append(entry.pipeline)
            }
            return (hasChanged, retired)
        }
        for pipeline in retired { pipeline.retire() }
        if hasChanged {
            logger.info("redis cluster slots", metadata: ["primaries": "\(slots.primaries.count)"])
            thread.changed()
        }
        return hasChanged
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
