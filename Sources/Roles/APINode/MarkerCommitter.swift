import Clocks
package import Cluster
package import Execution
package import LiveModel
package import Logging
import Metrics
import Observability
import Pacing
package import Postgres
package import RoleMachines

/// Commits the markers that `MarkerSchedule` decides, as a mutation commits its event: in the outbox, from where it is
/// appended to the shards' streams. So the time of commit and publication is part of what they measure.
package final class MarkerCommitter: Sendable {
    private let schedule: MarkerSchedule
    private let pool: PostgresPool
    private let catalogs: ServedCatalogs
    private let publisher: EventPublisher
    private let overrideList: OverrideList
    private let outbox: OutboxKind
    private let nodes: @Sendable () async -> [NodeRecordPayload]?
    private let makeUUID: @Sendable () -> String
    private let logger: Logger
    private let metrics = MarkerMetrics()

    /// - Parameter nodes: reads the node list; nil if it cannot be read.
    package init(
        schedule: MarkerSchedule, pool: PostgresPool, catalogs: ServedCatalogs, publisher: EventPublisher,
        overrideList: OverrideList, outbox: OutboxKind = .table,
        nodes: @escaping @Sendable () async -> [NodeRecordPayload]?,
        makeUUID: @escaping @Sendable () -> String, logger: Logger
    ) {
        self.schedule = schedule
        self.pool = pool
        self.catalogs = catalogs
        self.publisher = publisher
        self.overrideList = overrideList
        self.outbox = outbox
        self.nodes = nodes
        self.makeUUID = makeUUID
        self.logger = logger
    }

    /// Commits markers until its task is cancelled.
    package func run() async {
        var schedule = schedule
        var failure = RepeatedFailure()
        while !Task.isCancelled {
            let nowMs = overrideList.nowMs()
            guard let dueMs = schedule.next(afterMs: nowMs) else { return }
            // One more: a sleep may end within the millisecond before.
            try? await Task.sleep(for: .milliseconds(dueMs - nowMs + 1))
            // The clock may have been set back.
            if Task.isCancelled || overrideList.nowMs() < dueMs { continue }
            guard schedule.commits(markerDueAtMs: dueMs, nodes: await nodes()) else { continue }
            do throws(PostgresError) {
                try await commit(dueAtMs: dueMs, schedule)
            } catch {
                metrics.failed.increment()
                if let leftOut = failure.failed("\(error)", nowMs: overrideList.nowMs()) {
                    logger.warning(
                        "a marker was not committed", metadata: ["error": "\(error)", "notLogged": "\(leftOut)"])
                }
            }
        }
    }

    private func commit(dueAtMs dueMs: Int64, _ schedule: MarkerSchedule) async throws(PostgresError) {
        let marker = schedule.marker(
            dueAtMs: dueMs, id: makeUUID(), rules: catalogs.snapshot, overrides: overrideList.overrides,
            shardCount: overrideList.shardCount, nowMs: overrideList.nowMs())
        guard let marker else { return }
        _ = try await pool.transaction([marker.row.insertion(into: outbox)])
        metrics.committed.increment()
        if outbox == .table { publisher.publish(marker) }
    }
}

/// The metrics of the markers that a node commits.
package struct MarkerMetrics: Sendable {
    let committed = Metric.counter("freshet_lag_markers_committed_total", "markers committed by this node")
    let failed = Metric.counter(
        "freshet_lag_markers_failed_total", "markers that this node could not commit, or may not have committed")

    package init() {}
}
