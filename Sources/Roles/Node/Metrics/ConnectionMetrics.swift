import Observability
import Postgres

/// The metrics of the connections to Postgres.
struct ConnectionMetrics {
    private static let labels = ["use", "tier"]

    private let gauges: [(ObservedMetric, @Sendable (PostgresMetrics.Role) -> Int)] = [
        (
            Metric.observed(
                "freshet_postgres_connections", "connections to Postgres as configured, without replicas",
                labels: labels),
            { $0.connections }
        ),
        (
            Metric.observed(
                "freshet_postgres_connections_open", "connections to Postgres that are established", labels: labels),
            { $0.connected }
        ),
        (
            Metric.observed(
                "freshet_postgres_statements_queued", "statements handed to a connection to Postgres and not sent yet",
                labels: labels),
            { $0.queued }
        ),
        (
            Metric.observed(
                "freshet_postgres_statements_in_flight", "statements sent to Postgres, not answered", labels: labels),
            { $0.inFlight }
        ),
    ]
    private let counters: [(ObservedMetric, @Sendable (PostgresMetrics.Role) -> Int)] = [
        (
            Metric.observedCounter(
                "freshet_postgres_statements_completed_total", "statements and transactions that succeeded",
                labels: labels),
            { $0.completed }
        ),
        (
            Metric.observedCounter(
                "freshet_postgres_statements_failed_total",
                "statements and transactions that failed, with those that timed out", labels: labels),
            { $0.failed }
        ),
        (
            Metric.observedCounter(
                "freshet_postgres_statements_timed_out_total", "statements and transactions that timed out",
                labels: labels),
            { $0.timeouts }
        ),
        (
            Metric.observedCounter(
                "freshet_postgres_statements_refused_total",
                "statements refused because their connection's queue was full", labels: labels),
            { $0.refused }
        ),
        (
            Metric.observedCounter(
                "freshet_postgres_statements_repeated_total",
                "statements repeated after a lost connection or a rollback", labels: labels),
            { $0.repeated }
        ),
        (
            Metric.observedCounter(
                "freshet_postgres_statements_prepared_total", "statements prepared on a connection", labels: labels),
            { $0.statementsPrepared }
        ),
        (
            Metric.observedCounter(
                "freshet_postgres_cancel_requests_total", "requests to Postgres to cancel a statement", labels: labels),
            { $0.cancelRequests }
        ),
        (
            Metric.observedCounter(
                "freshet_postgres_reconnects_total", "connections established again after a loss", labels: labels),
            { $0.reconnects }
        ),
        (
            Metric.observedCounter(
                "freshet_postgres_connect_failures_total", "failed attempts to connect", labels: labels),
            { $0.connectFailures }
        ),
    ]
    private let sessionWaiters = Metric.observed(
        "freshet_postgres_session_waiters",
        "calls waiting for a Postgres connection of their own, such as mutations in steps")
    private let sessionsFree = Metric.observed(
        "freshet_postgres_sessions_free", "free Postgres connections for calls that need one of their own")

    /// Installs the metrics, which are read at every scrape: a few atomics for each connection.
    static func observe(_ pool: PostgresPool, in metrics: PrometheusMetrics) {
        let declared = ConnectionMetrics()
        for group in pool.connectionGroups {
            let labels = [("use", group.use.rawValue), ("tier", group.tier.rawValue)]
            for (metric, count) in declared.gauges + declared.counters {
                // The registry outlives the pool, which holds threads and descriptors.
                metric.observe(in: metrics, labels: labels) { [weak pool] in
                    Double(pool.map { count($0.metrics(of: group)) } ?? 0)
                }
            }
        }
        declared.sessionWaiters.observe(in: metrics) { [weak pool] in Double(pool?.metrics.sessionWaiters ?? 0) }
        declared.sessionsFree.observe(in: metrics) { [weak pool] in Double(pool?.metrics.sessionsFree ?? 0) }
    }
}
