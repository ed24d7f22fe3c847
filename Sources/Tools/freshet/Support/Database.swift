import Catalog
import Execution
import Logging
import Postgres
import SchemaMigration
import SchemaModel
import Settings

/// The schema of a project in its database.
struct Database: Sendable {
    let pool: PostgresPool

    init(url: String, logger: Logger) {
        var configuration = PostgresConfiguration(connectionString: url)
        configuration.readConnections = 1
        configuration.writeConnections = 1
        // A deployment holds its lock while it migrates.
        configuration.sessionConnections = 2
        // What fails, the command says itself.
        var logger = logger
        logger.logLevel = max(logger.logLevel, .error)
        pool = PostgresPool(configuration: configuration, logger: logger)
    }

    func plan(_ schema: Schema, allowing permissions: Migration.Permissions = []) async throws -> MigrationPlan {
        Migration.plan(schema, existing: try await pool.databaseDescription(), allowing: permissions)
    }

    /// What the plan may lose, one line each, with the number of rows that it concerns now.
    func losses(of plan: MigrationPlan) async throws -> [String] {
        try await pool.withSession { session in
            try await Self.allowLongSteps(session)
            return try await Self.losses(of: plan, session)
        }
    }

    /// As long as an index of a large table takes, or counting its rows; what is cut off half-way would be cut off the
    /// next time, too.
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

    /// Brings the database to the schema under one advisory lock.
    /// - Returns: what was done, one line each.
    /// - Parameters:
    ///   - patience: with the locks of tables, and with another migration that is under way.
    ///   - permissions: what else than additions may be done. With `.concurrent` indexes are built, and foreign keys
    ///     checked, while others write, each by itself; of the rest, what stands together is a transaction.
    ///   - tell: is given the plan and what that may lose, before anything is changed.
    /// - Throws: `MigrationRefused` when something cannot be done, `MigrationUnderWay`; then nothing was changed.
    ///   `TableNotFree`, `IndexUnfinished`, `RowsUnfit` where a step could not be made.
    func migrate(
        _ schema: Schema, patience: LockRetryPolicy = .ownServer,
        allowing permissions: Migration.Permissions = [],
        tell: @Sendable (MigrationPlan, [String]) -> Void = { plan, _ in tell(of: plan) }
    ) async throws -> [String] {
        try await pool.withSession { session in
            try await MigrationLock.take(session, waitMs: patience.waitMs)
            try await Self.allowLongSteps(session)
            let plan = try await self.plan(schema, allowing: permissions)
            guard plan.refused.isEmpty else { throw MigrationRefused(findings: plan.refused) }
            tell(plan, try await Self.losses(of: plan, session))
            // Steps that cannot share a transaction (a new enum value) go alone; the others are all or nothing.
            for step in plan.steps where step.needsOwnTransaction {
                try await patience.run([step.sql], session)
            }
            let others = plan.steps.filter { !$0.needsOwnTransaction }
            guard permissions.contains(.concurrent) else {
                if !others.isEmpty { try await patience.run(SQLStatement.together(others), session) }
                return plan.steps.map(\.summary)
            }
            for part in Self.together(others) {
                switch part.first?.concurrent {
                case nil: try await patience.run(SQLStatement.together(part), session)
                case .apart(let statements, let unfit)?:
                    do {
                        for sql in statements { try await patience.run([sql], session) }
                    } catch let error as PostgresError where error.isForeignKeyViolation {
                        throw RowsUnfit(cause: error, state: unfit)
                    }
                case .alone(let sql)?:
                    try await patience.attempt { try await session.script(sql, timeoutMs: Self.stepTimeoutMs) }
                case .build(let build)?:
                    let summary = part.map(\.summary).joined()
                    try await IndexBuilder(build: build, summary: summary, patience: patience, session: session).run()
                }
            }
            return plan.steps.map(\.summary)
        }
    }

    /// What operators ought to know of the database.
    static func tell(of plan: MigrationPlan) {
        for finding in plan.notices { Terminal.error("database: \(finding.text)") }
    }

    /// Of one statement that changes the schema.
    static let stepTimeoutMs = 24 * 3_600_000

    /// Runs of steps that share a transaction, and between them by itself each that has a way of its own.
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

    /// For a private server: migrates the schema and, once, loads the seed. The pool is opened and closed.
    /// - Returns: the id of a lot to try, where the project is the sample.
    func prepare(_ project: Project, _ catalog: Catalog, loadsSeed: Bool) async throws -> String? {
        var example: String?
        do {
            try await pool.start()
            let migrated = try await migrate(catalog.schema)
            if !migrated.isEmpty { Terminal.error("schema: \(migrated.count) changes made") }
            try await pool.script(ServiceSchema.sql)
            try await HotReload.adopt(project, in: self)
            if let seed = project.seedSQL, loadsSeed, try await isEmpty(catalog.schema) {
                try await pool.script(seed)
                Terminal.error("seed.sql loaded")
            }
            if catalog.connectors["auctions"]?.operations["ListLots"] != nil {
                let found = try await pool.query(
                    "SELECT id FROM lot WHERE category = 'Books' AND open ORDER BY closes_at LIMIT 1")
                example = found.rows.first?.string(0)
            }
        } catch {
            await pool.stop()
            throw error
        }
        await pool.stop()
        return example
    }

    /// No table of the schema has a row.
    func isEmpty(_ schema: Schema) async throws -> Bool {
        for table in schema.tables {
            let name =
                "\"" + table.name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
                + "\""
            let found = try await pool.query(Statement("SELECT EXISTS (SELECT FROM \(name))"))
            if found.rows.first?.bool(0) == true { return false }
        }
        return true
    }
}

/// Rows that are there refer to what does not exist.
struct RowsUnfit: Error, CustomStringConvertible {
    let cause: PostgresError
    /// How things stand.
    let state: String

    var description: String { "\(cause.sentence): \(state)" }
}

/// What would lose or reinterpret data, or what Postgres cannot have as things are.
struct MigrationRefused: Error, CustomStringConvertible {
    let findings: [MigrationPlan.Finding]

    var description: String {
        let forceable = findings.count { $0.permission.contains(.rewrites) }
        let help = forceable == findings.count ? "all of them" : "\(forceable) of \(findings.count)"
        let command = findings.contains(where: \.isBuilt) ? "--force --concurrently" : "--force"
        return "the database was not brought to the schema:\n"
            + findings.map { "  " + $0.text }.joined(separator: "\n")
            + (forceable == 0
                ? "" : "\nfreshet migrate \(command) makes \(help); with --dry-run, too, it says what may be lost")
    }
}
