package import Logging
import Synchronization

/// All connections of one program to one database, on a few threads of their own; no call blocks Swift's threads.
///
/// | call | connection | atomic | repeated by the pool |
/// | --- | --- | --- | --- |
/// | `query` | shared, pipelined, read-only | one statement | yes, it only reads |
/// | `transaction` | shared, a sync for each | all steps or none | only after an error that proves a rollback |
/// | `withSession` | exclusive | as the caller says | never |
/// | `script` | exclusive | unless it says `COMMIT` | never |
///
/// After a lost connection the pool connects again by itself; calls wait for that until their deadline.
package final class PostgresPool: Sendable {
    package typealias Completion = @Sendable (Result<ResultSet, PostgresError>) -> Void
    package typealias TransactionCompletion = @Sendable (Result<[ResultSet], PostgresError>) -> Void

    let configuration: PostgresConfiguration
    let readers: [ConnectionHandle]
    let writers: [ConnectionHandle]
    let sessions: SessionQueue
    private let gate: StartGate
    private let news: ServerTracker

    package init(configuration: PostgresConfiguration, logger: Logger) {
        self.configuration = configuration
        let gate = StartGate()
        self.gate = gate
        let news = ServerTracker()
        self.news = news
        func links(_ role: ConnectionRole, _ count: Int) -> [ConnectionHandle] {
            let thread = DriverThread()
            return (0..<max(1, count)).map { _ in
                let id = gate.add()
                // Readers have much to copy each; the others mostly wait for the server.
                return ConnectionHandle(
                    role: role, configuration: configuration, logger: logger,
                    thread: role == .read ? DriverThread() : thread, onServer: { news.told($0) }
                ) { gate.report(id, $0) }
            }
        }
        readers = links(.read, configuration.readConnections)
        writers = links(.write, configuration.writeConnections)
        sessions = SessionQueue(
            links: links(.session, configuration.sessionConnections), waitersMax: configuration.queueMax)
        news.follow(readers + writers + sessions.links)
    }

    private var links: [ConnectionHandle] { readers + writers + sessions.links }

    /// How often another timeline than before was met: a standby was promoted, and what the former primary had not
    /// passed on to it is gone although it was committed.
    package var timelineChanges: Int { news.timelineChanges }
    /// The timeline met last; nil before the first connection, and when the server does not tell.
    package var timeline: String? { news.timeline }

    var hasConnectedWriter: Bool { writers.contains { $0.counters.isConnected.load(ordering: .relaxed) } }

    /// Connects everything. Call it once.
    ///
    /// - Throws: `connectionFailed` when not every connection was made within `connectTimeoutMs` for each host of the
    ///   connection string, or at once when no waiting can help (`isMisconfigured`); all are closed then.
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

    /// The same without waiting. Then `connected` tells, any number of times; `stop` closes.
    package func begin() {
        if let problem = ConnectionHosts.problem(of: configuration.connectionString) {
            var error = PostgresError(.connectionFailed, problem)
            error.isMisconfigured = true
            gate.fail(error)
        }
        for link in links where !link.start() {
            gate.fail(PostgresError(.connectionFailed, "no thread or descriptor for a connection"))
        }
    }

    /// Returns when every connection has been made once.
    /// - Throws: `connectionFailed` after that time, with what the last attempt said, while attempts go on; or at once
    ///   when no waiting can help (`isMisconfigured`).
    package func connected(withinMs: Int) async throws(PostgresError) {
        try await gate.wait(ms: withinMs).get()
    }

    /// Refuses new calls, lets those in flight finish for `stopTimeoutMs`, and closes. Can be called again.
    package func stop() async {
        sessions.close()
        await withTaskGroup(of: Void.self) { group in
            for link in links { group.addTask { await link.stop() } }
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
        let link = leastLoaded(readers)
        let results = try await link.run(.read, [step], timeoutMs: configuration.statementTimeoutMs)
        return try Self.single(results)
    }

    /// The same for hot paths. `completion` is called exactly once, usually on the connection's thread: it must be
    /// short and must not block. There is no cancellation.
    package func query(_ statement: Statement, _ parameters: [Parameter], completion: @escaping Completion) {
        let job = Job(.read, [(statement, parameters)], timeoutMs: configuration.statementTimeoutMs) { result in
            switch result {
            case .success(let results): completion(Result { () throws(PostgresError) in try Self.single(results) })
            case .failure(let error): completion(.failure(error))
            }
        }
        job.isWorkedOnHere = true
        leastLoaded(readers).validateAndSubmit(job)
    }

    // MARK: transactions

    /// Runs all steps as one transaction in one round trip: all are sent at once, so no step can use another's result.
    ///
    /// - Returns: one result for each step, after the commit.
    /// - Throws: as `query`; `stepIndex` names the step that failed. Nothing was committed, unless
    ///   `error.isOutcomeUnknown`. Cancelling the task drops it while unsent; once sent, its outcome is awaited.
    /// - Parameter timeoutMs: for those who cannot wait as long as others.
    package func transaction(
        _ steps: [PostgresStep], timeoutMs: Int = .max
    ) async throws(PostgresError) -> [ResultSet] {
        if steps.isEmpty { return [] }
        return try await leastLoaded(writers).run(
            .transaction, steps, timeoutMs: min(timeoutMs, configuration.statementTimeoutMs))
    }

    /// The same for hot paths, under the conditions of the callback form of `query`.
    package func transaction(_ steps: [PostgresStep], completion: @escaping TransactionCompletion) {
        if steps.isEmpty { return completion(.success([])) }
        let job = Job(.transaction, steps, timeoutMs: configuration.statementTimeoutMs, completion: completion)
        leastLoaded(writers).validateAndSubmit(job)
    }

    // MARK: exclusive connections

    /// Lends an exclusive connection to `body`. Afterwards, however it ends, what is open is rolled back and settings,
    /// temporary tables, cursors and advisory locks are reset before anybody else gets the connection.
    ///
    /// - Throws: what `body` throws; `timeout`, `queueFull`, `cancelled` or `closed` when no connection was to be had.
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

    /// Runs any number of statements by the simple protocol: migrations, seeds. All of them are one transaction unless
    /// the script says otherwise.
    ///
    /// - Throws: the first error, with `position` where the server tells it.
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
        let link = try await sessions.acquire(timeoutMs: configuration.statementTimeoutMs)
        return PostgresSession(link)
    }

    /// Waits for the reset, so that its effects (locks freed, transaction gone) are there when the caller goes on.
    private func giveBack(_ session: PostgresSession) async {
        let link = session.end()
        await link.reset()
        sessions.release(link)
    }

    // MARK: choosing

    /// The connected one with the fewest calls; among equals the first, so that few callers keep few connections warm.
    private func leastLoaded(_ links: [ConnectionHandle]) -> ConnectionHandle {
        var best = links[0]
        var bestRank = best.loadRank
        for link in links.dropFirst() where bestRank > 0 {
            let rank = link.loadRank
            if rank < bestRank { (best, bestRank) = (link, rank) }
        }
        return best
    }

    private static func single(_ results: [ResultSet]) throws(PostgresError) -> ResultSet {
        guard let result = results.first else {
            throw PostgresError(.connectionLost(outcomeUnknown: false), "an answer without a result")
        }
        return result
    }
}

extension ConnectionHandle {
    /// Unconnected ones come last, whatever their load.
    fileprivate var loadRank: Int {
        counters.load.load(ordering: .relaxed) + (counters.isConnected.load(ordering: .relaxed) ? 0 : 1 << 40)
    }
}
