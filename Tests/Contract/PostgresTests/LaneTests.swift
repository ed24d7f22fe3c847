import TestSupport
import Testing

@testable import Postgres

extension OneServer {
    /// Slow statements and their neighbours on a real server.
    @Suite struct LaneTests {
        private func withLanes(
            slowConnections: Int = 2, _ change: (inout PostgresConfiguration) -> Void = { _ in },
            _ body: (PostgresPool) async throws -> Void
        ) async throws {
            try await withPool(
                { configuration in
                    (configuration.readConnections, configuration.refreshConnections) = (1, 1)
                    configuration.slowReadConnections = slowConnections
                    configuration.slowRefreshConnections = slowConnections
                    configuration.slowWriteConnections = slowConnections
                    change(&configuration)
                }, body)
        }

        @Test func slowQueryMovesOutOfTheWay() async throws {
            try await withLanes { (pool) async throws in
                let sleep: Statement = "SELECT pg_sleep(1.5), 7"
                async let slow = pool.query(sleep, for: .caller(1))
                _ = await eventually { pool.metrics.read.inFlight == 1 }
                // Behind it on the only connection of callers' queries: answered long before it.
                let clock = ContinuousClock()
                let start = clock.now
                for number in 0..<20 {
                    let row = try await pool.query("SELECT $1::int", [Parameter(number)], for: .caller(2)).rows[0]
                    #expect(row.int(0) == number)
                }
                #expect(clock.now - start < .milliseconds(1_000))
                #expect(pool.requests.counts.rerouted == 1 && !sleep.isSlow, "once may be the server's fault")
                #expect(try await slow.rows[0].int(1) == 7)
                #expect(pool.metrics.read.reconnects == 0)
            }
        }

        @Test func knownSlowStatementGoesApartFromTheStart() async throws {
            try await withLanes { (pool) async throws in
                let statement: Statement = "SELECT pg_sleep($1::float8), 1"
                statement.isSlowAgain()
                async let slow = pool.query(statement, ["0.3"], for: .caller(1))
                _ = await eventually { pool.requests.counts.running == 1 }
                #expect(pool.requests.counts.rerouted == 0)
                _ = try await slow
                // Fast again, and so back among the others.
                for _ in 0..<8 { _ = try await pool.query(statement, ["0"], for: .caller(1)) }
                #expect(!statement.isSlow)
            }
        }

        @Test func oneCallersSlowStatementsWaitForEachOtherOnly() async throws {
            try await withLanes { (pool) async throws in
                let statement: Statement = "SELECT pg_sleep($1::float8), 1"
                statement.isSlowAgain()
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<4 {
                        group.addTask {
                            _ = try await pool.query(statement, ["0.5"], for: .caller(1))
                            return 1
                        }
                    }
                    _ = await eventually { pool.requests.counts.waiting == 3 }
                    #expect(pool.requests.counts.running == 1, "one connection is left to others")
                    group.addTask {
                        _ = try await pool.query(statement, ["0"], for: .caller(2))
                        return 2
                    }
                    let first = try await group.next()
                    #expect(first == 2)
                    try await group.waitForAll()
                }
            }
        }

