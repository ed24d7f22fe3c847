package import Logging
import Synchronization

/// The connections of one process to one database, on threads of their own: no call blocks the cooperative pool.
///
/// | call | connection | atomic | repeated by the pool |
/// | --- | --- | --- | --- |
/// | `query` | shared, pipelined, read-only | one statement | yes, it only reads |
/// | `transaction` | shared, pipelined | all steps or none | only after an error that proves a rollback |
/// | `withSession` | exclusive | up to the caller | never |
/// | `script` | exclusive | unless it says `COMMIT` | never |
///
/// The pool reconnects by itself after a lost connection; calls wait for that until their deadline.
package final class PostgresPool: Sendable {
    package typealias Completion = @Sendable (Result<ResultSet, PostgresError>) -> Void
    package typealias TransactionCompletion = @Sendable (Result<[ResultSet], PostgresError>) -> Void

    let configuration: PostgresConfiguration
    let readers: [ConnectionHandle]
    let writers: [ConnectionHandle]
    let sessions: SessionQueue
    private let latch: StartupLatch
    private let tracker: ServerTracker

    package init(configuration: PostgresConfiguration, logger: Logger) {
        self.configuration = configuration
        let latch = StartupLatch()
        self.latch = latch
        let tracker = ServerTracker()
        self.tracker = tracker
        func connections(_ role: ConnectionRole, _ count: Int) -> [ConnectionHandle] {
            let thread = DriverThread()
            return (0..<max(1, count)).map { _ in
                let id = latch.add()
                // Readers copy many results, so each has its own thread; the others mostly wait for the server.
                return ConnectionHandle(
                    role: role, configuration: configuration, logger: logger,
                    thread: role == .read ? DriverThread() : thread,
                    onServerChange: { tracker.serverChanged($0) }
                ) { latch.report(id, $0) }
            }
        }
        readers = connections(.read, configuration.readConnections)
        writers = connections(.write, configuration.writeConnections)
        sessions = SessionQueue(
            connections: connections(.session, configuration.sessionConnections),
            waitersMax: configuration.queueMax)
        tracker.follow(readers + writers + sessions.connections)
    }

    private var connections: [ConnectionHandle] { readers + writers + sessions.connections }

    /// How often the server's timeline changed. Each time a standby was promoted, and commits that the former primary
    /// had not replicated to it are gone.
    package var timelineChanges: Int { tracker.timelineChanges }
    /// The server's latest known timeline; nil before the first connection, and when the server does not tell.
    package var timeline: String? { tracker.timeline }

    var hasConnectedWriter: Bool { writers.contains { $0.counters.isConnected.load(ordering: .relaxed) } }

    /// Connects everything. Call it once.
    ///
    /// - Throws: `connectionFailed` when not every connection was made within `connectTimeoutMs` per host of the
    ///   connection string, or at once when retrying cannot help (`isMisconfigured`). The pool is closed then.
    package func start() async throws(PostgresError) {
        begin()
        do throws(PostgresError) {
            try await connected(
                withinMs: configuration.connectTimeoutMs
                    * ConnectionHosts(configuration.connectionString).choices.count)
        } catch {
            await stop()
            throw error
        }
    }

    /// Begins to connect without waiting for it: `connected` does that.
    package func begin() {
        if let problem = ConnectionHosts.problem(of: configuration.connectionString) {
            var error = PostgresError(.connectionFailed, problem)
            error.isMisconfigured = true
            latch.fail(error)
        }
        for connection in connections where !connection.start() {
            latch.fail(PostgresError(.connectionFailed, "no thread or descriptor for a connection"))
        }
    }

    /// Waits until every connection has been made once. Can be called again.
    /// - Throws: `connectionFailed` after that time with the last attempt's error, while attempts go on; or at once
    ///   when retrying cannot help (`isMisconfigured`).
    package func connected(withinMs: Int) async throws(PostgresError) {
        try await latch.wait(ms: withinMs).get()
    }

    /// Refuses new calls, gives those in flight `stopTimeoutMs` to finish, and closes. Can be called again.
    package func stop() async {
        sessions.close()
        await withTaskGroup(of: Void.self) { group in
            for connection in connections { group.addTask { await connection.stop() } }
        }
    }

    // MARK: queries

    /// Runs one statement that only reads (the server enforces it), pipelined with other callers' queries.
    ///
    /// - Throws: `server`, `timeout`, `connectionFailed`, `connectionLost` (after one repetition), `queueFull`,
    ///   `invalidParameter`, `cancelled`, `closed`.
    package func query(_ statement: Statement, _ parameters: [Parameter] = []) async throws(PostgresError) -> ResultSet
    {
        let step: PostgresStep = (statement, parameters)
        let results = try await leastLoaded(readers).run(
            .read, [step], timeoutMs: configuration.statementTimeoutMs)
        return try Self.single(results)
    }

    /// The same for hot paths. `completion` is called exactly once, usually on the connection's thread, so it must be
    /// short and must not block. It cannot be cancelled.
    package func query(_ statement: Statement, _ parameters: [Parameter], completion: @escaping Completion) {
        let job = Job(.read, [(statement, parameters)], timeoutMs: configuration.statementTimeoutMs) { result in
            switch result {
            case .success(let results): completion(Result { () throws(PostgresError) in try Self.single(results) })
            case .failure(let error): completion(.failure(error))
            }
        }
        job.completesOnThread = true
        leastLoaded(readers).validateAndSubmit(job)
    }

    // MARK: transactions

    /// Runs all steps as one transaction in one round trip: all are sent at once, so no step can use another's result.
    ///
    /// - Returns: one result per step, after the commit.
    /// - Throws: as `query`; `stepIndex` is the step that failed. Nothing was committed, unless
    ///   `error.isOutcomeUnknown`. Cancelling the task drops a transaction not sent yet; once sent, its outcome is
    ///   awaited.
    /// - Parameter timeoutMs: less than the pool's statement time-out.
    package func transaction(
        _ steps: [PostgresStep], timeoutMs: Int = .max
    ) async throws(PostgresError) -> [ResultSet] {
        if steps.isEmpty { return [] }
        return try await leastLoaded(writers).run(
            .transaction, steps, timeoutMs: min(timeoutMs, configuration.statementTimeoutMs))
    }

    /// The same for hot paths. What `query` says about `completion` applies.
    package func transaction(_ steps: [PostgresStep], completion: @escaping TransactionCompletion) {
        if steps.isEmpty { return completion(.success([])) }
        let job = Job(.transaction, steps, timeoutMs: configuration.statementTimeoutMs, completion: completion)
        leastLoaded(writers).validateAndSubmit(job)
    }

    // MARK: exclusive connections

    /// Lends an exclusive connection to `body`. When it ends, in whatever way, an open transaction is rolled back and
    /// settings, temporary tables, cursors and advisory locks are reset before the connection is lent again.
    ///
    /// - Throws: what `body` throws; `timeout`, `queueFull`, `cancelled` or `closed` when no connection was available.
    @discardableResult
    package func withSession<T: Sendable>(
        _ body: (PostgresSession) async throws -> T
    ) async throws -> T {
        let session = try await openSession()
        do {
            let value = try await body(session)
            await giveBack(session)
            return value
        } catch {
            await giveBack(session)
            throw error
        }
    }

    /// Runs any number of statements by the simple protocol, for migrations and seeds. They are one transaction unless
    /// the script says otherwise.
    ///
    /// - Throws: the first error, with `position` if the server reports it.
    package func script(_ sql: String) async throws(PostgresError) {
        let session = try await openSession()
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

    private func openSession() async throws(PostgresError) -> PostgresSession {
        PostgresSession(try await sessions.acquire(timeoutMs: configuration.statementTimeoutMs))
    }

    /// Waits for the reset, so that locks are free and the transaction is gone when the caller goes on.
    private func giveBack(_ session: PostgresSession) async {
        let connection = session.end()
        await connection.reset()
        sessions.release(connection)
    }

    // MARK: choosing

    /// The connected one with the lowest load; among equals the first, so that few callers keep few connections busy.
    private func leastLoaded(_ connections: [ConnectionHandle]) -> ConnectionHandle {
        var best = connections[0]
        var bestRank = best.loadRank
        for connection in connections.dropFirst() where bestRank > 0 {
            let rank = connection.loadRank
            if rank < bestRank { (best, bestRank) = (connection, rank) }
        }
        return best
    }

    private static func single(_ results: [ResultSet]) throws(PostgresError) -> ResultSet {
        guard let result = results.first else {
            throw PostgresError(.connectionLost(outcomeUnknown: false), "the answer has no result")
        }
        return result
    }
}

extension ConnectionHandle {
    /// Connections that are down rank last, whatever their load.
    fileprivate var loadRank: Int {
        counters.load.load(ordering: .relaxed) + (counters.isConnected.load(ordering: .relaxed) ? 0 : 1 << 40)
    }
}
