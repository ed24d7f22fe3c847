import Clocks
import Postgres

/// The lock that allows one migration at a time in a database.
enum MigrationLock {
    private static let key = "hashtextextended('freshet.migration', 0)"
    private static let pauseMs = 250

    /// Takes the lock, or waits for the migration that holds it. Polls, because a waiting statement holds a snapshot
    /// for which the holder's concurrent index build would wait in turn.
    /// - Parameter waiting: called once with the holder, if there is one.
    static func take(
        _ session: PostgresSession, waitMs: Int, waiting: @Sendable (_ holder: String) -> Void
    ) async throws {
        let deadline = Deadline(afterMs: waitMs)
        var isReported = false
        while true {
            let answer = try await session.execute(Statement("SELECT pg_try_advisory_lock(\(key))"))
            if answer.rows.first?.bool(0) == true { return }
            let holder = try await holder(session)
            guard !deadline.isReached else { throw MigrationUnderWay(waitMs: waitMs, holder: holder) }
            if !isReported { waiting(holder) }
            isReported = true
            try await Task.sleep(for: .milliseconds(pauseMs))
        }
    }

    /// Describes the holder, as far as this role may see it: `pid 71, freshet-session of anna from 10.0.0.7`.
    private static func holder(_ session: PostgresSession) async throws -> String {
        let answer = try await session.execute(
            Statement(
                """
                SELECT 'pid ' || l.pid || coalesce(', ' || nullif(a.application_name, ''), '')
                  || coalesce(' of ' || a.usename, '') || coalesce(' from ' || host(a.client_addr), '')
                FROM pg_locks l LEFT JOIN pg_stat_activity a USING (pid)
                WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
                  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
                  AND (l.classid::bigint << 32) | l.objid::bigint = \(key)
                """))
        return answer.rows.first?.string(0) ?? "ended just now"
    }
}
