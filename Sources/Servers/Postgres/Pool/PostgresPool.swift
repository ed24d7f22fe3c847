package import Logging
import Synchronization

/// The connections of one process to one database, on separate threads: no call blocks the cooperative pool.
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

    /// The purpose of a query, which determines the connections that it may delay.
    package enum QueryUse: Sendable {
        /// A caller's own query; a slow one is charged to the caller.
        case caller(Caller)
        /// Queries of several callers in one statement, on a shared connection. They get so much time from their turn;
        /// after it the statement fails with `ranTooLong`, so that none of them waits long for another's.
        case batch(limitMs: Int)
        /// A re-run of that many live queries.
        case refresh(count: Int, RefreshMode = .open)
        /// A read of the service itself.
        case service
    }

    /// The connections on which a re-run goes, and the time that it may take from its turn; after it the run fails with
    /// `ranTooLong`.
    package enum RefreshMode: Sendable, Hashable {
        /// Runs on a shared connection; moved to a slow one if it is slow while others wait, charged to its statement.
        case open
        case shared(limitMs: Int)
        /// A slow connection. Those with and without a limit do not wait for each other, unless there is only one.
        case apart(limitMs: Int?)
    }

    package let configuration: PostgresConfiguration
    /// Callers' queries.
    let requests: StatementLane
    /// Re-runs and the service's own reads.
    let refreshes: StatementLane
    let transactions: StatementLane
    let sessions: SessionQueue
    private let latch: StartupLatch
    private let tracker: ServerTracker

    package init(configuration: PostgresConfiguration, logger: Logger) {
        self.configuration = configuration
        let latch = StartupLatch()
        self.latch = latch
        let tracker = ServerTracker()
        self.tracker = tracker
        let roundTrip = RoundTripClock()
        func makeConnections(
            _ role: ConnectionRole, _ count: Int, sharedThread: DriverThread?,
            onTurn: (@Sendable (Int, PostgresError?) -> Void)? = nil
        ) -> [ConnectionHandle] {
            (0..<count).map { _ in
                let id = latch.add()
                return ConnectionHandle(
                    role: role, configuration: configuration, logger: logger, thread: sharedThread ?? DriverThread(),
                    roundTrip: roundTrip, onServerChange: { tracker.serverChanged($0) }, onTurn: onTurn
                ) { latch.report(id, $0) }
            }
        }
        // Readers copy many results, so each has its own thread; the others mostly wait for the server.
        let writers = DriverThread()
        func lane(
            _ role: ConnectionRole, _ count: Int, moderate moderateCount: Int = 0, slow slowCount: Int,
            _ choice: ConnectionChoice, sharedThread: DriverThread?
        ) -> StatementLane {
            let queues = StatementLane.Queues(moderate: moderateCount, slow: slowCount, configuration)
            let slow = DriverThread()
            let moderate = moderateCount == 0 ? slow : DriverThread()
            let connections = StatementLane.Connections(
                fast: makeConnections(
                    role, count, sharedThread: sharedThread, onTurn: { queues.overflow.sweep($0, $1) }),
                moderate: makeConnections(
                    role, moderateCount, sharedThread: moderate, onTurn: { queues.moderate.sweep($0, $1) }),
                slow: makeConnections(role, slowCount, sharedThread: slow, onTurn: { queues.slow.sweep($0, $1) }))
            return StatementLane(
                connections, queues, choice: choice, pace: role == .read ? .read : .transaction,
                slowAfterMs: configuration.slowAfterMs)
        }
        requests = lane(
            .read, max(1, configuration.readConnections),
            moderate: configuration.slowReadConnections > 0 ? configuration.moderateReadConnections : 0,
            slow: configuration.slowReadConnections, .packed, sharedThread: nil)
        refreshes =
            configuration.refreshConnections == 0
            ? requests
            : lane(
                .read, configuration.refreshConnections, slow: configuration.slowRefreshConnections, .spread,
                sharedThread: nil)
        transactions = lane(
            .write, max(1, configuration.writeConnections), slow: configuration.slowWriteConnections, .spread,
            sharedThread: writers)
        sessions = SessionQueue(
            connections: makeConnections(
                .session, max(1, configuration.sessionConnections), sharedThread: DriverThread()),
            waitersMax: configuration.queueMax, waitersPerCallerMax: configuration.slowQueuePerSourceMax)
        tracker.follow(connections)
    }

    var readers: [ConnectionHandle] {
        refreshes === requests ? requests.connections : requests.connections + refreshes.connections
    }
    var writers: [ConnectionHandle] { transactions.connections }
    private var connections: [ConnectionHandle] { readers + writers + sessions.connections }

    /// The number of times that the server's timeline changed. Each time, a standby was promoted, and commits that the
    /// former primary had not replicated to it were lost.
    package var timelineChanges: Int { tracker.timelineChanges }
    /// The server's latest known timeline; nil before the first connection, and when the server does not report it.
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

    /// Begins to connect without waiting; `connected` waits.
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
    /// - Throws: `connectionFailed` with the last attempt's error when the time is over, while attempts continue; or at
    ///   once when retrying cannot help (`isMisconfigured`).
    package func connected(withinMs: Int) async throws(PostgresError) {
        try await latch.wait(ms: withinMs).get()
    }

    /// Refuses new calls, gives those in flight `stopTimeoutMs` to finish, and closes. Can be called again.
    package func stop() async {
        sessions.close()
        for lane in [requests, refreshes, transactions] { lane.close() }
        await withTaskGroup(of: Void.self) { group in
            for connection in connections { group.addTask { await connection.stop() } }
        }
    }

    // MARK: queries

    /// Runs one statement that only reads (the server enforces it), pipelined with others' queries.
    ///
    /// - Throws: `server`, `timeout`, `connectionFailed`, `connectionLost` (after one repetition), `queueFull`,
    ///   `invalidParameter`, `cancelled`, `closed`.
    package func query(
        _ statement: Statement, _ parameters: [Parameter] = [], for use: QueryUse = .service
    ) async throws(PostgresError) -> ResultSet {
        let (lane, job) = job(statement, parameters, for: use)
        return try Self.single(try await lane.run(job, requestBytesMax: configuration.requestBytesMax))
    }

    /// Runs a query without suspending, for hot paths. `completion` is called exactly once, usually on the connection's
    /// thread. The connection handles no other answer meanwhile, so it must be short and must not block. It cannot be
    /// cancelled.
    package func query(
        _ statement: Statement, _ parameters: [Parameter], for use: QueryUse = .service,
        completion: @escaping Completion
    ) {
        let (lane, job) = job(statement, parameters, for: use)
        job.onCompletion { result in
            switch result {
            case .success(let results): completion(Result { () throws(PostgresError) in try Self.single(results) })
            case .failure(let error): completion(.failure(error))
            }
        }
        job.completesOnThread = true
        job.validateAndSubmit(requestBytesMax: configuration.requestBytesMax, lane.submit)
    }

    private func job(
        _ statement: Statement, _ parameters: [Parameter], for use: QueryUse
    ) -> (StatementLane, Job) {
        let lane: StatementLane
        let source: Caller
        var allowanceMs = 0
        var isGraded = false
        switch use {
        case .caller(let caller):
            (lane, source) = (requests, caller)
            isGraded = lane.rules.hasModerate
        case .batch: (lane, source) = (requests, .unknown)
        case .refresh(let count, let mode):
            lane = refreshes
            source = Self.source(of: statement, mode)
            allowanceMs = count
        case .service: (lane, source) = (refreshes, .unknown)
        }
        let job = lane.job(
            .read, [(statement, parameters)], timeoutMs: configuration.statementTimeoutMs,
            slowAfterMs: configuration.slowAfterMs + allowanceMs, source: source, isGraded: isGraded)
        switch use {
        case .batch(let limitMs): take(.shared(limitMs: limitMs), job)
        case .refresh(_, let mode): take(mode, job)
        case .caller, .service: break
        }
        return (lane, job)
    }

    // MARK: transactions

    /// Runs all steps as one transaction in one round trip: all are sent at once, so no step can use another's result.
    ///
    /// - Parameters:
    ///   - timeoutMs: the time limit from the call to the answer, at most the pool's statement timeout; nil: that
    ///     timeout, applied separately to queueing and execution.
    ///   - caller: is charged for a slow transaction.
    ///   - step: the number of the step whose statement counts as slow when the transaction is.
    /// - Returns: one result per step, after the commit.
    /// - Throws: as `query`; `stepIndex` is the step that failed. Nothing was committed, unless
    ///   `error.isOutcomeUnknown`. Cancelling the task drops a transaction not sent yet; once sent, its outcome is
    ///   awaited.
    package func transaction(
        _ steps: [PostgresStep], timeoutMs: Int? = nil, caller: Caller = .unknown, measuring step: Int = 0
    ) async throws(PostgresError) -> [ResultSet] {
        if steps.isEmpty { return [] }
        let job = job(steps, timeoutMs: timeoutMs, caller, isGraded: caller != .unknown)
        job.measuredStep = step
        return try await transactions.run(job, requestBytesMax: configuration.requestBytesMax)
    }

    /// Re-runs live queries as a transaction of a check and the statement, in the last step.
    func refresh(_ steps: [PostgresStep], _ mode: RefreshMode) async throws(PostgresError) -> [ResultSet] {
        guard let statement = steps.last?.statement else { return [] }
        let job = job(steps, timeoutMs: nil, Self.source(of: statement, mode))
        job.measuredStep = 1
        take(mode, job)
        return try await transactions.run(job, requestBytesMax: configuration.requestBytesMax)
    }

    /// Runs a transaction without suspending, for hot paths. The rules for the `completion` of `query` apply.
    package func transaction(_ steps: [PostgresStep], completion: @escaping TransactionCompletion) {
        if steps.isEmpty { return completion(.success([])) }
        let job = job(steps, timeoutMs: nil, .unknown)
        job.onCompletion(completion)
        job.validateAndSubmit(requestBytesMax: configuration.requestBytesMax, transactions.submit)
    }

    private func job(_ steps: [PostgresStep], timeoutMs: Int?, _ caller: Caller, isGraded: Bool = false) -> Job {
        if let timeoutMs {
            return Job(.transaction, steps, timeoutMs: min(timeoutMs, configuration.statementTimeoutMs))
        }
        return transactions.job(
            .transaction, steps, timeoutMs: configuration.statementTimeoutMs,
            slowAfterMs: configuration.slowTransactionAfterMs, source: caller, isGraded: isGraded)
    }

    private static func single(_ results: [ResultSet]) throws(PostgresError) -> ResultSet {
        guard let result = results.first else {
            throw PostgresError(.connectionLost(outcomeUnknown: false), "the answer has no result")
        }
        return result
    }
}
