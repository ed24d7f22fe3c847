import Synchronization

/// An exclusive connection for the duration of `PostgresPool.withSession`. Concurrent calls run in turn. After the end
/// of the session every call throws `closed`.
package final class PostgresSession: Sendable {
    private let connection: ConnectionHandle
    /// The caller to whom `SessionQueue` lent the connection.
    let caller: Caller
    private let generation: Int
    private let hasEnded = Atomic<Bool>(false)

    init(_ connection: ConnectionHandle, caller: Caller) {
        self.connection = connection
        self.caller = caller
        generation = connection.counters.generation.load(ordering: .relaxed)
    }

    /// Runs one statement: in the open transaction if there is one, otherwise in a separate one.
    ///
    /// - Throws: `connectionLost` for every call after the connection broke, because the transaction is lost and the
    ///   session does not continue on another connection. Cancelling the task cancels the statement on the server.
    /// - Parameter timeoutMs: the pool's by default. A longer one needs a higher `statement_timeout` in the session,
    ///   too.
    @discardableResult
    package func execute(
        _ statement: Statement, _ parameters: [Parameter] = [], timeoutMs: Int? = nil
    ) async throws(PostgresError) -> ResultSet {
        let step: PostgresStep = (statement, parameters)
        let results = try await run(
            .session, [step], timeoutMs: timeoutMs ?? connection.configuration.statementTimeoutMs)
        guard let result = results.first else {
            throw PostgresError(.connectionLost(outcomeUnknown: false), "the answer has no result")
        }
        return result
    }

    /// Runs several statements in one round trip, in the open transaction or in a separate one.
    package func execute(_ steps: [PostgresStep]) async throws(PostgresError) -> [ResultSet] {
        if steps.isEmpty { return [] }
        return try await run(.session, steps, timeoutMs: connection.configuration.statementTimeoutMs)
    }

    /// Runs a script in the simple protocol, in the open transaction if there is one.
    package func script(_ sql: String, timeoutMs: Int? = nil) async throws(PostgresError) {
        _ = try await run(.script(sql), [], timeoutMs: timeoutMs ?? connection.configuration.scriptTimeoutMs)
    }

    /// The step that begins a transaction.
    package static let beginning: PostgresStep = ("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", [])

    package func begin() async throws(PostgresError) {
        try await execute(Self.beginning.statement)
    }

    /// Commits. Postgres answers COMMIT of a failed transaction with a rollback and no error; here that is an error.
    package func commit() async throws(PostgresError) {
        let result = try await execute("COMMIT")
        if result.commandTag == "ROLLBACK" {
            throw PostgresError(
                .server(sqlState: SQLState.failedTransaction), "the transaction had failed and was rolled back")
        }
    }

    package func rollback() async throws(PostgresError) { try await execute("ROLLBACK") }

    package func savepoint(_ name: String) async throws(PostgresError) {
        try await execute(Statement("SAVEPOINT \(Self.quoted(name))"))
    }

    package func rollback(to savepoint: String) async throws(PostgresError) {
        try await execute(Statement("ROLLBACK TO SAVEPOINT \(Self.quoted(savepoint))"))
    }

    package func release(_ savepoint: String) async throws(PostgresError) {
        try await execute(Statement("RELEASE SAVEPOINT \(Self.quoted(savepoint))"))
    }

    /// Ends the session.
    /// - Returns: the connection, for the pool to reset and lend again.
    func end() -> ConnectionHandle {
        hasEnded.store(true, ordering: .relaxed)
        return connection
    }

    private func run(
        _ kind: JobKind, _ steps: [PostgresStep], timeoutMs: Int
    ) async throws(PostgresError) -> [ResultSet] {
        if hasEnded.load(ordering: .relaxed) { throw PostgresError(.closed, "the session has ended") }
        return try await connection.run(kind, steps, timeoutMs: timeoutMs, generation: generation)
    }

    private static func quoted(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}
