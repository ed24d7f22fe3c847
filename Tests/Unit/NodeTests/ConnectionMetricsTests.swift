import Logging
import Observability
import Postgres
import Testing

@testable import Node

@Suite struct ConnectionMetricsTests {
    @Test func everyGroupOfConnectionsHasItsSeries() {
        var configuration = PostgresConfiguration(connectionString: "")
        (configuration.readConnections, configuration.refreshConnections) = (3, 2)
        (configuration.moderateReadConnections, configuration.slowReadConnections) = (2, 1)
        (configuration.slowRefreshConnections, configuration.slowWriteConnections) = (0, 1)
        configuration.sessionConnections = 4
        let pool = PostgresPool(
            configuration: configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let metrics = PrometheusMetrics()
        ConnectionMetrics.observe(pool, in: metrics)
        let page = Set(String(decoding: metrics.render(), as: UTF8.self).split(separator: "\n").map(String.init))
        let groups = [
            ("query", "fast", 3), ("query", "moderate", 2), ("query", "slow", 1), ("refresh", "fast", 2),
            ("transaction", "slow", 1), ("session", "fast", 4),
        ]
        for (use, tier, count) in groups {
            let labels = "{tier=\"\(tier)\",use=\"\(use)\"}"
            #expect(page.contains("freshet_postgres_connections\(labels) \(count)"), "\(use) \(tier)")
            #expect(page.contains("freshet_postgres_connections_open\(labels) 0"), "\(use) \(tier)")
            #expect(page.contains("freshet_postgres_reconnects_total\(labels) 0"), "\(use) \(tier)")
        }
        #expect(!page.contains { $0.contains("{tier=\"slow\",use=\"refresh\"}") })
        #expect(page.contains("# TYPE freshet_postgres_statements_timed_out_total counter"))
        #expect(page.contains("# TYPE freshet_postgres_statements_queued gauge"))
        #expect(page.contains("freshet_postgres_sessions_free 4"))
    }

    /// The registry of metrics outlives the pool.
    @Test func metricsDoNotKeepThePool() {
        let metrics = PrometheusMetrics()
        weak var kept: PostgresPool?
        do {
            let pool = PostgresPool(
                configuration: PostgresConfiguration(connectionString: ""),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            kept = pool
            ConnectionMetrics.observe(pool, in: metrics)
        }
        #expect(kept == nil)
        #expect(String(decoding: metrics.render(), as: UTF8.self).contains("freshet_postgres_sessions_free 0"))
    }
}
