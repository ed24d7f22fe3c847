import LocalServers
import Synchronization
import TestSupport
import Testing

@testable import Postgres

extension OneServer {
    /// Callers' statements of moderate length and their neighbours on a real server.
    @Suite struct GradedTests {
        private static let sleep: String = "SELECT pg_sleep($1::float8), 1"

        private func withLanes(
            _ change: (inout PostgresConfiguration) -> Void = { _ in }, _ body: (PostgresPool) async throws -> Void
        ) async throws {
            try await withPool(
                { configuration in
                    (configuration.readConnections, configuration.refreshConnections) = (1, 1)
                    (configuration.moderateReadConnections, configuration.slowReadConnections) = (2, 2)
                    configuration.slowWriteConnections = 2
                    change(&configuration)
                }, body)
        }

        /// Runs `body` while one caller's executions of the statement run or wait, and cancels them.
        private func beside(
            _ count: Int, of statement: Statement, seconds: String, _ pool: PostgresPool,
            _ body: @Sendable () async throws -> Void
        ) async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<count {
                    group.addTask { _ = try? await pool.query(statement, [Parameter(seconds)], for: .caller(1)) }
                }
                try await body()
                group.cancelAll()
            }
        }

        @Test func statementOfUnknownLengthLeavesThePipelineToShortOnes() async throws {
            try await withLanes { (pool) async throws in
                let short: Statement = "SELECT $1::int"
                _ = try await pool.query(short, ["1"], for: .caller(2))
                #expect(short.average?.isShort == true)
                try await beside(40, of: Statement(Self.sleep), seconds: "0.08", pool) {
                    _ = await eventually { pool.requests.moderateCounts.waiting == 39 }
                    for _ in 0..<10 { _ = try await pool.query(short, ["1"], for: .caller(2)) }
                    // Also of the same caller.
                    _ = try await pool.query(short, ["1"], for: .caller(1))
                    #expect(pool.requests.moderateCounts.waiting > 0, "3 s have not passed")
                    #expect(pool.requests.moderateCounts.running == 1, "one connection is left to others")
                    // What others wait for has not been measured before.
                    _ = try await pool.query("SELECT 7, $1::int", ["1"], for: .caller(2))
                    #expect(pool.requests.moderateCounts.waiting > 0)
                }
            }
        }

        @Test func statementThatBecameLongLeavesThePipeline() async throws {
            try await withLanes { (pool) async throws in
                let statement = Statement(Self.sleep)
                _ = try await pool.query(statement, ["0"], for: .caller(1))
                #expect(statement.average?.isShort == true)
                try await beside(40, of: statement, seconds: "0.08", pool) {
                    _ = await eventually { pool.requests.moderateCounts.waiting > 0 }
                    #expect(pool.requests.moderateCounts.waiting > 0 && statement.average?.isShort != true)
                    for number in 0..<5 {
                        _ = try await pool.query(Statement("SELECT \(number), 2"), for: .caller(2))
                    }
                    #expect(pool.requests.moderateCounts.waiting > 0, "3 s have not passed")
                }
            }
        }

        @Test func shortStatementsShareThePipelineOnceTheyAreMeasured() async throws {
            try await withLanes { (pool) async throws in
                let short: Statement = "SELECT $1::int"
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<300 {
                        group.addTask {
                            let row = try await pool.query(short, [Parameter(number)], for: .caller(1)).rows[0]
                            #expect(row.int(0) == number)
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(pool.requests.moderateCounts.waiting == 0 && pool.requests.moderateCounts.running == 0)
                #expect(pool.requests.fast.allSatisfy { $0.counters.costUs.load(ordering: .relaxed) == 0 })
                let completed = pool.requests.fast[0].counters.completed.load(ordering: .relaxed)
                #expect(completed > 0, "\(completed)")
            }
        }

        @Test func shortStatementsShareThePipelineToADistantServer() async throws {
            let server = try #require(PrivatePostgres.current)
            let distant = try DistantServer(directory: server.socketDirectory, delayMs: 15)
            defer { distant.remove() }
            try await withLanes({ $0.connectionString += " " + distant.address }) { (pool) async throws in
                let short: Statement = "SELECT $1::int"
                _ = try await pool.query(short, ["1"], for: .caller(1))
                for _ in 0..<3 {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for _ in 0..<40 {
                            group.addTask { _ = try await pool.query(short, ["1"], for: .caller(1)) }
                        }
                        try await group.waitForAll()
                    }
                    // A busy machine may have raised doubts.
                    #expect(short.average?.isShort != false, "\(String(describing: short.average))")
                }
                let long: Statement = "SELECT pg_sleep(0.02), 2"
                _ = try await pool.query(long, [], for: .caller(1))
                #expect(long.average?.isShort == false)
                let completed = pool.requests.fast[0].counters.completed.load(ordering: .relaxed)
                #expect(completed >= 40, "\(completed) of 120 were pipelined")
            }
        }

        @Test func longQueryLeavesAModerateConnectionForWhichOthersWait() async throws {
            try await withLanes { (pool) async throws in
                try await beside(2, of: Statement(Self.sleep), seconds: "30", pool) {
                    _ = await eventually { pool.requests.counts.running == 1 }
                    #expect(pool.requests.counts.running == 1 && pool.requests.counts.rerouted >= 1)
                }
            }
        }

        @Test func waitingQueriesTimeOutCanBeCancelledAndEndWithThePool() async throws {
            try await withLanes({ $0.statementTimeoutMs = 800 }) { (pool) async throws in
                let statement = Statement(Self.sleep)
                // No slow connection takes them over: they just stay below its limit.
                try await beside(40, of: statement, seconds: "0.09", pool) {
                    _ = await eventually { pool.requests.moderateCounts.waiting > 20 }
                    let late = await error { () async throws(PostgresError) in
                        try await pool.query(statement, ["0"], for: .caller(1))
                    }
                    #expect(late?.code == .timeout(outcomeUnknown: false))
                    let cancelled = Task {
                        await error { () async throws(PostgresError) in
                            try await pool.query(statement, ["0"], for: .caller(1))
                        }
                    }
                    cancelled.cancel()
                    #expect(await cancelled.value?.code == .cancelled)
                }
                _ = await eventually { pool.requests.moderateCounts.waiting == 0 }
                #expect(pool.requests.moderateCounts.waiting == 0)
            }
        }

        @Test func longTransactionsOfACallerLeaveConnectionsToShortOnesAndToOthers() async throws {
            try await withLanes({ $0.writeConnections = 4 }) { (pool) async throws in
                let short: Statement = "SELECT $1::int"
                _ = try await pool.transaction([(short, ["1"])], caller: 2)
                #expect(short.average?.isShort == true)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<8 {
                        group.addTask {
                            _ = try await pool.transaction([("SELECT pg_sleep(0.5)", [])], caller: 1)
                        }
                    }
                    func count() -> Int { pool.metrics.write.inFlight + pool.metrics.write.queued }
                    _ = await eventually { count() == 8 }
                    let busy = pool.transactions.fast.filter { $0.counters.load.load(ordering: .relaxed) > 0 }
                    #expect(busy.count == 2, "half of the three that are not for short ones")
                    for _ in 0..<5 { _ = try await pool.transaction([(short, ["1"])], caller: 1) }
                    _ = try await pool.transaction([("SELECT 8", [])], caller: 3)
                    #expect(count() == 8, "0.5 s have not passed")
                    try await group.waitForAll()
                }
            }
        }
    }
}
