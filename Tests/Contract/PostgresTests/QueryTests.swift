import Synchronization
import TestSupport
import Testing

@testable import Postgres

/// Suites that share one server; each test uses tables of its own.
@Suite(.privatePostgres) struct OneServer {}

extension OneServer {
    @Suite struct QueryTests {
        @Test func valuesAndColumnsArriveAsSent() async throws {
            try await withPool { (pool) async throws in
                let result = try await pool.query(
                    "SELECT $1::int + 1 AS n, $2::text AS \"T x\", $3::text AS z, $4::bytea AS b, true AS yes",
                    ["41", "é\u{1F600}", nil, .binary([0, 255])])
                #expect(result.columns == ["n", "T x", "z", "b", "yes"])
                let row = try #require(result.rows.first)
                #expect(result.rows.count == 1 && result.affectedRows == 1 && row.count == 5)
                #expect(row.int(0) == 42)
                #expect(row[0] == Array("42".utf8))
                #expect(row.string(1) == "é\u{1F600}")
                #expect(row.isNull(2) && row.string(2) == nil && row[2] == nil)
                #expect(row.string(3) == "\\x00ff")
                #expect(row.bool(4) == true && row.bool(0) == nil && row.int(1) == nil)
                #expect(try await pool.query("SELECT 1 WHERE false").rows.isEmpty)
                #expect(try await pool.query("").rows.isEmpty)
                #expect(try await pool.query("SHOW timezone").rows[0].string(0) == "UTC")
                #expect(try await pool.query("SHOW jit").rows[0].string(0) == "off")
            }
        }

        @Test func arraysKeepEveryElement() async throws {
            let elements: [String?] = ["a", nil, "", "NULL", #"q"b\s,{}"#, "é\n\t "]
            try await withPool { (pool) async throws in
                let rows = try await pool.query(
                    "SELECT v FROM unnest($1::text[]) WITH ORDINALITY AS t(v, n) ORDER BY n",
                    [.text(PostgresArray.literal(elements))]
                ).rows
                #expect(rows.map { $0.string(0) } == elements)
            }
        }

        @Test func queriesCannotWrite() async throws {
            try await withPool { (pool) async throws in
                try await pool.script("CREATE TABLE q_ro (id int)")
                #expect(
                    await code { () async throws(PostgresError) in
                        try await pool.query("INSERT INTO q_ro VALUES (1)")
                    } == .server(sqlState: "25006"))
            }
        }

