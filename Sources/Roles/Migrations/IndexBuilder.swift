import Postgres
import SchemaMigration

/// Performs the steps that a `ConcurrentBuild` decides, in order.
struct IndexBuilder {
    let build: ConcurrentBuild
    /// A few words, such as `create index lot_title_idx`.
    let summary: String
    let retries: LockRetryPolicy
    let session: PostgresSession

    func run() async throws {
        let model = try await model()
        var rounds = 0
        while true {
            let state = try await state(model)
            let action = build.next(state)
            guard action == .done || rounds < build.roundsMax(state) else {
                throw IndexUnfinished(summary: summary, reason: "its tables kept changing")
            }
            switch action {
            case .done: return
            case .refuse(let reason): throw IndexUnfinished(summary: summary, reason: reason)
            case .alone(let sql):
                do throws(PostgresError) {
                    try await session.script(sql, timeoutMs: SchemaDatabase.stepTimeoutMs)
                } catch {
                    // A deadlock's victim leaves an invalid index, which the next round removes.
                    guard error.isDeadlock || error.isLockNotAvailable else { throw error }
                    try await Task.sleep(for: .milliseconds(retries.lockPauseMs))
                }
            case .together: try await join(model)
            }
            rounds += 1
        }
    }

    /// Joins the parts under locks, so that nothing changes in between; parts found missing are built afterwards
    /// without locks.
    private func join(_ model: String) async throws {
        try await retries.attempt {
            try await session.begin()
            do {
                try await session.script(
                    "SET LOCAL lock_timeout = \(retries.lockTimeoutMs);\n\(build.lockSQL)",
                    timeoutMs: SchemaDatabase.stepTimeoutMs)
                guard case .together(let statements) = build.next(try await state(model)) else {
                    return try await session.rollback()
                }
                try await session.script(statements.joined(separator: ";\n"), timeoutMs: SchemaDatabase.stepTimeoutMs)
                try await session.commit()
            } catch {
                try? await session.rollback()
                throw error
            }
        }
    }

    private func model() async throws -> String {
        var model: String?
        try await retries.attempt {
            try await session.begin()
            do {
                try await session.script(
                    "SET LOCAL lock_timeout = \(retries.lockTimeoutMs);\n\(build.modelSQL)",
                    timeoutMs: SchemaDatabase.stepTimeoutMs)
                model = try await session.execute(Statement(build.modelDefinitionSQL)).rows.first?.string(0)
                try await session.rollback()
            } catch {
                try? await session.rollback()
                throw error
            }
        }
        guard let model else { throw IndexUnfinished(summary: summary, reason: "Postgres does not describe it") }
        return model
    }

    private func state(_ model: String) async throws -> IndexState {
        let answer = try await session.execute(
            Statement(build.stateSQL(model: model)), timeoutMs: SchemaDatabase.stepTimeoutMs)
        return try IndexState(parsing: answer.rows.first?.string(0) ?? "")
    }
}
