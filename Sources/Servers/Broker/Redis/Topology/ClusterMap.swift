import Streams
import Logging
import Synchronization

/// What is known of a Redis Cluster: its slot map, kept fresh by a thread of its own, and one command pipeline for each
/// primary. Bound: as many pipelines as the cluster has primaries, 1,000 by Redis' own advice; those of nodes that
/// lost their slots are retired.
///
/// The map is asked for at once when something hints that it is old (a redirection, a failed connection), with growing
/// pauses while that does not help, and every `periodMs` without any hint.
final class ClusterMap: Sendable {
    typealias Endpoint = RedisConfiguration.Endpoint

    private static let periodMs = 10_000
    private static let pauseMaxMs = 500
    /// A pipeline of a node without slots is kept this long after its last use: a slot may be on its way there.
    private static let idleMs = 5_000

    private struct Shared {
        var slots = SlotMap()
        var pipelines: [Endpoint: (pipeline: CommandPipeline, usedNs: UInt64)] = [:]
        var isHinted = true
        var isClosed = false
        var hasEnded = false
        var endWaiters: [CheckedContinuation<Void, Never>] = []
        /// Counters of pipelines that are gone.
        var past = BrokerState()
        var lastError = "not asked yet"
        var isLastErrorFinal = false
    }

    private let configuration: RedisConfiguration
    private let seeds: [Endpoint]
    private let name: String
    private let logger: Logger
    private let shared = Mutex(Shared())
    private let wake: WakeFlag
    private let watchers = WakeList()
    private let changes = Atomic<Int>(0)

    init(_ configuration: RedisConfiguration, seeds: [Endpoint], name: String, logger: Logger) throws(BrokerError) {
        self.configuration = configuration
        self.seeds = seeds
        self.name = name
        self.logger = logger
        wake = try WakeFlag()
    }

    /// Once; the thread ends with `close`.
    func start() throws(BrokerError) {
        try startRedisThread(named: "redis-cluster") { self.run() }
    }

    var version: Int { changes.load(ordering: .acquiring) }
    func watch(_ wake: WakeFlag) { watchers.add(wake) }

    func owner(of slot: Int) -> Endpoint? { shared.withLock { $0.slots.owner(of: slot) } }
    var lastError: String { shared.withLock { $0.lastError } }
    /// Why the slots are not known.
    var failure: RedisConnection.Failure {
        shared.withLock { RedisConnection.Failure(reason: $0.lastError, isFinal: $0.isLastErrorFinal) }
    }

    /// The map may be old.
    func hint() {
        let isNew = shared.withLock { shared in
            defer { shared.isHinted = true }
            return !shared.isHinted
        }
        if isNew { wake.raise() }
    }

    /// A node said so of one slot; the whole map follows.
    func moved(_ slot: Int, to endpoint: Endpoint) {
        let isNews = shared.withLock { shared in
            guard shared.slots.owner(of: slot) != endpoint else { return false }
            shared.slots.move(slot, to: endpoint)
            return true
        }
        if isNews {
            changes.wrappingAdd(1, ordering: .acquiringAndReleasing)
            watchers.raiseAll()
        }
        hint()
    }

    /// The pipeline of a node, made when there is none.
    func pipeline(at endpoint: Endpoint) throws(BrokerError) -> CommandPipeline {
        let configuration = configuration
        return try shared.withLock { shared throws(BrokerError) in
            if let found = shared.pipelines[endpoint]?.pipeline {
                shared.pipelines[endpoint]?.usedNs = monotonicNs()
                return found
            }
            if shared.isClosed { throw BrokerError(.closed) }
            let resolver = FixedEndpoint(configuration: configuration, endpoint: endpoint, purpose: .clusterPrimary) {
                [weak self] in self?.hint()
            }
            let made = try CommandPipeline(configuration, resolver: resolver, name: name, logger: logger)
            shared.pipelines[endpoint] = (made, monotonicNs())
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
                // One that nobody has asked for is not connected and nothing is wrong with it.
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
        wake.raise()
        for pipeline in pipelines { await pipeline.close() }
        await withCheckedContinuation { continuation in
            let hasEnded = shared.withLock { shared in
                if !shared.hasEnded { shared.endWaiters.append(continuation) }
                return shared.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    // MARK: The thread

    private func run() {
        var connection: RedisConnection?
        var pause = Backoff(minMs: configuration.reconnectMinMs, maxMs: ClusterMap.pauseMaxMs)
        while !shared.withLock({ $0.isClosed }) {
            let isHinted = shared.withLock { shared in
                defer { shared.isHinted = false }
                return shared.isHinted
            }
            if isHinted {
                if refresh(&connection) { pause.reset() }
                // Not again at once, whatever hints come: most of them are about what was just learnt.
                sleep(ms: pause.nextMs())
            } else {
                let (raised, _) = wake.wait(waitMs: ClusterMap.periodMs)
                wake.lower()
                if !raised { shared.withLock { $0.isHinted = true } }
            }
        }
        let waiters = shared.withLock { shared in
            shared.hasEnded = true
            defer { shared.endWaiters = [] }
            return shared.endWaiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Interrupted only by `close`.
    private func sleep(ms: Int) {
        let untilNs = addMs(ms, to: monotonicNs())
        while monotonicNs() < untilNs, !shared.withLock({ $0.isClosed }) {
            if wake.wait(waitMs: msUntil(untilNs)).raised { wake.lower() }
        }
    }

    /// Asks one node after the other until one can tell. Returns whether there was news.
    private func refresh(_ connection: inout RedisConnection?) -> Bool {
        if let known = connection {
            if let isNews = ask(known) { return isNews }
            connection = nil
        }
        let slots = shared.withLock { $0.slots }
        var asked: Set<Endpoint> = []
        for endpoint in slots.primaries + slots.replicas + seeds where asked.insert(endpoint).inserted {
            if shared.withLock({ $0.isClosed }) { return false }
            do throws(RedisConnection.Failure) {
                let made = try RedisConnection(configuration, at: endpoint, for: .clusterNode, name: name)
                if let isNews = ask(made) {
                    connection = made
                    return isNews
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
                "redis cluster node cannot tell the slots", metadata: ["address": "\(endpoint)", "reason": "\(reason)"])
        }
    }

    /// Nil when this node is not one to believe: cut off from most of the cluster, or gone.
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
                failed(connection.endpoint, "CLUSTER SLOTS is not understood")
                return nil
            }
            return learn(slots)
        } catch {
            failed(connection.endpoint, error.reason)
            return nil
        }
    }

    private func learn(_ slots: SlotMap) -> Bool {
        let now = monotonicNs()
        let (isNews, retired) = shared.withLock { shared -> (Bool, [CommandPipeline]) in
            let isNews = shared.slots != slots
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
            return (isNews, retired)
        }
        for pipeline in retired { pipeline.retire() }
        if isNews {
            logger.info("redis cluster slots", metadata: ["primaries": "\(slots.primaries.count)"])
            changes.wrappingAdd(1, ordering: .acquiringAndReleasing)
            watchers.raiseAll()
        }
        return isNews
    }
}

extension BrokerState {
    fileprivate mutating func addCounters(of other: BrokerState) {
        reconnects += other.reconnects
        serverChanges += other.serverChanges
        bytesWritten += other.bytesWritten
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