        @Test func tooManySlowStatementsAreRefused() async throws {
            try await withLanes({ $0.slowQueuePerSourceMax = 1 }) { (pool) async throws in
                let statement: Statement = "SELECT pg_sleep($1::float8), 1"
                statement.isSlowAgain()
                async let running = pool.query(statement, ["1"], for: .caller(1))
                _ = await eventually { pool.requests.counts.running == 1 }
                async let waiting = pool.query(statement, ["1"], for: .caller(1))
                _ = await eventually { pool.requests.counts.waiting == 1 }
                // A fast execution is not refused, although its statement is known to be slow.
                _ = try await pool.query(statement, ["0"], for: .caller(1))
                #expect(pool.requests.counts.refused == 0)
                // A slow one is, once others wait for it; after that the caller's are refused at once.
                let slow = Task {
                    await error { () async throws(PostgresError) in
                        try await pool.query(statement, ["30"], for: .caller(1))
                    }
                }
                _ = await eventually { pool.metrics.read.inFlight == 2 }
                _ = try await pool.query("SELECT 1", for: .caller(2))
                let refused = await slow.value
                #expect(refused?.code == .queueFull && refused?.isRetryable == true)
                #expect(
                    await code { () async throws(PostgresError) in
                        try await pool.query(statement, ["0"], for: .caller(1))
                    } == .queueFull)
                _ = try await (running, waiting)
                #expect(pool.requests.counts.refused == 2)
            }
        }

        @Test func waitingSlowStatementTimesOutAndCanBeCancelled() async throws {
            try await withLanes(slowConnections: 1, { $0.statementTimeoutMs = 800 }) { (pool) async throws in
                let statement: Statement = "SELECT pg_sleep(30), 1"
                statement.isSlowAgain()
                let running = Task { await error { () async throws(PostgresError) in try await pool.query(statement) } }
                _ = await eventually { pool.refreshes.counts.running == 1 }
                let waiting = Task { await error { () async throws(PostgresError) in try await pool.query(statement) } }
                let cancelled = Task {
                    await error { () async throws(PostgresError) in try await pool.query(statement) }
                }
                _ = await eventually { pool.refreshes.counts.waiting == 2 }
                cancelled.cancel()
                #expect(await cancelled.value?.code == .cancelled)
                #expect(await running.value?.code == .timeout(outcomeUnknown: false))
                #expect(await waiting.value?.code == .timeout(outcomeUnknown: false))
                #expect(pool.refreshes.counts.waiting == 0)
                _ = await eventually { pool.refreshes.counts.running == 0 }
                #expect(pool.refreshes.counts.running == 0)
            }
        }

        @Test func slowTransactionMovesOutOfTheWayAndCommitsOnce() async throws {
            try await withLanes({ ($0.writeConnections, $0.slowTransactionAfterMs) = (1, 100) }) {
                (pool) async throws in
                try await pool.script("CREATE TABLE lane_commits (id int)")
                async let slow = pool.transaction([
                    ("INSERT INTO lane_commits VALUES (1)", []), ("SELECT pg_sleep(1)", []),
                ])
                _ = await eventually { pool.metrics.write.inFlight == 1 }
                _ = try await pool.transaction([("INSERT INTO lane_commits VALUES (2)", [])])
                #expect(pool.transactions.counts.rerouted == 1)
                _ = try await slow
                let rows = try await pool.query("SELECT count(*) FROM lane_commits WHERE id = 1").rows
                #expect(rows[0].int(0) == 1)
            }
        }

        @Test func callersAndRefreshesDoNotShareAConnection() async throws {
            try await withLanes(slowConnections: 0) { (pool) async throws in
                async let slow = pool.query("SELECT pg_sleep(1), 1", for: .caller(1))
                _ = await eventually { pool.metrics.read.inFlight == 1 }
                _ = try await pool.query("SELECT 1", for: .refresh(count: 1))
                #expect(pool.metrics.read.inFlight == 1, "the slow one still runs")
                _ = try await slow
            }
        }

        @Test func stopAnswersWhatWaits() async throws {
            try await withLanes(slowConnections: 1) { (pool) async throws in
                let statement: Statement = "SELECT pg_sleep(30), 1"
                statement.isSlowAgain()
                let running = Task { await error { () async throws(PostgresError) in try await pool.query(statement) } }
                _ = await eventually { pool.refreshes.counts.running == 1 }
                let waiting = Task { await error { () async throws(PostgresError) in try await pool.query(statement) } }
                _ = await eventually { pool.refreshes.counts.waiting == 1 }
                running.cancel()
                await pool.stop()
                #expect(await waiting.value?.code == .closed)
                #expect(await running.value != nil)
            }
        }
    }
}
