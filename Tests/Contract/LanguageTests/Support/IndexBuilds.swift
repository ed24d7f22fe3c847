import Postgres
import SchemaMigration

/// Builds indexes concurrently the way `freshet migrate --concurrently` does.
enum IndexBuilds {
    struct Refused: Error {
        let reason: String
    }

    /// Runs the steps in one transaction, as `freshet migrate` does.
    static func runTogether(_ steps: [SQLStatement], _ pool: PostgresPool) async throws {
        try await pool.script(SQLStatement.together(steps).joined(separator: ";\n"))
    }

    /// - Parameter before: is called before each action, outside of any transaction.
    /// - Returns: the statements that were run.
    @discardableResult
    static func run(
        _ step: SQLStatement, _ pool: PostgresPool, before: (ConcurrentBuild.Action) async throws -> Void = { _ in }
    ) async throws -> [String] {
        guard case .build(let build)? = step.concurrent else {
            for sql in step.concurrentSQL { try await pool.script(sql) }
            return step.concurrentSQL
        }
        return try await pool.withSession { session in
            func state(_ model: String) async throws -> IndexState {
                let rows = try await session.execute(Statement(build.stateSQL(model: model))).rows
                return try IndexState(parsing: rows.first?.string(0) ?? "")
            }
            try await session.begin()
            try await session.script(build.modelSQL)
            let model = try await session.execute(Statement(build.modelDefinitionSQL)).rows.first?.string(0) ?? ""
            try await session.rollback()
            var run: [String] = []
            for _ in 0..<100 {
                let action = build.next(try await state(model))
                try await before(action)
                switch action {
                case .done: return run
                case .refuse(let reason): throw Refused(reason: reason)
                case .alone(let sql):
                    try await session.script(sql)
                    run.append(sql)
                case .together:
                    try await session.begin()
                    try await session.script(build.lockSQL)
                    if case .together(let statements) = build.next(try await state(model)) {
                        try await session.script(statements.joined(separator: ";\n"))
                        run += statements
                    }
                    try await session.commit()
                }
            }
            throw Refused(reason: "it does not end: \(run.suffix(5))")
        }
    }
}
