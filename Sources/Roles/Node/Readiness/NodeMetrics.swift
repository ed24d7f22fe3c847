import Admin
import Broker
import Clocks
import LiveModel
import Logging
import Observability
import Synchronization

/// The metrics of a node as a whole.
struct NodeMetrics {
    private let buildInfo = Metric.observed("freshet_build_info", "always 1", labels: ["version", "roles"])
    private let ready = Metric.observed("freshet_ready", "1 while load balancers may send clients")
    private let sessions = Metric.observed(
        "freshet_sessions", "open sessions: WebSockets, gRPC streams, event streams, waiting long-polls")
    private let peersCutOff = Metric.observed(
        "freshet_peers_cut_off",
        "clients cut off and gRPC calls reset since the start: no sign of life, nothing read, past a limit")
    private let redisCommands = Metric.observed(
        "freshet_redis_commands", "commands that Redis answered since the start, without blocking reads")
    private let redisBytes = Metric.observed("freshet_redis_written_bytes", "bytes of commands since the start")

    /// The interval of sampling the streams of owned shards, which takes two short commands for each.
    static let sampleMs = 5_000

    /// Installs the gauges, which are read at every scrape.
    static func observe(
        _ metrics: PrometheusMetrics, roles: Set<Role>, sessions: @escaping @Sendable () -> Int,
        peersCutOff: @escaping @Sendable () -> Int, redis: @escaping @Sendable () -> BrokerState?,
        isReady: @escaping @Sendable () -> Bool
    ) {
        let labels = [("version", ClusterFormat.release), ("roles", roles.names.joined(separator: ","))]
        let gauges = NodeMetrics()
        gauges.buildInfo.observe(in: metrics, labels: labels) { 1 }
        gauges.ready.observe(in: metrics) { isReady() ? 1 : 0 }
        gauges.sessions.observe(in: metrics) { Double(sessions()) }
        gauges.peersCutOff.observe(in: metrics) { Double(peersCutOff()) }
        gauges.redisCommands.observe(in: metrics) { Double(redis()?.commandsAnswered ?? 0) }
        gauges.redisBytes.observe(in: metrics) { Double(redis()?.bytesWritten ?? 0) }
    }

    /// Samples a worker's gauges that need a call to the broker, until the task is cancelled.
    static func sample(
        _ inspector: NodeInspector, shardCount: Int, _ metrics: PrometheusMetrics, _ logger: Logger
    ) async {
        let sampled = Sampled(nowMs: MonotonicClock.nowMs())
        let gauges = ShardMetrics()
        gauges.clusterShards.observe(in: metrics) { Double(shardCount) }
        gauges.behind.observe(in: metrics) {
            let nowMs = MonotonicClock.nowMs()
            return sampled.value.withLock { $0.lag.seconds(nowMs: nowMs) }
        }
        gauges.conditionErrors.observe(in: metrics) { sampled.value.withLock { $0.conditionErrors } }
        while !Task.isCancelled {
            let errors = Double(await inspector.conditionErrors())
            sampled.value.withLock { $0.conditionErrors = errors }
            do {
                let behindMs = try await inspector.behindMs()
                let nowMs = MonotonicClock.nowMs()
                sampled.value.withLock { $0.lag.answered(behindMs: behindMs, nowMs: nowMs) }
            } catch {
                logger.debug("the read lag is unknown", metadata: ["error": "\(error)"])
            }
            try? await Task.sleep(for: .milliseconds(sampleMs))
        }
    }

    private final class Sampled: Sendable {
        let value: Mutex<(lag: ReadingLag, conditionErrors: Double)>

        init(nowMs: Int64) {
            // Tolerates one missed answer.
            value = Mutex((ReadingLag(answerLastsMs: Int64(2 * NodeMetrics.sampleMs), nowMs: nowMs), 0))
        }
    }
}

/// The metrics of a worker's shards.
struct ShardMetrics {
    let clusterShards = Metric.observed("freshet_cluster_shards", "shards of the cluster")
    let behind = Metric.observed(
        "freshet_worker_behind_seconds",
        "read lag of the most delayed owned shard; includes the time since Redis last answered")
    let conditionErrors = Metric.observed(
        "freshet_worker_condition_errors",
        "conditions that failed to evaluate since the start, and therefore matched")
}
