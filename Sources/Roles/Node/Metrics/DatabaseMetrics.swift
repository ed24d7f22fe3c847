import Execution
import Observability
import Postgres

/// The metrics of callers' queries that run together.
struct QueryBatchMetrics {
    private let statements = Metric.observedCounter(
        "freshet_query_batches_total", "statements that ran several callers' queries together")
    private let calls = Metric.observedCounter(
        "freshet_query_batch_calls_total", "callers' queries that ran together with others")

    /// Installs the gauges, which are read at every scrape.
    static func observe(_ queries: QueryExecutor, in metrics: PrometheusMetrics) {
        let gauges = QueryBatchMetrics()
        gauges.statements.observe(in: metrics) { [weak queries] in Double(queries?.batchCounts.batches ?? 0) }
        gauges.calls.observe(in: metrics) { [weak queries] in Double(queries?.batchCounts.calls ?? 0) }
    }
}

/// The metrics of slow statements.
struct DatabaseMetrics {
    private let running = Metric.observed(
        "freshet_postgres_slow_statements_running",
        "statements running on connections for long statements",
        labels: ["kind"])
    private let waiting = Metric.observed(
        "freshet_postgres_slow_statements_waiting",
        "statements waiting for a connection for long statements", labels: ["kind"])
    private let rerouted = Metric.observed(
        "freshet_postgres_slow_statements_moved",
        "statements cancelled because others waited, and repeated on a connection for long statements, since the start",
        labels: ["kind"])
    private let refused = Metric.observed(
        "freshet_postgres_slow_statements_refused", "statements refused because too many waited, since the start",
        labels: ["kind"])

    /// Installs the gauges, which are read at every scrape.
    static func observe(_ pool: PostgresPool, in metrics: PrometheusMetrics) {
        // The registry outlives the pool, which holds threads and descriptors.
        let counts: @Sendable (PostgresPool.SlowStatementKind) -> SlowStatementCounts = { [weak pool] kind in
            pool?.slowStatements(kind) ?? SlowStatementCounts()
        }
        let gauges = DatabaseMetrics()
        for kind in PostgresPool.SlowStatementKind.allCases {
            let labels = [("kind", kind.rawValue)]
            gauges.running.observe(in: metrics, labels: labels) { Double(counts(kind).running) }
            gauges.waiting.observe(in: metrics, labels: labels) { Double(counts(kind).waiting) }
            gauges.rerouted.observe(in: metrics, labels: labels) { Double(counts(kind).rerouted) }
            gauges.refused.observe(in: metrics, labels: labels) { Double(counts(kind).refused) }
        }
    }
}
