import Foundation
import LocalServers
import Logging
import Postgres
import Testing

/// `freshet migrate` beside others that use the database.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct MigrateTests: SampleProjectTests {
    private func pool(_ url: String) async throws -> PostgresPool {
        var configuration = PostgresConfiguration(connectionString: url)
        configuration.sessionConnections = 3
        let pool = PostgresPool(
            configuration: configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try await pool.start()
        return pool
    }

    /// A copy of the sample beside an empty database.
    private func withDatabase(
        _ body: (_ project: String, _ url: String, _ pool: PostgresPool) async throws -> Void
    ) async throws {
        try await withProject { project, _ in
            try await Cluster.with { cluster in
                let url = cluster.servers.postgres.connectionString
                let pool = try await pool(url)
                defer { Task { await pool.stop() } }
                try await body(project, url, pool)
            }
        }
    }

    /// Waits until a query of one boolean returns true.
    private func wait(_ pool: PostgresPool, until condition: Statement) async throws {
        let end = ContinuousClock.now + .seconds(60)
        while try await pool.query(condition).rows.first?.bool(0) != true {
            try #require(ContinuousClock.now < end, "\(condition)")
            await Task.yield()
        }
    }

    /// A concurrent migration waits for its locks in small steps: other writers continue meanwhile.
    @Test func concurrentMigrationsGiveWayToWriters() async throws {
        try await withDatabase { project, url, pool in
            try await pool.script(
                """
                CREATE TABLE visit (id uuid PRIMARY KEY, page text) PARTITION BY HASH (id);
                CREATE TABLE visit_all PARTITION OF visit FOR VALUES WITH (MODULUS 1, REMAINDER 0)
                """)
            try append("\ntype Visit @table { page: String @index }", to: project + "/schema/schema.gql")
            let insert: Statement = "INSERT INTO visit VALUES (gen_random_uuid(), 'a')"
            try await pool.withSession { writer in
                // Only an index of the whole table conflicts with it; an index of the partition by itself does not.
                try await writer.begin()
                try await writer.execute("LOCK TABLE ONLY visit IN ROW EXCLUSIVE MODE")
                let arguments = ["migrate", project, "--concurrently", "--set", "postgres.url=\(url)"]
                let hasty = ["migrate.lockTimeoutMs=50ms", "migrate.lockTotalMs=0ms"].flatMap { ["--set", $0] }
                let refused = try await output(arguments + hasty, code: 1)
                #expect(refused.contains("a table could not be locked within 0 ms (migrate.lockTotalMs)"), "\(refused)")
                #expect(refused.contains("run the command again to continue"), "\(refused)")
                async let migrated = output(arguments)
                let waits: Statement =
                    "SELECT count(*) > 0 FROM pg_locks WHERE relation = 'visit'::regclass AND NOT granted"
                let end = ContinuousClock.now + .seconds(60)
                while try await pool.query(waits).rows.first?.bool(0) != true {
                    try #require(ContinuousClock.now < end, "the migration waits for no lock")
                    await Task.yield()
                }
                try await pool.withSession { other in
                    try await other.script("SET lock_timeout = '60s'")
                    for _ in 1...3 { _ = try await other.execute(insert) }
                }
                // It has not gone round the lock.
                let built: Statement = "SELECT to_regclass('visit_page_idx') IS NOT NULL"
                #expect(try await pool.query(built).rows.first?.bool(0) == false)
                try await writer.commit()
                #expect(try await migrated.contains("create index visit_page_idx"))
                let valid: Statement =
                    """
                    SELECT bool_and(indisvalid) AND count(*) = 2 FROM pg_index
                    WHERE indexrelid::regclass::text ~ '^visit_page_idx'
                    """
                #expect(try await pool.query(valid).rows.first?.bool(0) == true)
            }
        }
    }

    /// A plain run names the constraint that it leaves alone; a concurrent one says how to mend rows in the way.
    @Test func rowsInTheWayOfAForeignKeyAreForTheOperator() async throws {
        try await withDatabase { project, url, pool in
            let arguments = ["migrate", project, "--set", "postgres.url=\(url)"]
            _ = try await output(arguments)
            try await pool.script(
                """
                CREATE TABLE visit (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), lot_id uuid);
                INSERT INTO visit (lot_id) VALUES (gen_random_uuid())
                """)
            try append("\ntype Visit @table { lot: Lot }", to: project + "/schema/schema.gql")
            for _ in 1...2 {
                let refused = try await output(arguments + ["--concurrently"], code: 1)
                #expect(
                    refused.contains(
                        "foreign key visit_lot_id_fkey exists and is enforced for new rows; correct the rows"),
                    "\(refused)")
            }
            let printed = try await output(arguments)
            #expect(
                printed.contains("nothing to do") && printed.contains("is NOT VALID: existing rows were never checked"),
                "\(printed)")
            try await pool.script("DELETE FROM visit")
            #expect(try await output(arguments + ["--concurrently"]).contains("1 changes made"))
        }
    }

    @Test func aDryRunNamesWhatIsTakenAsItStands() async throws {
        try await withDatabase { project, url, pool in
            try await pool.script(
                """
                CREATE TABLE visit (id uuid PRIMARY KEY, page text) PARTITION BY HASH (id);
                CREATE TABLE visit_all PARTITION OF visit FOR VALUES WITH (MODULUS 1, REMAINDER 0);
                CREATE INDEX own ON visit_all (page)
                """)
            try append("\ntype Visit @table { page: String @index }", to: project + "/schema/schema.gql")
            let printed = try await output(
                ["migrate", project, "--concurrently", "--dry-run", "--set", "postgres.url=\(url)"])
            let taken = #"-- index "own" of "public"."visit_all" is used as it is"#
            #expect(printed.contains(taken) && !printed.contains("CREATE INDEX CONCURRENTLY"), "\(printed)")
        }
    }

    @Test func rowsThatDoNotFitAndWhatLeftTheSchemaAreNamed() async throws {
        try await withDatabase { project, url, pool in
            let schema = project + "/schema/schema.gql"
            let sample = try String(contentsOfFile: schema, encoding: .utf8)
            func migrate(_ fields: String, code: Int32 = 0) async throws -> String {
                let type = "\ntype Note @table(key: \"no\") { no: Int! \(fields) }\n"
                try (sample + type).write(toFile: schema, atomically: true, encoding: .utf8)
                return try await output(["migrate", project, "--database", url], code: code)
            }
            #expect(try await migrate("text: String author: String").contains("create table note"))
            try await pool.script(
                "INSERT INTO note VALUES (1, 'twice', NULL), (2, 'twice', 'a'), (3, 'once', NULL), (4, NULL, 'b')")
            let alike = try await migrate("text: String @unique author: String", code: 1)
            #expect(alike.contains("text twice in 2 rows") && !alike.contains("once"), "\(alike)")
            let missing = try await migrate("text: String author: String!", code: 1)
            for row in ["no 1", "no 3"] {
                #expect(missing.contains("note.author is null in the row \(row)"), "\(missing)")
            }
            #expect(!missing.contains("no 2"), "\(missing)")

            let renamed = try await migrate("text: String writer: String")
            #expect(renamed.contains(#"RENAME COLUMN "author" TO "writer""#), "\(renamed)")
            for _ in 0..<2 {
                let again = try await migrate("text: String writer: String")
                #expect(again.contains("author") && again.contains("nothing to do"), "\(again)")
            }
        }
    }

    /// A transaction of changes that Postgres breaks off in a deadlock is made once more.
    @Test func deadlocksAreTriedAgain() async throws {
        try await withDatabase { project, url, pool in
            // The migration looks for a deadlock after a while, in which there is one; the writer never does.
            try await pool.script(
                """
                CREATE TABLE early (id uuid PRIMARY KEY DEFAULT gen_random_uuid());
                CREATE TABLE late (id uuid PRIMARY KEY DEFAULT gen_random_uuid());
                ALTER ROLE CURRENT_USER SET deadlock_timeout = '4s'
                """)
            try append(
                "\ntype Early @table { text: String }\ntype Late @table { text: String }",
                to: project + "/schema/schema.gql")
            try await pool.withSession { writer in
                try await writer.script("SET deadlock_timeout = '100s'")
                try await writer.begin()
                try await writer.execute("LOCK TABLE late IN ROW EXCLUSIVE MODE")
                async let migrated = output(["migrate", project, "--set", "postgres.url=\(url)"])
                try await wait(
                    pool,
                    until:
                        "SELECT count(*) > 0 FROM pg_locks WHERE relation = 'late'::regclass AND NOT granted")
                // Granted when the migration has lost.
                try await writer.execute("LOCK TABLE early IN ROW EXCLUSIVE MODE")
                let deadlocks: Statement =
                    """
                    SELECT count(*) = 0 FROM information_schema.columns WHERE table_name = 'early'
                    AND column_name = 'text'
                    """
                #expect(try await pool.query(deadlocks).rows.first?.bool(0) == true)
                try await writer.commit()
                #expect(try await migrated.contains("2 changes made"))
            }
        }
    }

    /// An index that another session is building is neither dropped nor built a second time.
    @Test func indexesUnderWayAreLeftAlone() async throws {
        try await withDatabase { project, url, pool in
            try await pool.script(
                "CREATE TABLE early (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), text text)")
            try append("\ntype Early @table { text: String @index }", to: project + "/schema/schema.gql")
            let arguments = ["migrate", project, "--set", "postgres.url=\(url)"]
            try await pool.withSession { writer in
                // For which the build waits.
                try await writer.begin()
                try await writer.execute("INSERT INTO early (text) VALUES ('a')")
                async let built: Void = pool.withSession {
                    try await $0.script("CREATE INDEX CONCURRENTLY early_text_idx ON early (text)")
                }
                try await wait(
                    pool,
                    until:
                        """
                        SELECT count(*) > 0 FROM pg_index WHERE indexrelid = to_regclass('early_text_idx')
                        AND NOT indisvalid
                        """
                )
                for further in [[], ["--concurrently"], ["--concurrently", "--force"]] {
                    let refused = try await output(arguments + further, code: 1)
                    #expect(
                        refused.contains(
                            "index \"early_text_idx\" is being built by another session (pid "),
                        "\(refused)")
                }
                try await writer.commit()
                try await built
            }
            #expect(try await output(arguments + ["--concurrently"]).contains("nothing to do"))
        }
    }

    @Test func anotherMigrationIsWaitedForWithABound() async throws {
        try await withDatabase { project, url, pool in
            try await pool.withSession { other in
                let pid = try await other.execute(
                    "SELECT pg_backend_pid()::text, pg_advisory_lock(hashtextextended('freshet.migration', 0))")
                let refused = try await output(
                    ["migrate", project, "--set", "postgres.url=\(url)", "--set", "migrate.waitMs=0"], code: 1)
                #expect(
                    refused.contains(
                        """
                        another migration was under way for 0 ms (migrate.waitMs): pid \
                        \(pid.rows.first?.string(0) ?? ""), freshet-
                        """
                    ), "\(refused)")
                #expect(refused.contains("nothing was changed"))
            }
        }
    }
}
