import Execution
import Migrations
import Postgres
import SchemaMigration
import SchemaModel
import Testing

extension Language {
    /// Indexes that are built while others write, on a real Postgres.
    @Suite struct ConcurrentIndexes {
        private static let visits = """
            CREATE SCHEMA attic;
            CREATE TABLE visit (site int, at timestamptz, page text, PRIMARY KEY (site, at)) PARTITION BY LIST (site);
            CREATE TABLE visit_one PARTITION OF visit FOR VALUES IN (1);
            CREATE TABLE attic.visit_rest PARTITION OF visit DEFAULT PARTITION BY RANGE (at);
            CREATE TABLE "visit Old" PARTITION OF attic.visit_rest DEFAULT;
            INSERT INTO visit VALUES (1, now(), 'a'), (2, now(), 'b')
            """

        private static func visitSchema(_ further: String = "") throws -> Schema {
            try MigrationOf.schema(
                """
                type Visit @table(key: ["site", "at"]) \(further) {
                  site: Int!
                  at: Timestamp!
                  page: String @index @searchable
                }
                """)
        }

        private static func plan(
            _ schema: Schema, _ pool: PostgresPool, _ permissions: Migration.Permissions = .drops
        ) async throws -> MigrationPlan {
            return Migration.plan(
                schema, existing: try await pool.databaseDescription(),
                allowing: permissions)
        }

        /// The first column of each row.
        private static func texts(_ sql: String, _ pool: PostgresPool) async throws -> [String] {
            try await pool.query(Statement(sql)).rows.map { $0.string(0) ?? "null" }
        }

        private static func step(_ summary: String, _ plan: MigrationPlan) throws -> SQLStatement {
            try #require(plan.steps.first { $0.summary == summary }, "\(plan.steps.map(\.summary))")
        }

        private static let indexesOfOne =
            "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = 'visit_one'::regclass ORDER BY indexrelid"

        /// Finished parts of an interrupted run are kept; unfinished or different ones are built again.
        @Test func partitionsGetTheirIndexesOneByOne() async throws {
            let schema = try Self.visitSchema(#"@unique(fields: ["site", "at", "page"])"#)
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(Self.visits) }) { pool in
                let first = try await Self.plan(schema, pool)
                #expect(first.losses.isEmpty && first.drift.isEmpty && first.refused.isEmpty, "\(first)")
                #expect(first.steps.count == 3 && first.steps.allSatisfy { $0.concurrentSQL.count == 3 })
                for step in first.steps {
                    for sql in step.concurrentSQL.dropLast() { try await pool.script(sql) }
                }
                try await pool.script(
                    """
                    DROP INDEX visit_page_idx_visit_one_part; CREATE INDEX visit_page_idx_visit_one_part ON visit_one
                    (at)
                    """
                )
                let before = try await Self.texts("SELECT oid::text FROM pg_class WHERE relname ~ '_part$'", pool)
                #expect(before.count == 6)
                let second = try await Self.plan(schema, pool)
                #expect(second.steps.count == 3, "\(second)")
                var run: [String] = []
                for step in second.steps { run += try await IndexBuilds.run(step, pool) }
                #expect(run.filter { $0.contains("CONCURRENTLY") }.count == 2, "\(run)")
                let last = try await Self.plan(schema, pool)
                #expect(last.isUpToDate && last.drift.isEmpty, "\(last)")
                let after = try await Self.texts(
                    "SELECT c.oid::text FROM pg_class c JOIN pg_index ON indexrelid = c.oid"
                        + " WHERE relname ~ '_part$' AND relispartition AND indisvalid", pool)
                #expect(after.count == 6 && Set(after).intersection(before).count == 5)
                // No index was built twice.
                #expect(try await Self.texts(Self.indexesOfOne, pool).count == 4)
            }
        }

