import Execution
import Postgres
import SchemaMigration
import SchemaModel
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
                """
                ALTER TABLE post ADD CONSTRAINT post_author_id_fkey FOREIGN KEY (author_id) REFERENCES author
                (id)\(former)
                """
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
        @Test(arguments: [("RESTRICT", "deletes fail"), ("NO ACTION", "deletes may fail")])
        func otherKeysOfTheSameColumnsAreReported(rule: String, effect: String) async throws {
            let key =
                "ALTER TABLE post ADD CONSTRAINT old_key FOREIGN KEY (author_id) REFERENCES author ON DELETE \(rule)"
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(Self.tables + key) }) { pool in
                for steps in [["add foreign key post_author_id_fkey"], []] {
                    let plan = try await MigrationOf.plan(try Self.schema(), pool)
                    #expect(plan.steps.map(\.summary) == steps && plan.drift.map(\.part) == ["old_key"], "\(plan)")
                    #expect(
                        plan.drift.first?.message.hasSuffix(
                            """
                            is ON DELETE \(rule), but the schema requires SET NULL; Postgres enforces both, so \
                            \(effect)
                            """
                        ) == true)
                    // It was so before: no reason to refuse a deployment.
                    #expect(plan.drift.first?.isHarmful == false)
                    for step in plan.steps { try await pool.script(step.sql) }
                }
                let delete = "DELETE FROM author"
                try await pool.script(
                    "INSERT INTO author (name) VALUES ('a'); INSERT INTO post (author_id) SELECT id FROM author")
                if rule == "RESTRICT" {
                    await #expect(throws: PostgresError.self) { try await pool.script(delete) }
                }
                // As it advises.
                try await pool.script("ALTER TABLE \"public\".\"post\" DROP CONSTRAINT \"old_key\"")
                try await pool.script(delete)
                #expect(try await MigrationOf.plan(try Self.schema(), pool).drift.isEmpty)
            }
        }

        /// Rows from before are checked while others write; an interrupted run continues there.
        @Test func rowsAreCheckedWhileOthersWrite() async throws {
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(Self.tables) }) { pool in
                let schema = try Self.schema()
                try await pool.script("INSERT INTO post (author_id) VALUES (gen_random_uuid())")
                let add = try #require(try await MigrationOf.plan(schema, pool).steps.first)
                #expect(add.summary == "add foreign key post_author_id_fkey" && add.concurrentSQL.count == 2)
                await #expect(throws: PostgresError.self) { try await pool.script(add.sql) }
                let broken = await #expect(throws: PostgresError.self) { try await IndexBuilds.run(add, pool) }
                #expect(broken?.sqlState == "23503")
                // It applies to rows written since.
                let stray = "INSERT INTO post (author_id) VALUES (gen_random_uuid())"
                await #expect(throws: PostgresError.self) { try await pool.script(stray) }

                // They may have been left on purpose: nothing that runs unasked fails on them.
                let plain = try await MigrationOf.plan(schema, pool)
                #expect(plain.isUpToDate && plain.notices.map(\.part) == ["post_author_id_fkey"], "\(plain)")
                #expect(plain.drift.first?.message.contains("is NOT VALID: existing rows were never checked") == true)
                // When all else is done.
                let further = try MigrationOf.schema(
                    "type Author @table { name: String }\ntype Post @table { author: Author editor: Author }")
                #expect(
                    try await MigrationOf.plan(further, pool, .concurrent).steps.last?.summary
                        == "validate foreign key post_author_id_fkey")

                try await pool.script("UPDATE post SET author_id = NULL")
                let plan = try await MigrationOf.plan(schema, pool, .concurrent)
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

        /// The former one holds until it is known that the new one does.
        @Test func foreignKeysAreReplacedWithoutAGap() async throws {
            let tables =
                Self.tables + """
                    CREATE TABLE writer (id uuid PRIMARY KEY);
                    INSERT INTO writer VALUES (gen_random_uuid()); INSERT INTO post (author_id) SELECT id FROM writer;
                    ALTER TABLE post ADD CONSTRAINT post_author_id_fkey FOREIGN KEY (author_id) REFERENCES writer
                    """
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                let schema = try Self.schema()
                let before = try await Self.definitions(pool)
                let replace = try #require(
                    try await MigrationOf.plan(schema, pool, [.rewrites, .concurrent]).steps.first)
                let broken = await #expect(throws: PostgresError.self) { try await IndexBuilds.run(replace, pool) }
                #expect(broken?.sqlState == "23503")
                let both = try await Self.definitions(pool)
                #expect(both.count == 2 && both.contains(before[0]), "\(both)")

                // The next run removes what is left, and does nothing else.
                try await pool.script("INSERT INTO author (id) SELECT id FROM writer")
                let drop = "drop foreign key post_author_id_fkey_freshet_new, left by an interrupted migration"
                let plain = try await MigrationOf.plan(schema, pool)
                #expect(plain.steps.map(\.summary) == [drop] && plain.refused.map(\.part) == ["post_author_id_fkey"])
                let plan = try await MigrationOf.plan(schema, pool, [.rewrites, .concurrent])
                #expect(plan.steps.map(\.summary) == [drop, "replace foreign key post_author_id_fkey"], "\(plan)")
                for step in plan.steps { try await IndexBuilds.run(step, pool) }
                let after = try await MigrationOf.plan(schema, pool)
                #expect(try await Self.definitions(pool).count == 1 && after.isUpToDate, "\(after)")
            }
        }

        /// Another delete rule is no reason to check rows that were left unchecked.
        @Test func uncheckedForeignKeysGoOnUnchecked() async throws {
            let key =
                """
                INSERT INTO post (author_id) VALUES (gen_random_uuid());
                ALTER TABLE post ADD CONSTRAINT post_author_id_fkey FOREIGN KEY (author_id) REFERENCES author NOT VALID
                """
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(Self.tables + key) }) { pool in
                let plan = try await MigrationOf.plan(try Self.schema(), pool)
                #expect(plan.steps.count == 1 && plan.notices.map(\.part) == ["post_author_id_fkey"], "\(plan)")
                try await pool.script(plan.steps[0].sql)
                let next = try await MigrationOf.plan(try Self.schema(), pool)
                #expect(next.isUpToDate && next.notices.map(\.part) == ["post_author_id_fkey"], "\(next)")
            }
        }

        /// Postgres before 18 has no NOT VALID there.
        @Test func tablesWithPartitionsGetTheirsAtOnce() async throws {
            let tables =
                Self.tables + """
                    DROP TABLE post;
                    CREATE TABLE post (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), author_id uuid) \
                    PARTITION BY HASH (id);
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
