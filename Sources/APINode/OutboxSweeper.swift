package import Broker
internal import Execution
internal import LiveModel
package import Logging
internal import Metrics
package import Postgres
internal import Synchronization

/// Publishes outbox rows that stayed: their node died, or the broker was away.
///
/// Takes rows with `FOR UPDATE SKIP LOCKED`, so that the sweepers of several nodes share the work. Never goes by
/// `id > last`: the order of ids is not the order of commits.
package final class OutboxSweeper: Sendable {
    package struct Settings: Sendable {
        package var sweepMs: Int64 = 1_000
        /// Younger rows are left to the node that wrote them.
        package var sweepAgeMs: Int64 = 2_000
        package var batchMax = 500

        package init() {}
    }

    /// What is left to publish, as of the last sweep.
    package struct Backlog: Sendable, Hashable {
        package var rows = 0
        package var oldestMs: Int64 = 0
    }

    private let broker: any Broker
    private let pool: PostgresPool
    private let publisher: EventPublisher
    private let settings: Settings
    private let logger: Logger
    private let lastBacklog = Mutex(Backlog())
    private let swept = Counter(label: "freshet_outbox_swept_total")
    private let backlogGauge = Gauge(label: "freshet_outbox_backlog_rows")
    private let oldestGauge = Gauge(label: "freshet_outbox_oldest_seconds")

    private static let take = Statement(
        """
        SELECT id, shards, event FROM freshet.outbox
        WHERE created_at < clock_timestamp() - make_interval(secs => $1::double precision / 1000)
        ORDER BY created_at LIMIT $2::int FOR UPDATE SKIP LOCKED
        """)
    private static let remove = Statement("DELETE FROM freshet.outbox WHERE id = ANY($1::uuid[])")
    private static let measure = Statement(
        """
        SELECT count(*), coalesce(extract(epoch FROM clock_timestamp() - min(created_at)) * 1000, 0)::bigint
        FROM freshet.outbox
        """)

    package init(
        broker: any Broker, pool: PostgresPool, publisher: EventPublisher, settings: Settings, logger: Logger
    ) {
        self.broker = broker
        self.pool = pool
        self.publisher = publisher
        self.settings = settings
        self.logger = logger
    }

    package var backlog: Backlog { lastBacklog.withLock { $0 } }

    /// Sweeps until its task is cancelled.
    package func run() async {
        while !Task.isCancelled {
            do {
                while try await sweep() == settings.batchMax {}
                try await measure()
            } catch {
                logger.warning("outbox sweep failed", metadata: ["error": "\(error)"])
            }
            try? await Task.sleep(for: .milliseconds(settings.sweepMs))
        }
    }

    /// One batch.
    /// - Returns: rows published.
    package func sweep() async throws -> Int {
        let count = try await pool.withSession { [settings, publisher, broker] session in
            try await session.begin()
            let found = try await session.execute(
                Self.take, [.text(String(settings.sweepAgeMs)), .text(String(settings.batchMax))])
            let rows = found.rows.compactMap(OutboxRow.init(taken:))
            if rows.isEmpty {
                try await session.rollback()
                return 0
            }
            _ = try await broker.append(rows.flatMap { publisher.appends(of: $0) })
            _ = try await session.execute(Self.remove, [.text(PostgresArray.literal(rows.map(\.id)))])
            try await session.commit()
            return rows.count
        }
        if count > 0 {
            swept.increment(by: Int64(count))
            logger.info("outbox rows published by the sweeper", metadata: ["rows": "\(count)"])
        }
        return count
    }

    private func measure() async throws {
        let row = try await pool.query(Self.measure).rows.first
        let backlog = Backlog(rows: row?.int(0) ?? 0, oldestMs: Int64(row?.int(1) ?? 0))
        lastBacklog.withLock { $0 = backlog }
        backlogGauge.record(backlog.rows)
        oldestGauge.record(Double(backlog.oldestMs) / 1_000)
    }
}

extension OutboxRow {
    /// From a row of the sweeper's statement.
    init?(taken row: Row) {
        guard let id = row.string(0), let shards = row.string(1), let event = row[2] else { return nil }
        let numbers = shards.dropFirst().dropLast().split(separator: ",").compactMap { Int($0) }
        self.init(id: id, shards: numbers.map(ShardID.init), event: event)
    }
}
