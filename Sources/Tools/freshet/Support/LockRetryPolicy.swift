import Postgres
import Settings

/// How long a migration waits for others, and how often it tries again.
struct LockRetryPolicy: Sendable {
    /// To wait for a table's lock at a time; whoever comes after waits behind. 0: without end.
    var lockTimeoutMs: Int
    /// Between two attempts, in which the others go on.
    var lockPauseMs: Int
    /// After which a step that got no lock, or was in a deadlock, is not tried again.
    var lockTotalMs: Int
    /// For the end of another migration.
    var waitMs: Int
    /// What somebody could change to wait longer for a lock.
    var setting = "migrate.lockTotalMs"

    /// Of a private server.
    static let ownServer = LockRetryPolicy(
        lockTimeoutMs: 0, lockPauseMs: 250, lockTotalMs: 10_000, waitMs: 60_000)

    /// Waits for a lock as long as it takes; a deadlock is tried again.
    static func insisting(_ settings: SectionSettings<MigrateSection>) -> LockRetryPolicy {
        LockRetryPolicy(
            lockTimeoutMs: 0, lockPauseMs: settings.lockPauseMs, lockTotalMs: settings.lockTotalMs,
            waitMs: settings.waitMs)
    }

    /// Writers queue up behind a statement that waits for its lock: it gives way soon, and tries again.
    static func givingWay(_ settings: SectionSettings<MigrateSection>) -> LockRetryPolicy {
        var patience = insisting(settings)
        patience.lockTimeoutMs = settings.lockTimeoutMs
        return patience
    }

    /// One attempt to get a lock.
    static func deploying(
        _ deploy: SectionSettings<DeploySection>, _ migrate: SectionSettings<MigrateSection>
    ) -> LockRetryPolicy {
        var patience = insisting(migrate)
        guard deploy.lockTimeoutMs > 0 else { return patience }
        patience.lockTimeoutMs = deploy.lockTimeoutMs
        patience.lockTotalMs = deploy.lockTimeoutMs
        patience.setting = "deploy.lockTimeoutMs"
        return patience
    }

    /// In one transaction, as one message is.
    func run(_ statements: [String], _ session: PostgresSession) async throws {
        let script = (["SET LOCAL lock_timeout = \(lockTimeoutMs)"] + statements).joined(separator: ";\n")
        try await attempt { try await session.script(script, timeoutMs: Database.stepTimeoutMs) }
    }

    /// Again and again while `body`, of which then nothing must remain, gets no lock.
    /// - Throws: `TableNotFree`, or what `body` throws otherwise.
    func attempt(_ body: () async throws -> Void) async throws {
        let end = ContinuousClock.now + .milliseconds(lockTotalMs)
        while true {
            do {
                return try await body()
            } catch let error as PostgresError where Self.isOfLocks(error) {
                guard ContinuousClock.now < end else {
                    throw TableNotFree(totalMs: lockTotalMs, setting: setting, isDeadlock: error.sqlState == "40P01")
                }
            }
            try await Task.sleep(for: .milliseconds(lockPauseMs))
        }
    }

    /// `lock_timeout` was over, or Postgres chose this one of a deadlock.
    static func isOfLocks(_ error: PostgresError) -> Bool { error.sqlState == "55P03" || error.sqlState == "40P01" }
}

/// Others held a table's lock at every attempt.
struct TableNotFree: Error, CustomStringConvertible {
    let totalMs: Int
    let setting: String
    let isDeadlock: Bool

    var description: String {
        "a table was not free in \(totalMs) ms (\(setting)): "
            + (isDeadlock ? "deadlocks with other transactions" : "a long transaction") + ", see pg_stat_activity;"
            + " run it once more: it does the rest"
    }
}

/// One migration at a time in a database.
enum MigrationLock {
    private static let key = "hashtextextended('freshet.migration', 0)"
    private static let pauseMs = 250

    /// Waits for the migration that goes on, and says so. Asked again and again, because a statement that waits holds a
    /// snapshot, for which an index that is built concurrently by the holder would wait in turn.
    static func take(_ session: PostgresSession, waitMs: Int) async throws {
        let end = ContinuousClock.now + .milliseconds(waitMs)
        var isTold = false
        while true {
            let answer = try await session.execute(Statement("SELECT pg_try_advisory_lock(\(key))"))
            if answer.rows.first?.bool(0) == true { return }
            let holder = try await holder(session)
            guard ContinuousClock.now < end else { throw MigrationUnderWay(waitMs: waitMs, holder: holder) }
            if !isTold { Terminal.error("another migration is under way (\(holder)); waiting for its end") }
            isTold = true
            try await Task.sleep(for: .milliseconds(pauseMs))
        }
    }

    /// `pid 71, freshet-session of anna from 10.0.0.7`, as far as it may be seen.
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

struct MigrationUnderWay: Error, CustomStringConvertible {
    let waitMs: Int
    let holder: String

    var description: String {
        "another migration was under way for \(waitMs) ms (migrate.waitMs): \(holder); nothing was changed"
    }
}
