import Clocks
import Postgres
package import Settings

/// The time limits of a migration that waits for locks or for another migration, and its retries.
package struct LockRetryPolicy: Sendable {
    /// The time limit for a table's lock at one attempt, while other statements queue up behind it. 0: none.
    package var lockTimeoutMs: Int
    /// The pause between two attempts, in which other transactions proceed.
    package var lockPauseMs: Int
    /// The time after which a step that got no lock, or was in a deadlock, is not retried.
    package var lockTotalMs: Int
    /// The time limit for the end of another migration.
    package var waitMs: Int
    /// The setting by which an operator can allow a longer wait.
    package var setting = "migrate.lockTotalMs"

    /// The policy for a private server.
    package static let ownServer = LockRetryPolicy(
        lockTimeoutMs: 0, lockPauseMs: 250, lockTotalMs: 10_000, waitMs: 60_000)

    /// Waits for a lock without a limit; only a deadlock is retried.
    package static func insisting(_ settings: SectionSettings<MigrateSection>) -> LockRetryPolicy {
        LockRetryPolicy(
            lockTimeoutMs: 0, lockPauseMs: settings.lockPauseMs, lockTotalMs: settings.lockTotalMs,
            waitMs: settings.waitMs)
    }

    /// Gives up on a lock soon and retries, because writers queue up behind a statement that waits for it.
    package static func givingWay(_ settings: SectionSettings<MigrateSection>) -> LockRetryPolicy {
        var policy = insisting(settings)
        policy.lockTimeoutMs = settings.lockTimeoutMs
        return policy
    }

    /// Makes one attempt to get a lock.
    package static func deploying(_ deploy: SectionSettings<DeploySection>, _ migrate: SectionSettings<MigrateSection>)
        -> LockRetryPolicy
    {
        var policy = insisting(migrate)
        guard deploy.lockTimeoutMs > 0 else { return policy }
        policy.lockTimeoutMs = deploy.lockTimeoutMs
        policy.lockTotalMs = deploy.lockTimeoutMs
        policy.setting = "deploy.lockTimeoutMs"
        return policy
    }

    /// Runs the statements as one transaction.
    func run(_ statements: [String], _ session: PostgresSession) async throws {
        let script = (["SET LOCAL lock_timeout = \(lockTimeoutMs)"] + statements).joined(separator: ";\n")
        try await attempt { try await session.script(script, timeoutMs: SchemaDatabase.stepTimeoutMs) }
    }

    /// Repeats `body` while it gets no lock; a failed attempt must leave nothing behind.
    /// - Throws: `TableNotFree`, or any other error of `body`.
    func attempt(_ body: () async throws -> Void) async throws {
        let deadline = Deadline(afterMs: lockTotalMs)
        while true {
            do {
                return try await body()
            } catch let error as PostgresError where error.isDeadlock || error.isLockNotAvailable {
                guard !deadline.isReached else {
                    throw TableNotFree(totalMs: lockTotalMs, setting: setting, isDeadlock: error.isDeadlock)
                }
            }
            try await Task.sleep(for: .milliseconds(lockPauseMs))
        }
    }
}
