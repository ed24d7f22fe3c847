import Postgres
import SchemaMigration

/// Runs what a `ConcurrentBuild` decides, one step after the other.
struct IndexBuilder {
    let build: ConcurrentBuild
    /// `create index lot_title_idx`
    let summary: String
    let patience: LockRetryPolicy
    let session: PostgresSession

    func run() async throws {
        let model = try await model()
        var rounds = 0
        while true {
            let state = try await state(model)
            let action = build.next(state)
            guard action == .done || rounds < build.roundsMax(state) else {
                throw IndexUnfinished(summary: summary, reason: "others changed its tables again and again")
            }
            switch action {
            case .done: return
            case .refuse(let reason): throw IndexUnfinished(summary: summary, reason: reason)
            case .alone(let sql):
                do throws(PostgresError) {
                    try await session.script(sql, timeoutMs: Database.stepTimeoutMs)
                } catch {
                    // Chosen in a deadlock, it leaves an index that serves nothing: the next round removes it.
                    guard LockRetryPolicy.isOfLocks(error) else { throw error }
                    try await Task.sleep(for: .milliseconds(patience.lockPauseMs))
                }
            case .together: try await join(model)
            }
            rounds += 1
        }
    }

    /// With the locks that it takes, nothing can come in between any more; what is missing now is built without them.
    private func join(_ model: String) async throws {
        try await patience.attempt {
            try await session.begin()
            do {
                try await session.script(
                    "SET LOCAL lock_timeout = \(patience.lockTimeoutMs);\n\(build.lockSQL)",
                    timeoutMs: Database.stepTimeoutMs)
                guard case .together(let statements) = build.next(try await state(model)) else {
                    return try await session.rollback()
                }
                try await session.script(statements.joined(separator: ";\n"), timeoutMs: Database.stepTimeoutMs)
                try await session.commit()
            } catch {
                try? await session.rollback()
                throw error
            }
        }
    }

    private func model() async throws -> String {
        var model: String?
        try await patience.attempt {
            try await session.begin()
            do {
                try await session.script(
                    "SET LOCAL lock_timeout = \(patience.lockTimeoutMs);\n\(build.modelSQL)",
                    timeoutMs: Database.stepTimeoutMs)
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
            Statement(build.stateSQL(model: model)), timeoutMs: Database.stepTimeoutMs)
        return try IndexState(parsing: answer.rows.first?.string(0) ?? "")
    }
}

/// An index that could not be built while others write. What was built of it is kept for the next run.
struct IndexUnfinished: Error, CustomStringConvertible {
    let summary: String
    let reason: String

    var description: String { "\(summary): \(reason); freshet migrate once more goes on from there" }
}
