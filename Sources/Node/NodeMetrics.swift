internal import Admin
internal import Logging
internal import Observability
internal import Synchronization

/// What a node as a whole tells Prometheus, beside the counters of its parts.
///
/// | metric | is |
/// | --- | --- |
/// | `freshet_build_info` | 1, with the version and the roles as labels |
/// | `freshet_ready` | 1 while load balancers may send clients |
/// | `freshet_sessions` | open sessions: WebSockets, event streams, waiting long-polls |
/// | `freshet_worker_behind_seconds` | from the last event read to the last one written, of the shard that is furthest behind |
/// | `freshet_worker_condition_errors` | refreshes in doubt: conditions that ended in an error, since the start |
enum NodeMetrics {
    /// Between two looks at the streams of the shards held here; two short commands for each.
    static let sampleMs = 5_000

    /// Those that are asked at every scrape.
    static func observe(
        _ metrics: PrometheusMetrics, roles: [String], sessions: @escaping @Sendable () -> Int,
        isReady: @escaping @Sendable () -> Bool
    ) {
        let labels = [("version", ClusterFormat.release), ("roles", roles.sorted().joined(separator: ","))]
        metrics.observe("freshet_build_info", dimensions: labels) { 1 }
        metrics.observe("freshet_ready") { isReady() ? 1 : 0 }
        metrics.observe("freshet_sessions") { Double(sessions()) }
    }

    /// Those that the broker and the worker must be asked for. Ends with the task; what cannot be asked keeps its value.
    static func sample(_ inspector: NodeInspector, _ metrics: PrometheusMetrics, _ logger: Logger) async {
        let sampled = Sampled()
        metrics.observe("freshet_worker_behind_seconds") { sampled.value.withLock { $0.behindSeconds } }
        metrics.observe("freshet_worker_condition_errors") { sampled.value.withLock { $0.conditionErrors } }
        while !Task.isCancelled {
            let errors = Double(await inspector.conditionErrors())
            sampled.value.withLock { $0.conditionErrors = errors }
            do {
                let behind = Double(try await inspector.behindMs()) / 1_000
                sampled.value.withLock { $0.behindSeconds = behind }
            } catch {
                logger.debug("lag not known", metadata: ["error": "\(error)"])
            }
            try? await Task.sleep(for: .milliseconds(sampleMs))
        }
    }

    private final class Sampled: Sendable {
        let value = Mutex((behindSeconds: 0.0, conditionErrors: 0.0))
    }
}
