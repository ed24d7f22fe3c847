import Admin
import Logging
import Observability
import Synchronization

/// What a node as a whole tells Prometheus, beside the counters of its parts.
///
/// | metric | is |
/// | --- | --- |
/// | `freshet_build_info` | 1, with the version and the roles as labels |
/// | `freshet_ready` | 1 while load balancers may send clients |
/// | `freshet_sessions` | open sessions: WebSockets, event streams, waiting long-polls |
/// | `freshet_peers_cut_off` | clients of the public port that were cut off, and calls of gRPC that were reset, since the start: no sign of life, nothing read, past a limit |
/// | `freshet_cluster_shards` | shards of the cluster; of workers only, to compare with the sum of `freshet_worker_shards` |
/// | `freshet_worker_behind_seconds` | from the last event read to the last one written, of the shard that is furthest behind; while the broker cannot be asked, the time since it could besides |
/// | `freshet_worker_condition_errors` | refreshes in doubt: conditions that ended in an error, since the start |
enum NodeMetrics {
    /// Between two looks at the streams of the shards held here; two short commands for each.
    static let sampleMs = 5_000

    /// Those that are asked at every scrape.
    static func observe(
        _ metrics: PrometheusMetrics, roles: [String], sessions: @escaping @Sendable () -> Int,
        peersCutOff: @escaping @Sendable () -> Int, isReady: @escaping @Sendable () -> Bool
    ) {
        let labels = [("version", ClusterFormat.release), ("roles", roles.sorted().joined(separator: ","))]
        metrics.observe("freshet_build_info", dimensions: labels) { 1 }
        metrics.observe("freshet_ready") { isReady() ? 1 : 0 }
        metrics.observe("freshet_sessions") { Double(sessions()) }
        metrics.observe("freshet_peers_cut_off") { Double(peersCutOff()) }
    }

    /// Those of a worker that the broker and the worker must be asked for. Ends with the task.
    static func sample(
        _ inspector: NodeInspector, shardCount: Int, _ metrics: PrometheusMetrics, _ logger: Logger
    ) async {
        let sampled = Sampled(nowMs: ReadinessProbe.nowMs())
        metrics.observe("freshet_cluster_shards") { Double(shardCount) }
        metrics.observe("freshet_worker_behind_seconds") {
            let nowMs = ReadinessProbe.nowMs()
            return sampled.value.withLock { $0.lag.seconds(nowMs: nowMs) }
        }
        metrics.observe("freshet_worker_condition_errors") { sampled.value.withLock { $0.conditionErrors } }
        while !Task.isCancelled {
            let errors = Double(await inspector.conditionErrors())
            sampled.value.withLock { $0.conditionErrors = errors }
            do {
                let behindMs = try await inspector.behindMs()
                let nowMs = ReadinessProbe.nowMs()
                sampled.value.withLock { $0.lag.answered(behindMs: behindMs, nowMs: nowMs) }
            } catch {
                logger.debug("lag not known", metadata: ["error": "\(error)"])
            }
            try? await Task.sleep(for: .milliseconds(sampleMs))
        }
    }

    private final class Sampled: Sendable {
        let value: Mutex<(lag: ReadingLag, conditionErrors: Double)>

        init(nowMs: Int64) {
            // One answer may be missed.
            value = Mutex((ReadingLag(answerLastsMs: Int64(2 * NodeMetrics.sampleMs), nowMs: nowMs), 0))
        }
    }
}
