import Catalog
import Execution
import Postgres
import Testing

extension Language {
    /// Foreign keys that the database has in another form, on a real Postgres.
    @Suite struct ForeignKeyMigrations {
        private static func schema(_ author: String = "") throws -> Schema {
            try MigrationOf.schema(
                """
                type Author @table { name: String }
                type Post @table { author: Author \(author) }
                """)
        }

        private static let tables = """
            CREATE TABLE author (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name text);
            CREATE TABLE post (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), author_id uuid);
            CREATE INDEX post_author_id_idx ON post (author_id);

            """

        private static func definitions(_ pool: PostgresPool) async throws -> [String] {
            let sql = """
                SELECT conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
                WHERE conrelid = 'post'::regclass AND contype = 'f' ORDER BY 1
                """
            return try await pool.query(Statement(sql)).rows.map { $0.string(0) ?? "" }
        }

        /// The schema speaks of deletes only.
        @Test(
            arguments: [
                " ON UPDATE CASCADE", " MATCH FULL ON UPDATE SET NULL", " DEFERRABLE INITIALLY DEFERRED", " DEFERRABLE",
                "",
            ], [false, true])
        func anotherDeleteRuleLeavesTheRest(former: String, isConcurrent: Bool) async throws {
            let key =
                "ALTER TABLE post ADD CONSTRAINT post_author_id_fkey FOREIGN KEY (author_id) REFERENCES author (id)\(former)"
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(Self.tables + key) }) { pool in
                let before = try await Self.definitions(pool)
                let plan = try await MigrationOf.plan(try Self.schema(), pool)
                let step = try #require(plan.steps.first)
                #expect(plan.steps.count == 1 && step.summary.hasSuffix("to ON DELETE SET NULL"), "\(plan)")
                if isConcurrent { try await IndexBuilds.run(step, pool) } else { try await pool.script(step.sql) }
                let after = try await Self.definitions(pool)
                #expect(after.map { $0.replacing(" ON DELETE SET NULL", with: "") } == before && after != before)
                let next = try await MigrationOf.plan(try Self.schema(), pool)
                #expect(next.isUpToDate && next.drift.isEmpty, "\(next)")
            }
        }

        /// A second one beside it does not end what the first one says.
        @Test func othersOfTheSameColumnsAreTold() async throws {
            let key =
                "ALTER TABLE post ADD CONSTRAINT old_key FOREIGN KEY (author_id) REFERENCES author ON DELETE RESTRICT"
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(Self.tables + key) }) { pool in
                for steps in [["add foreign key post_author_id_fkey"], []] {
                    let plan = try await MigrationOf.plan(try Self.schema(), pool)
                    #expect(plan.steps.map(\.summary) == steps && plan.drift.map(\.part) == ["old_key"], "\(plan)")
                    #expect(
                        plan.drift.first?.message.contains("is ON DELETE RESTRICT, the schema wants SET NULL") == true)
                    #expect(plan.drift.first?.isHarmful == true)
                    for step in plan.steps { try await pool.script(step.sql) }
                }
                let delete = "DELETE FROM author"
                try await pool.script(
                    "INSERT INTO author (name) VALUES ('a'); INSERT INTO post (author_id) SELECT id FROM author")
                await #expect(throws: PostgresError.self) { try await pool.script(delete) }
                // As it advises.
                try await pool.script("ALTER TABLE \"public\".\"post\" DROP CONSTRAINT \"old_key\"")
                try await pool.script(delete)
                #expect(try await MigrationOf.plan(try Self.schema(), pool).drift.isEmpty)
            }
        }

        /// Rows from before are checked while others write; a run that broke off goes on there.
        @Test func rowsAreCheckedWhileOthersWrite() async throws {
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(Self.tables) }) { pool in
                let schema = try Self.schema()
                try await pool.script("INSERT INTO post (author_id) VALUES (gen_random_uuid())")
                let add = try #require(try await MigrationOf.plan(schema, pool).steps.first)
                #expect(add.summary == "add foreign key post_author_id_fkey" && add.concurrentSQL.count == 2)
                await #expect(throws: PostgresError.self) { try await pool.script(add.sql) }
                let broken = await #expect(throws: PostgresError.self) { try await IndexBuilds.run(add, pool) }
                #expect(broken?.sqlState == "23503")
                // It holds for what is written since.
                let stray = "INSERT INTO post (author_id) VALUES (gen_random_uuid())"
                await #expect(throws: PostgresError.self) { try await pool.script(stray) }

                try await pool.script("UPDATE post SET author_id = NULL")
                let plan = try await MigrationOf.plan(schema, pool)
                #expect(plan.steps.map(\.summary) == ["validate foreign key post_author_id_fkey"], "\(plan)")
                try await pool.withSession { writer in
                    try await writer.begin()
                    try await writer.execute("INSERT INTO author (name) VALUES ('a')")
                    try await writer.execute("INSERT INTO post (author_id) SELECT id FROM author")
                    for sql in plan.steps[0].concurrentSQL {
                        try await pool.script("SET LOCAL lock_timeout = '5s'; \(sql)")
                    }
                    try await writer.commit()
                }
                #expect(try await Self.definitions(pool).contains { $0.contains("NOT VALID") } == false)
                #expect(try await MigrationOf.plan(schema, pool).isUpToDate)
            }
        }

        /// Postgres before 18 has no NOT VALID there.
        @Test func tablesWithPartitionsGetTheirsAtOnce() async throws {
            let tables =
                Self.tables + """
                    DROP TABLE post;
                    CREATE TABLE post (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), author_id uuid) PARTITION BY HASH (id);
                    CREATE TABLE post_all PARTITION OF post FOR VALUES WITH (MODULUS 1, REMAINDER 0);
                    CREATE INDEX post_author_id_idx ON post (author_id)
                    """
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                let step = try #require(try await MigrationOf.plan(try Self.schema(), pool).steps.first)
                #expect(step.concurrentSQL == [step.sql])
                try await IndexBuilds.run(step, pool)
                #expect(try await MigrationOf.plan(try Self.schema(), pool).isUpToDate)
            }
        }

        /// The other side may have partitions.
        @Test func referencesToTablesWithPartitions() async throws {
            let tables = """
                CREATE TABLE author (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name text) PARTITION BY HASH (id);
                CREATE TABLE author_all PARTITION OF author FOR VALUES WITH (MODULUS 1, REMAINDER 0);
                CREATE TABLE post (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), author_id uuid);
                CREATE INDEX post_author_id_idx ON post (author_id)
                """
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                let step = try #require(try await MigrationOf.plan(try Self.schema(), pool).steps.first)
                try await IndexBuilds.run(step, pool)
                #expect(step.concurrentSQL.count == 2)
                let plan = try await MigrationOf.plan(try Self.schema(), pool)
                #expect(plan.isUpToDate && plan.drift.isEmpty, "\(plan)")
            }
        }
    }
}
