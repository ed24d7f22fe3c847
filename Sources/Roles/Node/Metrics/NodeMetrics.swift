import Admin
import Broker
import Clocks
import HTTPServer
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
    private let compressions = Metric.observed(
        "freshet_compressions",
        "results compressed since the start: one for each event loop, form and window, whatever the number of sessions")
    private let compressionsOverBudget = Metric.observed(
        "freshet_compressions_over_budget",
        "results left as they are since the start, because the event loop had compressed as much as it may")
    private let compressedBodyBytes = Metric.observed(
        "freshet_compressed_result_bytes", "bytes of results compressed since the start")
    private let compressedMessages = Metric.observed(
        "freshet_compressed_messages", "messages and responses sent compressed since the start")
    private let compressedMessageBytes = Metric.observed(
        "freshet_compressed_message_bytes", "bytes of these without compression")
    private let compressedSentBytes = Metric.observed("freshet_compressed_sent_bytes", "bytes of these as sent")
    private let redisCommands = Metric.observed(
        "freshet_redis_commands", "commands that Redis answered since the start, without blocking reads")
    private let redisBytes = Metric.observed("freshet_redis_written_bytes", "bytes of commands since the start")

    /// The interval of sampling the streams of owned shards, which takes two short commands for each.
    static let sampleMs = 5_000

    /// Installs the gauges, which are read at every scrape.
    static func observe(
        _ metrics: PrometheusMetrics, roles: Set<Role>, sessions: @escaping @Sendable () -> Int,
        http: @escaping @Sendable () -> HTTPServerCounters?, redis: @escaping @Sendable () -> BrokerState?,
        isReady: @escaping @Sendable () -> Bool
    ) {
        let labels = [("version", ClusterFormat.release), ("roles", roles.names.joined(separator: ","))]
        let gauges = NodeMetrics()
        gauges.buildInfo.observe(in: metrics, labels: labels) { 1 }
        gauges.ready.observe(in: metrics) { isReady() ? 1 : 0 }
        gauges.sessions.observe(in: metrics) { Double(sessions()) }
        gauges.peersCutOff.observe(in: metrics) { Double(http()?.peersCutOffTotal ?? 0) }
        let compression: [(ObservedMetric, @Sendable (CompressionCounters) -> Int)] = [
            (gauges.compressions, { $0.compressionsTotal }),
            (gauges.compressionsOverBudget, { $0.overBudgetTotal }),
            (gauges.compressedBodyBytes, { $0.bodyBytesTotal }),
            (gauges.compressedMessages, { $0.messagesTotal }),
            (gauges.compressedMessageBytes, { $0.messageBytesTotal }),
            (gauges.compressedSentBytes, { $0.sentBytesTotal }),
        ]
        for (gauge, count) in compression {
            gauge.observe(in: metrics) { Double(http().map { count($0.compression) } ?? 0) }
        }
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
