package import Logging
package import Postgres
package import SchemaMigration
package import SchemaModel

/// A database to be migrated to a project's schema.
package struct SchemaDatabase: Sendable {
    /// The progress that a migration reports.
    package enum Event: Sendable {
        /// Another migration is in progress; this one waits for its end.
        case waiting(holder: String)
        /// The planned changes and what they may lose, before anything is changed.
        case planned(MigrationPlan, losses: [String])

        /// The event as text for operators, without the losses.
        package var lines: [String] {
            switch self {
            case .waiting(let holder): ["another migration is under way (\(holder)); waiting for its end"]
            case .planned(let plan, _): plan.notices.map { "database: \($0.text)" }
            }
        }
    }

    /// The time limit for one statement that changes the schema.
    static let stepTimeoutMs = 24 * 3_600_000

    package let pool: PostgresPool

    /// - Parameter logger: for errors only; the caller reports the rest.
    package init(url: String, logger: Logger) {
        var configuration = PostgresConfiguration(connectionString: url)
        configuration.readConnections = 1
        configuration.writeConnections = 1
        // A deployment holds its lock on one connection while it migrates on the other.
        configuration.sessionConnections = 2
        var logger = logger
        logger.logLevel = max(logger.logLevel, .error)
        pool = PostgresPool(configuration: configuration, logger: logger)
    }

    package func plan(
        _ schema: Schema, allowing permissions: Migration.Permissions = []
    ) async throws -> MigrationPlan {
        Migration.plan(schema, existing: try await pool.databaseDescription(), allowing: permissions)
    }

    /// Returns what the plan may lose, one line each, with the number of rows affected now.
    package func losses(of plan: MigrationPlan) async throws -> [String] {
        try await pool.withSession { session in
            try await Self.allowLongSteps(session)
            return try await Self.losses(of: plan, session)
        }
    }

    /// Migrates the database to the schema under one advisory lock.
    /// - Parameters:
    ///   - retries: the limits on waiting for table locks and for another migration.
    ///   - permissions: allowed changes other than additions. With `.concurrent`, indexes are built and foreign keys
    ///     validated one by one while others write; other adjacent steps share a transaction.
    /// - Returns: what was done, one line each.
    /// - Throws: `MigrationRefused` when a change is impossible, `MigrationUnderWay`; nothing was changed then.
    ///   `TableNotFree`, `IndexUnfinished`, `ConstraintViolated` when a step failed.
    package func migrate(
        _ schema: Schema, retries: LockRetryPolicy = .ownServer, allowing permissions: Migration.Permissions = [],
        report: @escaping @Sendable (Event) -> Void
    ) async throws -> [String] {
        try await pool.withSession { session in
            try await MigrationLock.take(session, waitMs: retries.waitMs) { report(.waiting(holder: $0)) }
            try await Self.allowLongSteps(session)
            let plan = try await self.plan(schema, allowing: permissions)
            guard plan.refused.isEmpty else { throw await refused(plan, schema) }
            report(.planned(plan, losses: try await Self.losses(of: plan, session)))
            do {
                try await Self.make(plan, retries, isConcurrent: permissions.contains(.concurrent), session)
            } catch let error as PostgresError {
                throw await unfit(error, schema)
            }
            return plan.steps.map(\.summary)
        }
    }

    /// Steps that cannot share a transaction (a new enum value) run alone; the others are all or nothing, unless they
    /// run concurrently.
    private static func make(
        _ plan: MigrationPlan, _ retries: LockRetryPolicy, isConcurrent: Bool, _ session: PostgresSession
    ) async throws {
        for step in plan.steps where step.needsOwnTransaction { try await retries.run([step.sql], session) }
        let others = plan.steps.filter { !$0.needsOwnTransaction }
        if isConcurrent {
            for part in together(others) { try await make(part, retries, session) }
        } else if !others.isEmpty {
            try await retries.run(SQLStatement.together(others), session)
        }
    }

    /// - Parameter part: steps that share a transaction, or one step that runs separately.
    private static func make(_ part: [SQLStatement], _ retries: LockRetryPolicy, _ session: PostgresSession)
        async throws
    {
        switch part.first?.concurrent {
        case nil: try await retries.run(SQLStatement.together(part), session)
        case .apart(let statements, let unfit)?:
            do {
                for sql in statements { try await retries.run([sql], session) }
            } catch let error as PostgresError where error.isForeignKeyViolation {
                throw ConstraintViolated(cause: error, state: unfit)
            }
        case .alone(let sql)?: try await retries.attempt { try await session.script(sql, timeoutMs: stepTimeoutMs) }
        case .build(let build)?:
            let summary = part.map(\.summary).joined()
            try await IndexBuilder(build: build, summary: summary, retries: retries, session: session).run()
        }
    }

    /// Divides steps into groups that share a transaction, with each step that must run separately between them.
    private static func together(_ steps: [SQLStatement]) -> [[SQLStatement]] {
        var parts: [[SQLStatement]] = []
        for step in steps {
            if step.concurrent == nil, let last = parts.last, last.first?.concurrent == nil {
                parts[parts.count - 1].append(step)
            } else {
                parts.append([step])
            }
        }
        return parts
    }

    /// Raises the statement timeout: building an index of a large table and counting its rows take long, and a step
    /// that timed out would time out again.
    private static func allowLongSteps(_ session: PostgresSession) async throws {
        try await session.script("SET statement_timeout = \(stepTimeoutMs)")
    }

    private static func losses(of plan: MigrationPlan, _ session: PostgresSession) async throws -> [String] {
        var lines: [String] = []
        for loss in plan.losses {
            var line = "\(loss.object): \(loss.message)"
            if let count = loss.countSQL {
                let answer = try await session.execute(Statement(count), timeoutMs: stepTimeoutMs)
                let rows = answer.rows.first?.string(0) ?? "?"
                line += " (\(rows) \(rows == "1" ? "row" : "rows"))"
            }
            lines.append(line)
        }
        return lines
    }

    /// Returns whether no table of the schema has a row.
    package func isEmpty(_ schema: Schema) async throws -> Bool {
        for table in schema.tables {
            let found = try await pool.query(
                Statement("SELECT EXISTS (SELECT FROM \(SQLName.quoted(table.name)))"))
            if found.rows.first?.bool(0) == true { return false }
        }
        return true
    }
}
