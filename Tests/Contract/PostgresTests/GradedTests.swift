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
                let completed = { pool.requests.fast[0].counters.completed.load(ordering: .relaxed) }
                for _ in 0..<2 {
                    let before = completed()
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for number in 0..<300 {
                            group.addTask {
                                let row = try await pool.query(short, [Parameter(number)], for: .caller(1)).rows[0]
                                #expect(row.int(0) == number)
                            }
                        }
                        try await group.waitForAll()
                    }
                    #expect(completed() - before >= 150, "most are pipelined, also on a busy machine")
                }
                #expect(pool.requests.moderateCounts.waiting == 0 && pool.requests.moderateCounts.running == 0)
                #expect(pool.requests.fast.allSatisfy { $0.counters.costUs.load(ordering: .relaxed) == 0 })
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
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for caller in [1, 2, 3] as [Caller] {
                        group.addTask { _ = try? await pool.query("SELECT pg_sleep(30)", for: .caller(caller)) }
                    }
                    _ = await eventually { pool.requests.counts.rerouted >= 1 }
                    #expect(pool.requests.counts.rerouted >= 1)
                    group.cancelAll()
                }
            }
        }

        @Test func queriesThatWaitMoveWhenTheirStatementProvesSlow() async throws {
            try await withLanes { (pool) async throws in
                let statement: Statement = "SELECT pg_sleep(30), 5"
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for caller in [1, 2, 1, 1] as [Caller] {
                        group.addTask { _ = try? await pool.query(statement, for: .caller(caller)) }
                    }
                    _ = await eventually { pool.requests.counts.running == 1 }
                    #expect(pool.requests.counts.running >= 1)
                    group.cancelAll()
                }
            }
        }

        @Test func waitingQueriesTimeOut() async throws {
            try await withLanes({ $0.statementTimeoutMs = 800 }) { (pool) async throws in
                let statement = Statement(Self.sleep)
                // No slow connection takes them over: they just stay below its limit.
                try await beside(40, of: statement, seconds: "0.09", pool) {
                    _ = await eventually { pool.requests.moderateCounts.waiting > 20 }
                    let late = await error { () async throws(PostgresError) in
                        try await pool.query(statement, ["0"], for: .caller(1))
                    }
                    #expect(late?.code == .timeout(outcomeUnknown: false))
                }
                _ = await eventually { pool.requests.moderateCounts.waiting == 0 }
                #expect(pool.requests.moderateCounts.waiting == 0)
            }
        }

        @Test func waitingQueriesCanBeCancelledAndEndWithThePool() async throws {
            try await withLanes({ ($0.slowAfterMs, $0.stopTimeoutMs) = (60_000, 100) }) { (pool) async throws in
                func query() -> Task<PostgresError?, Never> {
                    Task {
                        await error { () async throws(PostgresError) in
                            try await pool.query(Statement(Self.sleep), ["60"], for: .caller(1))
                        }
                    }
                }
                func isWaiting(_ count: Int) async -> Bool {
                    await eventually { pool.requests.moderateCounts.waiting == count }
                }
                let running = query()
                _ = await eventually { pool.requests.moderateCounts.running == 1 }
                let first = query()
                #expect(await isWaiting(1))
                let second = query()
                #expect(await isWaiting(2))
                first.cancel()
                #expect(await first.value?.code == .cancelled)
                #expect(pool.requests.moderateCounts.waiting == 1)
                await pool.stop()
                #expect(await second.value?.code == .closed)
                #expect(await running.value != nil)
            }
        }

        @Test func shortQueriesThatFindNoRoomDoNotWaitForModerateConnections() async throws {
            try await withLanes({ $0.slowAfterMs = 60_000 }) { (pool) async throws in
                let short: Statement = "SELECT $1::int"
                let sleep = Statement(Self.sleep)
                _ = try await pool.query(short, ["1"], for: .caller(2))
                _ = try await pool.query(sleep, ["0"], for: .caller(2))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for caller in [1, 3] as [Caller] {
                        group.addTask { _ = try? await pool.query("SELECT pg_sleep(60)", for: .caller(caller)) }
                    }
                    _ = await eventually { pool.requests.moderateCounts.running == 2 }
                    group.addTask { _ = try? await pool.query(sleep, ["60"], for: .caller(4)) }
                    let counters = pool.requests.fast[0].counters
                    _ = await eventually { counters.isHeldUp.load(ordering: .relaxed) }
                    for _ in 0..<3 { _ = try await pool.query(short, ["1"], for: .caller(2)) }
                    #expect(pool.requests.moderateCounts.running == 2, "60 s have not passed")
                    group.cancelAll()
                }
            }
        }

        @Test func statementInDoubtIsShortAgainOnceItIsMeasured() async throws {
            try await withLanes { (pool) async throws in
                let sleep = Statement(Self.sleep)
                _ = try await pool.query(sleep, ["0"], for: .caller(1))
                #expect(sleep.average?.isShort == true)
                // A connection's thread that comes late notices nothing.
                _ = try await eventually {
                    _ = try await pool.query(sleep, ["0.03"], for: .caller(1))
                    return sleep.average?.isShort != true
                }
                #expect(sleep.average?.isShort != true)
                _ = try await eventually {
                    _ = try await pool.query(sleep, ["0"], for: .caller(1))
                    return sleep.average?.isShort == true
                }
                #expect(sleep.average?.isShort == true)
            }
        }

        @Test func statementThatFailsIsMeasured() async throws {
            try await withLanes { (pool) async throws in
                let statement: Statement = "SELECT 1 / $1::int"
                _ = await code { () async throws(PostgresError) in
                    try await pool.query(statement, ["0"], for: .caller(1))
                }
                #expect(statement.average?.isShort == true)
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
