import Glibc
import TestSupport
import Testing

@testable import Postgres

extension OneServer {
    @Suite struct DeadlineTests {
        @Test func slowStatementTimesOutAndNeighboursDoNot() async throws {
            try await withPool({ $0.statementTimeoutMs = 1_500 }) { (pool) async throws in
                async let slow = code { () async throws(PostgresError) in try await pool.query("SELECT pg_sleep(20)") }
                _ = await eventually { pool.metrics.read.inFlight == 1 }
                async let neighbour = pool.query("SELECT 5")
                #expect(await slow == .timeout(outcomeUnknown: false))
                // It waits behind the slow one and has its own deadline.
                _ = try? await neighbour
                #expect(try await pool.query("SELECT 6").rows[0].int(0) == 6)
                #expect(
                    await code { () async throws(PostgresError) in
                        try await pool.transaction([("SELECT pg_sleep(20)", [])])
                    } == .timeout(outcomeUnknown: false))
                #expect(pool.metrics.read.timeouts >= 1 && pool.metrics.write.timeouts == 1)
                #expect(pool.metrics.read.reconnects == 0 && pool.metrics.write.reconnects == 0)
            }
        }

        /// The server's own timeout is off: the client's cancel request does it.
        @Test func deadlineCancelsOnTheServer() async throws {
            try await withPool({ $0.statementTimeoutMs = 1_000 }) { (pool) async throws in
                try await pool.withSession { session in
                    try await session.execute("SET statement_timeout = 0")
                    try await session.begin()
                    #expect(
                        await code { () async throws(PostgresError) in
                            try await session.execute("SELECT pg_sleep(60)")
                        } == .timeout(outcomeUnknown: false))
                    // The same connection continues to work.
                    try await session.rollback()
                    #expect(try await session.execute("SELECT 1").rows[0].int(0) == 1)
                }
                #expect(pool.metrics.session.cancelRequests == 1 && pool.metrics.session.reconnects == 0)
            }
        }

        /// A cancel request hits whatever runs when it arrives: neighbours that it hits are sent again.
        @Test func cancelRequestsDoNotHitNeighbours() async throws {
            try await withPool({ ($0.statementTimeoutMs, $0.writeConnections) = (10_000, 1) }) { (pool) async throws in
                let connection = pool.writers[0]
                try await pool.script("CREATE TABLE d_hit (id int)")
                for number in 0..<20 {
                    async let slow = code { () async throws(PostgresError) in
                        try await connection.run(.transaction, [("SELECT pg_sleep(60)", [])], timeoutMs: 60)
                    }
                    _ = await eventually { pool.metrics.write.inFlight >= 1 }
                    async let insert = pool.transaction([
                        ("INSERT INTO d_hit VALUES ($1::int)", [Parameter(number)]), ("SELECT pg_sleep(0.002)", []),
                    ])
                    #expect(await slow == .timeout(outcomeUnknown: false))
                    _ = try await insert
                }
                #expect(try await pool.query("SELECT count(*) FROM d_hit").rows[0].int(0) == 20)
                #expect(pool.metrics.write.reconnects == 0)
            }
        }

        @Test func hangingServerIsGivenUp() async throws {
            try await withPool({ ($0.statementTimeoutMs, $0.cancelGraceMs, $0.writeConnections) = (1_500, 200, 1) }) {
                (pool) async throws in
                let row = try await pool.transaction([("SELECT pg_backend_pid()", [])])[0].rows[0]
                let backend = Int32(try #require(row.int(0)))
                #expect(kill(backend, SIGSTOP) == 0)
                defer { kill(backend, SIGCONT) }
                #expect(
                    await code { () async throws(PostgresError) in
                        try await pool.transaction([("SELECT 1", [])])
                    } == .timeout(outcomeUnknown: true))
                let isBack = await eventually { pool.metrics.write.reconnects == 1 }
                #expect(isBack)
                let other = try await pool.transaction([("SELECT pg_backend_pid()", [])])[0].rows[0].int(0)
                #expect(other != Int(backend))
            }
        }

        @Test func cancelledReaderLeavesTheOrderIntact() async throws {
            try await withPool { (pool) async throws in
                for _ in 0..<20 {
                    let tasks = (0..<50).map { number in
                        Task { try await pool.query("SELECT $1::int", [Parameter(number)]).rows[0].int(0) }
                    }
                    for (number, task) in tasks.enumerated() where number % 3 == 0 { task.cancel() }
                    for (number, task) in tasks.enumerated() {
                        switch await task.result {
                        case .success(let value): #expect(value == number)
                        case .failure(let error):
                            #expect((error as? PostgresError)?.code == .cancelled && number % 3 == 0)
                        }
                    }
                }
                let isEmpty = await eventually { pool.metrics.read.queued == 0 && pool.metrics.read.inFlight == 0 }
                #expect(isEmpty)
            }
        }
    }
}
