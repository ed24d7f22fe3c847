/// Exclusive connections.
extension PostgresPool {
    /// Lends an exclusive connection to `body`. However `body` ends, an open transaction is rolled back, and settings,
    /// temporary tables, cursors and advisory locks are reset before the connection is lent again.
    ///
    /// - Parameter caller: is charged for the session: no caller has all connections at once. Nil for the service
    ///   itself.
    /// - Throws: what `body` throws; `timeout`, `queueFull`, `cancelled` or `closed` when no connection was available.
    @discardableResult
    package func withSession<T: Sendable>(
        caller: Caller? = nil, _ body: (PostgresSession) async throws -> T
    ) async throws -> T {
        let session = try await openSession(caller)
        do {
            let value = try await body(session)
            await giveBack(session)
            return value
        } catch {
            await giveBack(session)
            throw error
        }
    }

    /// Runs any number of statements in the simple protocol, for migrations and seeds. They are one transaction unless
    /// the script contains `COMMIT`.
    ///
    /// - Throws: the first error, with `position` if the server reports it.
    package func script(_ sql: String) async throws(PostgresError) {
        let session = try await openSession(nil)
        let timeoutMs = configuration.scriptTimeoutMs
        do {
            try await session.script("SET statement_timeout = \(timeoutMs)", timeoutMs: timeoutMs)
            try await session.script(sql, timeoutMs: timeoutMs)
        } catch {
            await giveBack(session)
            throw error
        }
        await giveBack(session)
    }

    private func openSession(_ caller: Caller?) async throws(PostgresError) -> PostgresSession {
        // The service's own sessions are each charged to themselves.
        let caller = caller ?? Caller(.random(in: .min ... .max))
        return PostgresSession(
            try await sessions.acquire(caller: caller, timeoutMs: configuration.statementTimeoutMs), caller: caller)
    }

    /// Waits for the reset, so that locks are released and the transaction has ended when the caller continues.
    private func giveBack(_ session: PostgresSession) async {
        let connection = session.end()
        await connection.reset()
        sessions.release(connection, of: session.caller)
    }
}
