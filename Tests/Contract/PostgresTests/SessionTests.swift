import LocalServers
import Synchronization
import TestSupport
import Testing

@testable import Postgres

extension OneServer {
    @Suite struct SessionTests {
        private struct Unhappy: Error {}

        /// Postgres would look into a schema with the role's name first.
        @Test func aRoleNamedLikeASchemaDoesNotCatchTables() async throws {
            let server = try #require(PrivatePostgres.current)
            try await withPool { pool in
                try await pool.script(
                    "CREATE ROLE namesake SUPERUSER LOGIN; CREATE SCHEMA namesake AUTHORIZATION namesake")
            }
            try await withPool({ $0.connectionString = server.connectionString + " user=namesake" }) { pool in
                try await pool.script("CREATE TABLE where_is_it (n int)")
                let found = try await pool.query(
                    "SELECT 'where_is_it'::regclass::oid = 'public.where_is_it'::regclass::oid")
                #expect(found.rows.first?.bool(0) == true)
                try await pool.withSession { session in
                    let path = try await session.execute("SHOW search_path")
                    #expect(path.rows.first?.string(0) == "public")
                }
            }
            // A path that the user chose stays.
            let chosen = server.connectionString + " user=namesake options='-c search_path=namesake,public'"
            try await withPool({ $0.connectionString = chosen }) { pool in
                let path = try await pool.query("SHOW search_path")
                #expect(path.rows.first?.string(0) == "namesake,public")
            }
        }

        @Test func oneCallerNeverHasAllSessions() async throws {
            try await withPool({ $0.sessionConnections = 2 }) { (pool) async throws in
                let second = Mutex<Task<Void, any Error>?>(nil)
                try await pool.withSession(caller: 1) { _ in
                    second.withLock { $0 = Task { try await pool.withSession(caller: 1) { _ in } } }
                    _ = await eventually { pool.sessions.waitersCount == 1 }
                    #expect(pool.sessions.waitersCount == 1 && pool.sessions.freeCount == 1)
                    try await pool.withSession(caller: 2) { _ in }
                    try await pool.script("SELECT 1")
                    #expect(pool.sessions.waitersCount == 1)
                }
                // Its turn comes when the first one ends.
                try await second.withLock { $0 }?.value
                #expect(pool.sessions.freeCount == 2)
            }
        }

