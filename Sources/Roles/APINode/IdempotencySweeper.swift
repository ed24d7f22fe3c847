package import Logging
import Metrics
package import Postgres
package import RoleMachines

/// Performs the steps of `IdempotencySweep` on Postgres. The sweepers of several nodes share the work.
package final class IdempotencySweeper: Sendable {
    private let pool: PostgresPool
    private let settings: IdempotencySweep.Settings
    private let logger: Logger
    private let metrics = IdempotencyMetrics()

    private static let removeExpired = Statement(
        """
        DELETE FROM freshet.idempotency_keys WHERE id IN (
            SELECT id FROM freshet.idempotency_keys
            WHERE created_at < clock_timestamp() - make_interval(secs => $1::double precision / 1000)
            ORDER BY created_at LIMIT $2::int FOR UPDATE SKIP LOCKED)
        """)
    private static let removeOldest = Statement(
        """
        DELETE FROM freshet.idempotency_keys WHERE id IN (
            SELECT id FROM freshet.idempotency_keys ORDER BY created_at LIMIT $1::int FOR UPDATE SKIP LOCKED)
        """)
    /// Counts up to a limit, and only if the planner's estimate is not far below it, or there is none yet.
    private static let count = Statement(
        """
        SELECT CASE WHEN reltuples >= 0 AND reltuples < 0.8 * $1::float8 THEN 0 ELSE
            (SELECT count(*) FROM (
                SELECT created_at FROM freshet.idempotency_keys ORDER BY created_at LIMIT $1::bigint) AS counted) END
        FROM pg_class WHERE oid = 'freshet.idempotency_keys'::regclass
        """)

    package init(pool: PostgresPool, settings: IdempotencySweep.Settings, logger: Logger) {
        self.pool = pool
        self.settings = settings
        self.logger = logger
    }

    /// Sweeps until its task is cancelled.
    package func run() async {
        while !Task.isCancelled {
            let pauseMs = await round()
            try? await Task.sleep(for: .milliseconds(pauseMs))
        }
    }

    /// Runs one round.
    /// - Returns: the milliseconds until the next round.
    @discardableResult
    package func round() async -> Int64 {
        var sweep = IdempotencySweep(settings)
        var step = sweep.begun()
        while true {
            switch step {
            case .removeExpired(let ageMs, let limit):
                let removed = await attempt { () async throws(PostgresError) in
                    try await self.pool.transaction(
                        [(Self.removeExpired, [.text(String(ageMs)), .text(String(limit))])]
                    ).first?.affectedRows
                }
                metrics.swept.increment(by: Int64(removed ?? 0))
                step = sweep.removedExpired(removed)
            case .count(let limit):
                let rows = await attempt { () async throws(PostgresError) in
                    try await self.pool.query(Self.count, [.text(String(limit))]).rows.first?.int(0)
                }
                step = sweep.counted(rows)
            case .removeOldest(let limit):
                let removed = await attempt { () async throws(PostgresError) in
                    try await self.pool.transaction([(Self.removeOldest, [.text(String(limit))])]).first?.affectedRows
                }
                metrics.evicted.increment(by: Int64(removed ?? 0))
                step = sweep.removedOldest(removed)
            case .wait(let ms, let evicted):
                if evicted > 0 {
                    logger.warning(
                        "more idempotency keys than api.idempotencyRowsMax: the oldest were removed before their time",
                        metadata: ["rows": "\(evicted)"])
                }
                return ms
            }
        }
    }

    private func attempt(_ body: () async throws(PostgresError) -> Int?) async -> Int? {
        do throws(PostgresError) {
            return try await body()
        } catch {
            logger.warning("sweeping idempotency keys failed", metadata: ["error": "\(error)"])
            return nil
        }
    }
}