        @Test func unfaithfulTextIsRefused() async throws {
            try await withPool { (pool) async throws in
                #expect(
                    await code { () async throws(PostgresError) in
                        try await pool.query("SELECT $1::text", ["a\0b"])
                    } == .invalidParameter)
                #expect(
                    await code { () async throws(PostgresError) in
                        try await pool.query("SELECT $1::text", [.binary([0xff, 0xfe])])
                    } == .server(sqlState: "22021"))
                #expect(
                    await code { () async throws(PostgresError) in
                        try await pool.query("SELECT $1::int", ["x"])
                    } == .server(sqlState: "22P02"))
                #expect(
                    await code { () async throws(PostgresError) in
                        try await pool.query("SELECT $1::int, $2::int", ["1"])
                    } == .server(sqlState: "08P01"))
                #expect(try await pool.query("SELECT 1").rows[0].int(0) == 1)
                #expect(pool.metrics.read.reconnects == 0)
            }
        }

        /// A batch is one transaction to the server: the innocent must not notice.
        @Test func errorsStayWithTheirCaller() async throws {
            try await withPool { (pool) async throws in
                let outcomes = await withTaskGroup(of: (Int, Result<Int?, PostgresError>).self) { group in
                    for number in 0..<600 {
                        group.addTask {
                            do throws(PostgresError) {
                                let statement: Statement =
                                    switch number % 6 {
                                    case 1: "SELECT 1 / ($1::int - $1::int)"
                                    case 3: "SELECT nonsense"
                                    default: "SELECT $1::int"
                                    }
                                let parameters: [Parameter] = number % 6 == 3 ? [] : [Parameter(number)]
                                let value = try await pool.query(statement, parameters).rows[0].int(0)
                                return (number, .success(value))
                            } catch {
                                return (number, .failure(error))
                            }
                        }
                    }
                    return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
                }
                #expect(outcomes.count == 600)
                for (number, outcome) in outcomes {
                    switch (number % 6, outcome) {
                    case (1, .failure(let error)): #expect(error.sqlState == "22012")
                    case (3, .failure(let error)): #expect(error.sqlState == "42703")
                    case (0, .success(let value)), (2, .success(let value)), (4, .success(let value)),
                        (5, .success(let value)):
                        #expect(value == number)
                    default: Issue.record("caller \(number) got \(outcome)")
                    }
                }
                let metrics = pool.metrics.read
                #expect(metrics.failed == 200 && metrics.completed == 400)
                #expect(metrics.queued == 0 && metrics.inFlight == 0 && metrics.reconnects == 0)
                let group = try #require(pool.connectionGroups.first { $0.use == .query && $0.tier == .fast })
                #expect(pool.metrics(of: group).completed == 400)
            }
        }

        @Test func tenThousandCallersGetTheirOwnAnswers() async throws {
            try await withPool({ $0.queueMax = 10_000 }) { (pool) async throws in
                let sum = try await withThrowingTaskGroup(of: Int.self) { group in
                    for number in 0..<10_000 {
                        group.addTask {
                            try await pool.query("SELECT $1::int", [Parameter(number)]).rows[0].int(0) ?? 0
                        }
                    }
                    return try await group.reduce(0, +)
                }
                #expect(sum == 10_000 * 9_999 / 2)
                #expect(pool.metrics.read.statementsPrepared == 1)
            }
        }

        @Test func queriesWithCallbacksAllComplete() async throws {
            try await withPool { (pool) async throws in
                let values: [Int?] = await withCheckedContinuation { continuation in
                    let seen = Mutex<[Int?]>([])
                    for number in 0..<100 {
                        pool.query("SELECT $1::int", [Parameter(number)]) { result in
                            let all = seen.withLock {
                                $0.append((try? result.get())?.rows[0].int(0))
                                return $0.count == 100 ? $0 : nil
                            }
                            if let all { continuation.resume(returning: all) }
                        }
                    }
                }
                #expect(values == Array(0..<100))
            }
        }

        @Test func resultsOf64MebibytesArriveWhole() async throws {
            try await withPool { (pool) async throws in
                let size = 64 << 20
                let one = try await pool.query("SELECT repeat('x', $1::int)", [Parameter(size)])
                one.rows[0].withBytes(0) { #expect($0?.count == size && $0?.last == UInt8(ascii: "x")) }
                let many = try await pool.query("SELECT repeat('x', 1024) FROM generate_series(1, 65536)")
                #expect(many.rows.count == 65_536 && many.rows[65_535].string(0)?.utf8.count == 1024)
                let sent = try await pool.query(
                    "SELECT length($1::bytea)", [.binary(Array(repeating: 7, count: size / 8))])
                #expect(sent.rows[0].int(0) == size / 8)
            }
        }

        @Test func fullQueueSaysSo() async throws {
            try await withPool({ $0.queueMax = 8 }) { (pool) async throws in
                let codes = try await pool.withSession { session in
                    try await session.execute("SELECT pg_advisory_lock(78)")
                    return try await withThrowingTaskGroup(of: PostgresError.Code?.self) { group in
                        for _ in 0..<40 {
                            group.addTask {
                                await code { () async throws(PostgresError) in
                                    try await pool.query("SELECT pg_advisory_xact_lock_shared(78)")
                                }
                            }
                        }
                        _ = await eventually { pool.metrics.read.refused == 32 }
                        try await session.execute("SELECT pg_advisory_unlock(78)")
                        return try await group.reduce(into: []) { $0.append($1) }
                    }
                }
                #expect(codes.count { $0 == .queueFull } == 32)
                #expect(codes.count { $0 == nil } == 8)
                #expect(pool.metrics.read.refused == 32)
                #expect(try await pool.query("SELECT 1").rows.count == 1)
            }
        }

        @Test func queuedBytesAreBounded() async throws {
            try await withPool({ $0.queueBytesMax = 10_000 }) { (pool) async throws in
                async let slow = pool.query("SELECT pg_sleep(1), length($1::bytea)", [.binary([1])])
                _ = await eventually { pool.metrics.read.inFlight == 1 }
                let big: [Parameter] = [.binary(Array(repeating: 1, count: 20_000))]
                #expect(
                    await code { () async throws(PostgresError) in
                        try await pool.query("SELECT length($1::bytea)", big)
                    } == .queueFull)
                _ = try await slow
                // Alone it may be as big as a request may be.
                #expect(try await pool.query("SELECT length($1::bytea)", big).rows[0].int(0) == 20_000)
            }
        }

        @Test func preparedStatementsAreBounded() async throws {
            try await withPool({ $0.preparedStatementsMax = 4 }) { (pool) async throws in
                for round in 0..<3 {
                    for number in 0..<20 {
                        #expect(try await pool.query(Statement("SELECT \(number)")).rows[0].int(0) == number)
                    }
                    let count = try await pool.query("SELECT count(*) FROM pg_prepared_statements").rows[0].int(0) ?? 99
                    #expect(count <= 5, "round \(round)")
                }
                #expect(pool.metrics.read.failed == 0)
            }
        }

        @Test func stalePlansAreReplaced() async throws {
            try await withPool { (pool) async throws in
                try await pool.script("CREATE TABLE q_stale (id int); INSERT INTO q_stale VALUES (1)")
                let update: PostgresStep = ("UPDATE q_stale SET id = id RETURNING *", [])
                #expect(try await pool.query("SELECT * FROM q_stale").columns.count == 1)
                for _ in 0..<4 { #expect(try await pool.transaction([update])[0].columns.count == 1) }
                try await pool.script("ALTER TABLE q_stale ADD name text")
                #expect(try await pool.query("SELECT * FROM q_stale").columns.count == 2)
                for _ in 0..<4 { #expect(try await pool.transaction([update])[0].columns.count == 2) }
            }
        }

        @Test func copyIsRefused() async throws {
            try await withPool { (pool) async throws in
                #expect(
                    await code { () async throws(PostgresError) in
                        try await pool.query("COPY (SELECT 1) TO STDOUT")
                    } == .unsupported)
                #expect(
                    await code { () async throws(PostgresError) in
                        try await pool.script("COPY (SELECT 1) TO STDOUT")
                    } == .unsupported)
                #expect(try await pool.query("SELECT 1").rows.count == 1)
                try await pool.script("SELECT 1")
            }
        }
    }
}