        @Test func nothingIsLeftBehind() async throws {
            try await withPool({ $0.sessionConnections = 1 }) { (pool) async throws in
                try await pool.script("CREATE TABLE s_left (id int)")
                await #expect(throws: Unhappy.self) {
                    try await pool.withSession { session in
                        try await session.execute("BEGIN ISOLATION LEVEL SERIALIZABLE")
                        try await session.execute("INSERT INTO s_left VALUES ($1::int)", ["1"])
                        try await session.execute("SET work_mem = '123kB'")
                        try await session.execute("CREATE TEMP TABLE s_temp (id int)")
                        try await session.execute("SELECT pg_advisory_lock(7)")
                        throw Unhappy()
                    }
                }
                // One that failed inside its transaction, and one that left it open.
                try await pool.withSession { session in
                    try await session.begin()
                    #expect(
                        await code { () async throws(PostgresError) in
                            try await session.execute("SELECT nonsense")
                        } == .server(sqlState: "42703"))
                    #expect(
                        await code { () async throws(PostgresError) in
                            try await session.execute("SELECT 1")
                        } == .server(sqlState: "25P02"))
                    #expect(
                        await code { () async throws(PostgresError) in
                            try await session.commit()
                        } == .server(sqlState: "25P02"))
                    try await session.begin()
                    try await session.execute("INSERT INTO s_left VALUES (2)")
                }
                let escaped = try await pool.withSession { session in
                    #expect(try await session.execute("SHOW work_mem").rows[0].string(0) != "123kB")
                    #expect(try await session.execute("SELECT to_regclass('s_temp')").rows[0].isNull(0))
                    #expect(try await session.execute("SHOW timezone").rows[0].string(0) == "UTC")
                    #expect(try await session.execute("SHOW jit").rows[0].string(0) == "off")
                    #expect(try await session.execute("SELECT count(*) FROM s_left").rows[0].int(0) == 0)
                    let locks = try await session.execute(
                        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 7")
                    #expect(locks.rows[0].int(0) == 0)
                    return session
                }
                #expect(
                    await code { () async throws(PostgresError) in try await escaped.execute("SELECT 1") } == .closed)
                #expect(pool.metrics.session.reconnects == 0)
                #expect(pool.metrics.sessionsFree == 1)
            }
        }

        @Test func savepointsUndoWhatFollowsThem() async throws {
            try await withPool { (pool) async throws in
                try await pool.script("CREATE TABLE s_save (id int)")
                try await pool.withSession { session in
                    try await session.begin()
                    try await session.execute("INSERT INTO s_save VALUES (1)")
                    try await session.savepoint("a \"b\"")
                    _ = await code { () async throws(PostgresError) in try await session.execute("SELECT 1/0") }
                    try await session.rollback(to: "a \"b\"")
                    try await session.release("a \"b\"")
                    _ = try await session.execute([
                        ("INSERT INTO s_save VALUES (2)", []), ("INSERT INTO s_save VALUES (3)", []),
                    ])
                    try await session.commit()
                }
                #expect(try await pool.query("SELECT count(*) FROM s_save").rows[0].int(0) == 3)
            }
        }

        @Test func callersWaitForASession() async throws {
            try await withPool { (pool) async throws in
                let sum = try await withThrowingTaskGroup(of: Int.self) { group in
                    for number in 0..<50 {
                        group.addTask {
                            try await pool.withSession { session in
                                try await session.execute("SELECT $1::int", [Parameter(number)]).rows[0].int(0) ?? 0
                            }
                        }
                    }
                    return try await group.reduce(0, +)
                }
                #expect(sum == 49 * 50 / 2)
                #expect(pool.metrics.sessionsFree == 2 && pool.metrics.sessionWaiters == 0)
            }
        }

        @Test func waitingIsBoundedAndCanBeCancelled() async throws {
            try await withPool({ ($0.sessionConnections, $0.queueMax, $0.statementTimeoutMs) = (1, 1, 1_500) }) {
                (pool) async throws in
                try await pool.withSession { _ in
                    let waiting = Task { try await pool.withSession { _ in } }
                    _ = await eventually { pool.metrics.sessionWaiters == 1 }
                    #expect(
                        await code { () async throws(PostgresError) in try await pool.script("SELECT 1") } == .queueFull
                    )
                    waiting.cancel()
                    let result = await waiting.result
                    #expect(throws: PostgresError.self) { try result.get() }
                    #expect(
                        await code { () async throws(PostgresError) in
                            try await pool.script("SELECT 1")
                        } == .timeout(outcomeUnknown: false))
                }
                try await pool.script("SELECT 1")
            }
        }

        @Test func cancellingTheTaskCancelsTheStatement() async throws {
            try await withPool { (pool) async throws in
                let task = Task {
                    try await pool.withSession { try await $0.execute("SELECT pg_sleep(60)") }
                }
                _ = await eventually { pool.metrics.session.inFlight == 1 }
                task.cancel()
                let result = await task.result
                let error = #expect(throws: PostgresError.self) { try result.get() }
                #expect(error?.code == .cancelled)
                try await pool.script("SELECT 1")
                #expect(pool.metrics.session.reconnects == 0)
            }
        }

        @Test func scriptsAreAtomicAndTellWhere() async throws {
            try await withPool { (pool) async throws in
                try await pool.script("CREATE TABLE s_script (id int); INSERT INTO s_script VALUES (1), (2);")
                let failure = await error { () async throws(PostgresError) in
                    try await pool.script("INSERT INTO s_script VALUES (3); SELECT nonsense; SELECT 1")
                }
                #expect(failure?.sqlState == "42703" && failure?.position == 41)
                #expect(try await pool.query("SELECT count(*) FROM s_script").rows[0].int(0) == 2)
                #expect(
                    await code { () async throws(PostgresError) in
                        try await pool.script("SELECT '\0'")
                    } == .invalidParameter)
                try await pool.script("")
            }
        }
    }
}
