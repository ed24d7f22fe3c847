import LocalServers
import Synchronization
import TestSupport
import Testing

@testable import Postgres

private final class Tally: Sendable {
    struct Counts {
        var acknowledged = 0
        var unknown = 0
        var refused = 0
        var reads = 0
        var wrong = 0
        var readErrors: [PostgresError: Int] = [:]
        var isOver = false
    }

    let counts = Mutex(Counts())

    /// Returns when both kinds of work have gone on for a while: every read in flight then has seen one loss at most.
    func moreWork() async {
        let before = counts.withLock { $0 }
        _ = await eventually {
            counts.withLock { $0.acknowledged > before.acknowledged + 200 && $0.reads > before.reads + 200 }
        }
    }
}

/// The server and its connections go away while work is under way. A server of their own, one test at a time.
@Suite(.privatePostgres, .serialized) struct LossTests {

    @Test func killedServerLosesNothingAcknowledged() async throws {
        let server = try #require(PrivatePostgres.current)
        try await withPool { (pool) async throws in
            try await pool.script("CREATE TABLE l_kill (id int)")
            let tally = Tally()
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<16 {
                    group.addTask {
                        while !tally.counts.withLock({ $0.isOver }) {
                            let error = await error { () async throws(PostgresError) in
                                try await pool.transaction([
                                    ("INSERT INTO l_kill VALUES (1)", []), ("SELECT 1", []),
                                ])
                            }
                            tally.counts.withLock {
                                switch error {
                                case nil: $0.acknowledged += 1
                                case let error? where error.isOutcomeUnknown: $0.unknown += 1
                                case let error? where error.isRetryable: $0.refused += 1
                                default: $0.wrong += 1
                                }
                            }
                        }
                    }
                    group.addTask {
                        // Reads get over it without noticing.
                        while !tally.counts.withLock({ $0.isOver }) {
                            let problem = await error { () async throws(PostgresError) in
                                try await pool.query("SELECT 3")
                            }
                            tally.counts.withLock { counts in
                                if problem == nil { counts.reads += 1 }
                                if let problem { counts.readErrors[problem, default: 0] += 1 }
                            }
                        }
                    }
                }
                group.addTask {
                    for _ in 0..<3 {
                        await tally.moreWork()
                        await server.crash()
                        do { try await server.restart() } catch { Issue.record("\(error)") }
                    }
                    await tally.moreWork()
                    tally.counts.withLock { $0.isOver = true }
                }
            }
            let rows = try #require(try await pool.query("SELECT count(*) FROM l_kill").rows[0].int(0))
            let seen = tally.counts.withLock { $0 }
            #expect(seen.acknowledged > 800)
            #expect(seen.wrong == 0)
            #expect(seen.readErrors == [:])
            #expect(rows >= seen.acknowledged && rows <= seen.acknowledged + seen.unknown, "\(seen)")
            #expect(pool.metrics.read.reconnects >= 3)
        }
    }

    @Test func queriesThatWaitedThroughAnOutageTellOfIt() async throws {
        let server = try #require(PrivatePostgres.current)
        try await withPool({
            ($0.statementTimeoutMs, $0.slowAfterMs) = (2_000, 60_000)
            ($0.moderateReadConnections, $0.slowReadConnections) = (2, 1)
        }) { (pool) async throws in
            try await withThrowingTaskGroup(of: PostgresError?.self) { group in
                for caller in 1...6 {
                    group.addTask {
                        await error { () async throws(PostgresError) in
                            try await pool.query("SELECT pg_sleep(60)", for: .caller(Caller(UInt64(caller))))
                        }
                    }
                }
                _ = await eventually { pool.requests.moderateCounts.waiting == 4 }
                await server.crash()
                for try await problem in group {
                    #expect(problem?.code == .connectionFailed, "\(String(describing: problem))")
                }
            }
            try await server.restart()
            let isBack = await eventually { pool.requests.moderate.allSatisfy(\.isUp) }
            #expect(isBack && pool.requests.moderateCounts.waiting == 0)
        }
    }

    @Test func waitingQueriesRunAfterTheLossOfTheirConnections() async throws {
        try await withPool({
            ($0.slowAfterMs, $0.moderateReadConnections, $0.slowReadConnections) = (60_000, 2, 1)
        }) { (pool) async throws in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for caller in 1...6 {
                    group.addTask {
                        _ = try await pool.query("SELECT pg_sleep(0.5)", for: .caller(Caller(UInt64(caller))))
                    }
                }
                _ = await eventually { pool.requests.moderateCounts.waiting == 4 }
                try await terminate(pool, "freshet-read", count: 4)
                try await group.waitForAll()
            }
            #expect(pool.requests.moderateCounts.running == 0 && pool.metrics.read.reconnects >= 2)
        }
    }

    @Test func farewellProvesTheRollback() async throws {
        try await withPool({ $0.writeConnections = 1 }) { (pool) async throws in
            async let lost = error { () async throws(PostgresError) in
                try await pool.transaction([("SELECT 1", []), ("SELECT pg_sleep(30)", [])])
            }
            _ = await eventually { pool.metrics.write.inFlight == 1 }
            async let behind = error { () async throws(PostgresError) in try await pool.transaction([("SELECT 1", [])])
            }
            _ = await eventually { pool.metrics.write.inFlight == 2 }
            // In its second step.
            let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
            #expect(try await eventually { try await pool.query(Statement(sleeping)).rows[0].int(0) == 1 })
            try await terminate(pool, "freshet-write")
            let first = await lost
            #expect(first?.code == .connectionLost(outcomeUnknown: false))
            #expect(first?.sqlState == "57P01" && first?.stepIndex == 1)
            #expect(await behind?.code == .connectionLost(outcomeUnknown: false))
            #expect(try await pool.transaction([("SELECT 1", [])]).count == 1)
        }
    }

    @Test func readersAreRepeatedOnceAfterALoss() async throws {
        try await withPool { (pool) async throws in
            async let value = pool.query("SELECT pg_sleep(1), 9")
            _ = await eventually { pool.metrics.read.inFlight == 1 }
            try await terminate(pool, "freshet-read")
            #expect(try await value.rows[0].int(1) == 9)
            #expect(pool.metrics.read.reconnects == 1 && pool.metrics.read.repeated == 1)
        }
    }

    @Test func sessionsDoNotMoveToAnotherConnection() async throws {
        try await withPool({ $0.sessionConnections = 1 }) { (pool) async throws in
            try await pool.withSession { session in
                try await session.begin()
                let backend = try #require(try await session.execute("SELECT pg_backend_pid()").rows[0].int(0))
                _ = try await pool.transaction([("SELECT pg_terminate_backend($1::int)", [Parameter(backend)])])
                _ = await eventually { pool.metrics.session.reconnects == 1 }
                #expect(
                    await code { () async throws(PostgresError) in
                        try await session.execute("SELECT 1")
                    } == .connectionLost(outcomeUnknown: false))
            }
            let rows = try await pool.withSession { try await $0.execute("SELECT 1").rows }
            #expect(rows.count == 1)
        }
    }

    @Test func callsWaitForTheServerUntilTheirDeadline() async throws {
        let server = try #require(PrivatePostgres.current)
        try await withPool({ $0.statementTimeoutMs = 1_000 }) { (pool) async throws in
            await server.crash()
            _ = await eventually { pool.metrics.write.connected == 0 && pool.metrics.read.connected == 0 }
            #expect(
                await code { () async throws(PostgresError) in
                    try await pool.transaction([("SELECT 1", [])])
                } == .connectionFailed)
            #expect(
                await code { () async throws(PostgresError) in try await pool.query("SELECT 1") } == .connectionFailed)
            try await server.restart()
            let isBack = await eventually { (try? await pool.query("SELECT 1"))?.rows.count == 1 }
            #expect(isBack)
        }
    }

    @Test func startFailsWithTheReason() async throws {
        var configuration = PostgresConfiguration(connectionString: "host=/nowhere dbname=x user=y")
        configuration.connectTimeoutMs = 300
        let pool = PostgresPool(configuration: configuration, logger: quietLogger)
        let failure = await error { () async throws(PostgresError) in try await pool.start() }
        #expect(failure?.code == .connectionFailed)
        #expect(failure?.message.contains("/nowhere") == true)
        #expect(await code { () async throws(PostgresError) in try await pool.query("SELECT 1") } == .closed)
        await pool.stop()
    }

    @Test func poolThatWasNeverStartedCanBeStopped() async throws {
        let pool = PostgresPool(configuration: PostgresConfiguration(connectionString: ""), logger: quietLogger)
        async let early = code { () async throws(PostgresError) in try await pool.query("SELECT 1") }
        _ = await eventually { pool.metrics.read.queued == 1 }
        await pool.stop()
        #expect(await early == .closed)
        #expect(await code { () async throws(PostgresError) in try await pool.start() } == .connectionFailed)
        #expect(pool.metrics.read.queued == 0)
    }

    @Test func stopLetsWorkFinishAndRefusesMore() async throws {
        try await withPool({ $0.stopTimeoutMs = 10_000 }) { (pool) async throws in
            try await pool.script("CREATE TABLE l_stop (id int)")
            async let last = pool.transaction([("INSERT INTO l_stop VALUES (1)", []), ("SELECT pg_sleep(1)", [])])
            _ = await eventually { pool.metrics.write.inFlight == 1 }
            await pool.stop()
            #expect(try await last.count == 2)
            #expect(await code { () async throws(PostgresError) in try await pool.query("SELECT 1") } == .closed)
            #expect(await code { () async throws(PostgresError) in try await pool.script("SELECT 1") } == .closed)
        }
    }

    private func terminate(_ pool: PostgresPool, _ application: String, count: Int = 1) async throws {
        let name = Parameter.text(application)
        try await pool.withSession { session in
            let terminated = try await session.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1::text", [name])
            #expect(terminated.rows.count == count)
        }
    }
}

extension ConnectionHandle {
    fileprivate var isUp: Bool { counters.isConnected.load(ordering: .relaxed) }
}