        /// The last step takes locks; what came since the plan is built before it, not under them.
        @Test func partitionsThatComeMeanwhileAndTakenNames() async throws {
            let schema = try Self.visitSchema()
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(Self.visits) }) { pool in
                // The name of a part is a part of another index.
                try await pool.script(
                    "CREATE INDEX visit_at ON visit (at);"
                        + "ALTER INDEX visit_one_at_idx RENAME TO visit_page_idx_visit_one_part")
                let step = try Self.step("create index visit_page_idx", try await Self.plan(schema, pool))
                var hasCome = false
                let run = try await IndexBuilds.run(step, pool) { action in
                    guard case .together = action, !hasCome else { return }
                    hasCome = true
                    try await pool.script(
                        """
                        CREATE TABLE visit_two (LIKE visit INCLUDING ALL);
                        INSERT INTO visit_two VALUES (7, now(), 'c');
                        ALTER TABLE visit ATTACH PARTITION visit_two FOR VALUES IN (7)
                        """)
                }
                #expect(
                    run == [
                        #"CREATE INDEX CONCURRENTLY ON "public"."visit_one" USING btree ("page")"#,
                        """
                        CREATE INDEX CONCURRENTLY "visit_page_idx_visit Old_part" ON "public"."visit Old" USING btree \
                        ("page")
                        """,
                        """
                        CREATE INDEX CONCURRENTLY "visit_page_idx_visit_two_part" ON "public"."visit_two" USING btree \
                        ("page")
                        """,
                        #"CREATE INDEX "visit_page_idx" ON "public"."visit" USING btree ("page")"#,
                    ], "\(run)")
            }
        }

        /// Postgres attaches the first index that fits, whatever its origin: so no second one is built, and what an
        /// earlier run built is dropped.
        @Test func indexesThatPartitionsHadAreTaken() async throws {
            let schema = try Self.visitSchema()
            let own = "; CREATE INDEX own_page ON visit_one (page); CREATE INDEX rest_page ON attic.visit_rest (page)"
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(Self.visits + own) }) { pool in
                let step = try Self.step("create index visit_page_idx", try await Self.plan(schema, pool))
                try await pool.script("CREATE INDEX visit_page_idx_visit_one_part ON visit_one (page)")
                let run = try await IndexBuilds.run(step, pool)
                #expect(run.count == 2 && run[0].hasPrefix("CREATE INDEX \"visit_page_idx\" ON"), "\(run)")
                #expect(run[1] == #"DROP INDEX CONCURRENTLY IF EXISTS "public"."visit_page_idx_visit_one_part""#)
                #expect(try await Self.texts(Self.indexesOfOne, pool).sorted() == ["own_page", "visit_one_pkey"])
                #expect(try await IndexBuilds.run(step, pool) == [])
            }
        }

        /// An invalid index of a partition would make the whole one invalid.
        @Test func invalidIndexesOfPartitionsRefuseTheBuild() async throws {
            let schema = try Self.visitSchema()
            let own = "; CREATE INDEX rest_page ON ONLY attic.visit_rest (page)"
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(Self.visits + own) }) { pool in
                let step = try Self.step("create index visit_page_idx", try await Self.plan(schema, pool))
                let refused = await #expect(throws: IndexBuilds.Refused.self) { try await IndexBuilds.run(step, pool) }
                #expect(refused?.reason.contains("index \"rest_page\" of partition \"visit_rest\"") == true)
                try await pool.script("DROP INDEX attic.rest_page")
                // As a build that broke off leaves one, whatever its name.
                try await pool.script("CREATE INDEX broken ON visit_one (page)")
                try await pool.script(
                    "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'broken'::regclass")
                let run = try await IndexBuilds.run(step, pool)
                #expect(run.contains(#"DROP INDEX CONCURRENTLY IF EXISTS "public"."broken""#), "\(run)")
                #expect(
                    try await Self.plan(schema, pool).steps.map(\.summary) == ["create search index visit_search_idx"])
            }
        }

        /// The former unique index stays until the new one exists; a run that broke off before the exchange continues
        /// with what it built.
        @Test(arguments: [false, true]) func uniqueIndexesAreReplacedWithoutAGap(isDivided: Bool) async throws {
            let schema = try MigrationOf.schema(
                """
                type Seat @table(key: ["row", "place"]) @unique(fields: ["row", "guest"]) {
                  row: Int! place: Int! guest: String
                }
                """
            )
            let tables = """
                CREATE TABLE seat (row int, place int, guest text, PRIMARY KEY (row, place))\(isDivided
                    ? " PARTITION BY LIST (row); CREATE TABLE seat_one PARTITION OF seat FOR VALUES IN (1)" : "");
                INSERT INTO seat VALUES (1, 1, 'a');
                CREATE UNIQUE INDEX seat_row_guest_uidx ON seat (row, guest) WHERE place < 100
                """
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                #expect(try await Self.plan(schema, pool, []).refused.count == 1)
                func replace() async throws -> SQLStatement {
                    let plan = try await Self.plan(schema, pool, .rewrites)
                    #expect(plan.steps.count == 1 && plan.losses.count == 1, "\(plan)")
                    return try Self.step("replace unique index seat_row_guest_uidx", plan)
                }
                struct BrokenOff: Error {}
                let first = try await replace()
                await #expect(throws: BrokenOff.self) {
                    try await IndexBuilds.run(first, pool) { if case .together = $0 { throw BrokenOff() } }
                }
                let run = try await IndexBuilds.run(try await replace(), pool) { action in
                    let twice = "INSERT INTO seat VALUES (1, 2, 'a')"
                    await #expect(throws: PostgresError.self, "\(action)") { try await pool.script(twice) }
                }
                #expect(!run.contains { $0.contains("CONCURRENTLY") }, "\(run)")
                let names = try await Self.texts(
                    "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = 'seat'::regclass"
                        + " AND NOT indisprimary AND indisvalid AND indisunique AND indpred IS NULL", pool)
                #expect(names == ["seat_row_guest_uidx"])
                #expect(try await Self.plan(schema, pool).isUpToDate)

                // All at once, without the index that such a run left.
                try await pool.script(
                    "DROP INDEX seat_row_guest_uidx; CREATE UNIQUE INDEX seat_row_guest_uidx ON seat (row) WHERE false;"
                        + "CREATE UNIQUE INDEX seat_row_guest_uidx_freshet_new ON seat (row, guest)")
                try await IndexBuilds.runTogether([try await replace()], pool)
                #expect(try await Self.plan(schema, pool).isUpToDate)
                let left = "SELECT to_regclass('seat_row_guest_uidx_freshet_new')::text"
                #expect(try await Self.texts(left, pool) == ["null"])

                // The schema went back meanwhile: it would refuse rows that may be there.
                try await pool.script("CREATE UNIQUE INDEX seat_row_guest_uidx_freshet_new ON seat (guest, row)")
                let plan = try await Self.plan(schema, pool)
                #expect(
                    plan.steps.map(\.summary) == [
                        "drop index seat_row_guest_uidx_freshet_new, left by an interrupted migration"
                    ])
                for step in plan.steps { try await pool.script(step.sql) }
                #expect(try await Self.texts(left, pool) == ["null"])
                #expect(try await Self.plan(schema, pool).isUpToDate)
            }
        }

        /// Ascending and descending are one to Postgres where it looks for parts, and another definition to the schema.
        @Test func anotherOrderIsAnotherDefinition() async throws {
            let schema = try MigrationOf.schema(
                """
                type Note @table @index(name: "note_a_b_idx", fields: ["a", "b"], order: [ASC, DESC]) { a: Int b: Int }
                """
            )
            let tables = """
                CREATE TABLE note (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), a int, b int);
                CREATE INDEX note_a_b_idx ON note (a, b)
                """
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                let plan = try await Self.plan(schema, pool, .rewrites)
                for step in plan.steps { try await IndexBuilds.run(step, pool) }
                #expect(
                    try await Self.texts("SELECT pg_get_indexdef('note_a_b_idx'::regclass)", pool)
                        == ["CREATE INDEX note_a_b_idx ON public.note USING btree (a, b DESC)"])
                #expect(try await Self.plan(schema, pool).isUpToDate)
            }
        }
    }
}
