import TestSupport
import Testing

@testable import Postgres

extension OneServer {
    @Suite struct TransactionTests {
        @Test func stepsAreAtomicAndTheFailingOneIsNamed() async throws {
            try await withPool({ $0.writeConnections = 1 }) { (pool) async throws in
                try await pool.script(
                    """
                    CREATE TABLE t_atomic (id int PRIMARY KEY, name text NOT NULL CONSTRAINT short CHECK (length(name)
                    < 5))
                    """
                )
                let insert: Statement = "INSERT INTO t_atomic VALUES ($1::int, $2::text) RETURNING id"
                let results = try await pool.transaction([
                    (insert, ["1", "a"]), (insert, ["2", "b"]), ("UPDATE t_atomic SET name = 'c'", []),
                ])
                #expect(results.map { $0.affectedRows } == [1, 1, 2])
                #expect(results[1].rows[0].int(0) == 2)

                let duplicate = await error { () async throws(PostgresError) in
                    try await pool.transaction([(insert, ["3", "a"]), (insert, ["1", "b"]), (insert, ["4", "b"])])
                }
                #expect(duplicate?.code == .server(sqlState: "23505"))
                #expect(duplicate?.stepIndex == 1)
                #expect(duplicate?.constraint == "t_atomic_pkey" && duplicate?.table == "t_atomic")
                #expect(duplicate?.isUniqueViolation == true)

                let check = await error { () async throws(PostgresError) in
                    try await pool.transaction([(insert, ["3", "toolong"])])
                }
                #expect(check?.constraint == "short" && check?.isCheckViolation == true && check?.stepIndex == 0)
                let null = await error { () async throws(PostgresError) in
                    try await pool.transaction([(insert, ["3", "a"]), (insert, ["5", nil])])
                }
                #expect(null?.column == "name" && null?.isNotNullViolation == true && null?.stepIndex == 1)
                let syntax = await error { () async throws(PostgresError) in
                    try await pool.transaction([(insert, ["3", "a"]), ("SELEC 1", []), (insert, ["6", "a"])])
                }
                #expect(syntax?.sqlState == "42601" && syntax?.stepIndex == 1 && syntax?.position == 1)
                let nul = await error { () async throws(PostgresError) in
                    try await pool.transaction([(insert, ["3", "a"]), (insert, ["6", "\0"])])
                }
                #expect(nul?.code == .invalidParameter && nul?.stepIndex == 1)

                #expect(try await pool.query("SELECT count(*) FROM t_atomic").rows[0].int(0) == 2)
                #expect(try await pool.transaction([]).isEmpty)
            }
        }

        @Test func errorAtCommitIsReported() async throws {
            try await withPool({ $0.writeConnections = 1 }) { (pool) async throws in
                try await pool.script(
                    """
                    CREATE TABLE t_parent (id int PRIMARY KEY);
                    CREATE TABLE t_child (id int REFERENCES t_parent DEFERRABLE INITIALLY DEFERRED)
                    """)
                for _ in 0..<3 {
                    let late = await error { () async throws(PostgresError) in
                        try await pool.transaction([("INSERT INTO t_child VALUES (1)", []), ("SELECT 1", [])])
                    }
                    #expect(late?.isForeignKeyViolation == true && late?.stepIndex == nil)
                }
                let inSession = await error { () async throws(PostgresError) in
                    do {
                        try await pool.withSession { try await $0.execute("INSERT INTO t_child VALUES (1)") }
                    } catch {
                        throw error as? PostgresError ?? PostgresError(.closed, "another error")
                    }
                }
                #expect(inSession?.isForeignKeyViolation == true)
                _ = try await pool.transaction([
                    ("INSERT INTO t_child VALUES (1)", []), ("INSERT INTO t_parent VALUES (1)", []),
                ])
                #expect(try await pool.query("SELECT count(*) FROM t_child").rows[0].int(0) == 1)
                #expect(pool.metrics.write.reconnects == 0)
            }
        }

        @Test func laterStepsSeeEarlierOnes() async throws {
            try await withPool { (pool) async throws in
                let results = try await pool.transaction([
                    ("CREATE TABLE t_made (id int)", []), ("INSERT INTO t_made VALUES (7)", []),
                    ("SELECT id FROM t_made", []),
                ])
                #expect(results[2].rows[0].int(0) == 7)
            }
        }

        @Test func manyInFlightDoNotMix() async throws {
            try await withPool { (pool) async throws in
                try await pool.script(
                    """
                    CREATE TABLE t_many (id int PRIMARY KEY, n int); INSERT INTO t_many SELECT g, 0
                    FROM generate_series(0, 9) g
                    """
                )
                let failures = await withTaskGroup(of: Bool.self) { group in
                    for number in 0..<1000 {
                        group.addTask {
                            let row = Parameter(number % 10)
                            let error = await error { () async throws(PostgresError) in
                                try await pool.transaction([
                                    ("UPDATE t_many SET n = n + 1 WHERE id = $1::int", [row]),
                                    ("SELECT 1 / $1::int", [Parameter(number % 4)]),
                                ])
                            }
                            if let error { #expect(error.sqlState == "22012" && error.stepIndex == 1) }
                            return error != nil
                        }
                    }
                    return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                #expect(failures == 250)
                #expect(try await pool.query("SELECT sum(n) FROM t_many").rows[0].int(0) == 750)
                let metrics = pool.metrics.write
                #expect(metrics.completed == 750 && metrics.queued == 0 && metrics.inFlight == 0)
            }
        }

        @Test func cancelledWhileUnsentIsNotRun() async throws {
            try await withPool({ ($0.writeConnections, $0.writeInFlightMax) = (1, 1) }) { (pool) async throws in
                try await pool.script("CREATE TABLE t_cancel (id int)")
                try await pool.withSession { session in
                    try await session.execute("SELECT pg_advisory_lock(77)")
                    async let first = pool.transaction([("SELECT pg_advisory_xact_lock(77)", [])])
                    _ = await eventually { pool.metrics.write.inFlight == 1 }
                    let second = Task { try await pool.transaction([("INSERT INTO t_cancel VALUES (1)", [])]) }
                    _ = await eventually { pool.metrics.write.queued == 1 }
                    second.cancel()
                    let result = await second.result
                    #expect(throws: PostgresError.self) { try result.get() }
                    try await session.execute("SELECT pg_advisory_unlock(77)")
                    _ = try await first
                }
                #expect(try await pool.query("SELECT count(*) FROM t_cancel").rows[0].int(0) == 0)
                // Cancelled before it begins.
                let third = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return try await pool.transaction([("INSERT INTO t_cancel VALUES (1)", [])])
                }
                let cancelled = await third.result
                #expect(throws: PostgresError.self) { try cancelled.get() }
                #expect(try await pool.query("SELECT count(*) FROM t_cancel").rows[0].int(0) == 0)
            }
        }
    }
}
