package import Broker
package import Streams
package import Cluster
import Execution
import LiveModel
package import Logging
import Metrics
package import Postgres
import Synchronization

/// Publishes outbox rows that stayed: their node died, or the broker was away.
///
/// Takes rows with `FOR UPDATE SKIP LOCKED`, so that the sweepers of several nodes share the work. Never goes by
/// `id > last`: the order of ids is not the order of commits.
///
/// The table is bounded: while the broker stays away and it holds more than `rowsMax` rows, the oldest are folded into
/// one row that says "anything may have changed". When that is published, every live query runs once more, which
/// covers every event folded into it.
package final class OutboxSweeper: Sendable {
    package struct Settings: Sendable {
        package var sweepMs: Int64 = 1_000
        /// Younger rows are left to the node that wrote them.
        package var sweepAgeMs: Int64 = 2_000
        package var batchMax = 500
        /// Bytes of events that go to the broker at once; a larger event goes alone.
        package var flightBytesMax = 4 << 20
        /// More rows are folded into one.
        package var rowsMax = 1_000_000
        /// Rows that one statement folds.
        package var foldMax = 10_000
        /// More rows, or rows older than `alarmAgeMs`, are told in the log with every sweep.
        package var alarmRows = 10_000
        package var alarmAgeMs: Int64 = 30_000

        package init() {}
    }

    /// What is left to publish, as of the last sweep.
    package struct Backlog: Sendable, Hashable {
        /// Counted up to a little more than `rowsMax`.
        package var rows = 0
        package var oldestMs: Int64 = 0
        /// Why the last sweep published nothing; empty when it could.
        package var problem = ""
        /// Events folded into rows that say "anything may have changed", since the start of this node.
        package var folded = 0
    }

    private let broker: any Broker
    private let pool: PostgresPool
    private let publisher: EventPublisher
    private let directory: ClusterDirectory
    private let settings: Settings
    private let logger: Logger
    private let makeUUID: @Sendable () -> String
    private let lastBacklog = Mutex(Backlog())
    private let swept = Counter(label: "freshet_outbox_swept_total")
    private let foldedTotal = Counter(label: "freshet_outbox_folded_total")
    private let backlogGauge = Gauge(label: "freshet_outbox_backlog_rows")
    private let oldestGauge = Gauge(label: "freshet_outbox_oldest_seconds")

    private static let take = Statement(
        """
        SELECT id, shards, event FROM freshet.outbox
        WHERE created_at < clock_timestamp() - make_interval(secs => $1::double precision / 1000)
        ORDER BY created_at LIMIT $2::int FOR UPDATE SKIP LOCKED
        """)
    /// Bounded, so that a large backlog does not make its own measuring slow.
    private static let measure = Statement(
        """
        SELECT (SELECT count(*) FROM (SELECT 1 FROM freshet.outbox LIMIT $1::int) AS counted),
            coalesce(extract(epoch FROM clock_timestamp() - min(created_at)) * 1000, 0)::bigint
        FROM freshet.outbox
        """)
    private static let fold = Statement(
        """
        DELETE FROM freshet.outbox WHERE id IN (
            SELECT id FROM freshet.outbox ORDER BY created_at LIMIT $1::int FOR UPDATE SKIP LOCKED)
        RETURNING id
        """)
    /// As old as what it stands for, so that its turn comes first.
    private static let insertFolded = Statement(
        """
        INSERT INTO freshet.outbox (id, created_at, shards, event)
        VALUES ($1::uuid, coalesce((SELECT min(created_at) FROM freshet.outbox), clock_timestamp()), '{}', $2::text)
        """)

    /// No event of any format: a worker that reads it runs everything in the shard again.
    static let foldedEvent = #"{"type":"anything"}"#

    package init(
        broker: any Broker, pool: PostgresPool, publisher: EventPublisher, directory: ClusterDirectory,
        settings: Settings, makeUUID: @escaping @Sendable () -> String, logger: Logger
    ) {
        self.broker = broker
        self.pool = pool
        self.publisher = publisher
        self.directory = directory
        self.settings = settings
        self.makeUUID = makeUUID
        self.logger = logger
    }

    package var backlog: Backlog { lastBacklog.withLock { $0 } }

    /// Sweeps until its task is cancelled.
    package func run() async {
        while !Task.isCancelled {
            var problem = ""
            do {
                try await publisher.tellServerChanges()
            } catch {
                logger.warning("shards not told of another redis server", metadata: ["error": "\(error)"])
            }
            do {
                while try await sweep() == settings.batchMax, !Task.isCancelled {}
            } catch {
                problem = "\(error)"
                logger.warning("outbox sweep failed", metadata: ["error": "\(error)"])
            }
            // Also when nothing can be published: then it matters most.
            do {
                try await measure(problem: problem)
            } catch {
                logger.warning("the outbox could not be measured", metadata: ["error": "\(error)"])
            }
            try? await Task.sleep(for: .milliseconds(settings.sweepMs))
        }
    }

    /// One batch.
    /// - Returns: rows published.
    package func sweep() async throws -> Int {
        let count = try await pool.withSession { [self] session in
            try await session.begin()
            let found = try await session.execute(
                Self.take, [.text(String(settings.sweepAgeMs)), .text(String(settings.batchMax))])
            let rows = found.rows.compactMap(OutboxRow.init(taken:))
            if rows.isEmpty {
                try await session.rollback()
                return 0
            }
            publisher.notePublished()
            let catalogGeneration = publisher.catalogGeneration
            try await publish(rows)
            let removal = EventPublisher.removal(of: rows.map(\.id), catalogGeneration: catalogGeneration)
            let removed = try await session.execute(removal.0, removal.1)
            try await session.commit()
            // None when a deployment has not been loaded here; another node or the next sweep removes them.
            return removed.rows.isEmpty ? 0 : rows.count
        }
        if count > 0 {
            swept.increment(by: Int64(count))
            logger.info("outbox rows published by the sweeper", metadata: ["rows": "\(count)"])
        }
        return count
    }

    private func publish(_ rows: [OutboxRow]) async throws {
        // Confirmed after the commits of these rows; see `ClusterOverrides`.
        let orders = try await directory.confirmed()
        var flight: [StreamAppend] = []
        var bytes = 0
        for row in rows {
            let mutation = (try? MutationEvent(encoded: row.event))?.operation
            let shards = publisher.shards(of: row, mutation: mutation, by: orders)
            if !flight.isEmpty, bytes + row.event.count * shards.count > settings.flightBytesMax {
                _ = try await broker.append(flight)
                flight = []
                bytes = 0
            }
            flight += publisher.appends(of: row, to: shards.sorted())
            bytes += row.event.count * shards.count
        }
        _ = try await broker.append(flight)
    }

    /// Tells how much is left, and keeps it bounded.
    package func measure(problem: String) async throws {
        let countMax = settings.rowsMax + settings.foldMax
        let row = try await pool.query(Self.measure, [.text(String(countMax))]).rows.first
        var rows = row?.int(0) ?? 0
        let oldestMs = Int64(row?.int(1) ?? 0)
        var folded = 0
        if rows > settings.rowsMax {
            let before = rows
            while rows > settings.rowsMax / 2 {
                let count = try await foldOldest()
                if count < 2 { break }  // the others are locked by a sweeper
                folded += count
                rows -= count - 1
            }
            foldedTotal.increment(by: Int64(folded))
            logger.error(
                "too many events wait in the outbox: the oldest are folded into one that refreshes everything",
                metadata: ["rows": "\(before)", "folded": "\(folded)"])
        }
        let (rowsLeft, foldedNow) = (rows, folded)
        let backlog = lastBacklog.withLock { last in
            last.rows = rowsLeft
            last.oldestMs = oldestMs
            last.problem = problem
            last.folded += foldedNow
            return last
        }
        backlogGauge.record(backlog.rows)
        oldestGauge.record(Double(backlog.oldestMs) / 1_000)
        if backlog.rows > settings.alarmRows || backlog.oldestMs > settings.alarmAgeMs {
            logger.error(
                "events wait in the outbox",
                metadata: [
                    "rows": "\(backlog.rows)", "oldestMs": "\(backlog.oldestMs)", "problem": "\(problem)",
                ])
        }
    }

    /// - Returns: rows folded into one.
    private func foldOldest() async throws -> Int {
        try await pool.withSession { [self] session in
            try await session.begin()
            let gone = try await session.execute(Self.fold, [.text(String(settings.foldMax))]).rows.count
            if gone > 0 {
                _ = try await session.execute(Self.insertFolded, [.text(makeUUID()), .text(Self.foldedEvent)])
            }
            try await session.commit()
            return gone
        }
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
