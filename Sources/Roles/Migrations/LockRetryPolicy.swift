import Postgres
package import Settings

/// How long a migration waits for locks and for another migration, and how often it retries.
package struct LockRetryPolicy: Sendable {
    /// For a table's lock, at one attempt; other statements queue up behind it meanwhile. 0: without a bound.
    package var lockTimeoutMs: Int
    /// Between two attempts, in which other transactions proceed.
    package var lockPauseMs: Int
    /// After which a step that got no lock, or was in a deadlock, is not tried again.
    package var lockTotalMs: Int
    /// For the end of another migration.
    package var waitMs: Int
    /// The setting that an operator can change for a longer wait.
    package var setting = "migrate.lockTotalMs"

    /// For a private server.
    package static let ownServer = LockRetryPolicy(
        lockTimeoutMs: 0, lockPauseMs: 250, lockTotalMs: 10_000, waitMs: 60_000)

    /// Waits for a lock as long as it takes; only a deadlock is tried again.
    package static func insisting(_ settings: SectionSettings<MigrateSection>) -> LockRetryPolicy {
        LockRetryPolicy(
            lockTimeoutMs: 0, lockPauseMs: settings.lockPauseMs, lockTotalMs: settings.lockTotalMs,
            waitMs: settings.waitMs)
    }

    /// Gives a lock up soon and tries again, since writers queue up behind a statement that waits for it.
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

    /// Runs the statements in one transaction.
    func run(_ statements: [String], _ session: PostgresSession) async throws {
        let script = (["SET LOCAL lock_timeout = \(lockTimeoutMs)"] + statements).joined(separator: ";\n")
        try await attempt { try await session.script(script, timeoutMs: SchemaDatabase.stepTimeoutMs) }
    }

    /// Repeats `body` while it gets no lock; of a failed attempt nothing must remain.
    /// - Throws: `TableNotFree`, or what else `body` throws.
    func attempt(_ body: () async throws -> Void) async throws {
        let end = ContinuousClock.now + .milliseconds(lockTotalMs)
        while true {
            do {
                return try await body()
            } catch let error as PostgresError where error.isDeadlock || error.isLockNotAvailable {
                guard ContinuousClock.now < end else {
                    throw TableNotFree(totalMs: lockTotalMs, setting: setting, isDeadlock: error.isDeadlock)
                }
            }
            try await Task.sleep(for: .milliseconds(lockPauseMs))
        }
    }
}
