import Execution
import Postgres
import SchemaMigration
import SchemaModel
import Testing

extension Language {
    /// Relations that occupy an index's name, and leftovers of interrupted replacements, on a real Postgres.
    @Suite struct IndexReplacements {
        private static func names(_ pool: PostgresPool, _ condition: String) async throws -> [String] {
            let sql = "SELECT relname FROM pg_class c WHERE relkind IN ('i', 'I') AND \(condition) ORDER BY 1"
            return try await pool.query(Statement(sql)).rows.map { $0.string(0) ?? "" }
        }

        private static let seat = "type Seat @table @unique(fields: [\"row\"]) { row: Int! guest: String }"

        private static func seats(_ constraint: String, further: String = "") -> String {
            """
            CREATE TABLE seat (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), row int NOT NULL, guest text);
            INSERT INTO seat (row, guest) VALUES (1, 'a'), (2, 'b');
            ALTER TABLE seat ADD CONSTRAINT seat_row_uidx \(constraint);
            ALTER TABLE seat ADD CHECK (row > 0);
            \(further)
            """
        }

        /// Postgres drops the index of a UNIQUE constraint with the constraint only.
        @Test(arguments: [false, true]) func uniqueConstraintsMakeRoom(isConcurrent: Bool) async throws {
            let schema = try MigrationOf.schema(Self.seat)
            let tables = Self.seats("UNIQUE (row, guest)")
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                let refused = try #require(try await MigrationOf.plan(schema, pool).refused.first)
                #expect(refused.message == "UNIQUE constraint \"seat_row_uidx\" exists with another definition")
                #expect(refused.suggestion?.hasSuffix("DROP CONSTRAINT \"seat_row_uidx\"") == true)
                #expect(refused.permission == .rewrites)
                let forced = try await MigrationOf.plan(schema, pool, .rewrites)
                #expect(forced.steps.map(\.summary) == ["replace unique index seat_row_uidx"])
                #expect(forced.losses.first?.message.contains("replaces the UNIQUE constraint of that name") == true)
                if isConcurrent {
                    let run = try await IndexBuilds.run(forced.steps[0], pool) { _ in
                        // Until the exchange the constraint holds.
                        let twice = "INSERT INTO seat (row, guest) VALUES (1, 'a')"
                        await #expect(throws: PostgresError.self) { try await pool.script(twice) }
                    }
                    #expect(run.count == 3, "\(run)")
                } else {
                    try await IndexBuilds.runTogether(forced.steps, pool)
                }
                #expect(try await MigrationOf.plan(schema, pool).isUpToDate)
                #expect(try await Self.names(pool, "relname ~ '^seat'") == ["seat_pkey", "seat_row_uidx"])
                let left = try await pool.query(
                    "SELECT count(*)::text FROM pg_constraint WHERE conrelid = 'seat'::regclass")
                // The key and the CHECK.
                #expect(left.rows.first?.string(0) == "2")
            }
        }

        /// Postgres would say so only when the new index is built.
        @Test(arguments: [
            (
                "UNIQUE (row, guest)",
                """
                CREATE TABLE stay (n int, g text, CONSTRAINT stay_seat FOREIGN KEY (n, g) REFERENCES seat (row, guest))
                """,
                "foreign key \"stay_seat\" of \"stay\" depends on it"
            ),
            ("EXCLUDE USING btree (guest WITH =)", "", "it belongs to an EXCLUDE constraint"),
        ])
        func aRefusalNamesWhatTheIndexServes(constraint: String, further: String, reason: String)
            async throws
        {
            let schema = try MigrationOf.schema(Self.seat)
            let tables = Self.seats(constraint, further: further)
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                for permissions in [Migration.Permissions.rewrites, []] {
                    let plan = try await MigrationOf.plan(schema, pool, permissions)
                    #expect(plan.steps.isEmpty && plan.refused.count == 1, "\(plan)")
                    #expect(plan.refused[0].message.hasSuffix("and cannot be replaced: \(reason)"), "\(plan.refused)")
                    #expect(plan.refused[0].permission.isEmpty)
                }
                // As it advises.
                try await pool.script("ALTER INDEX public.seat_row_uidx RENAME TO former")
                for step in try await MigrationOf.plan(schema, pool).steps { try await IndexBuilds.run(step, pool) }
                #expect(try await MigrationOf.plan(schema, pool).isUpToDate)
            }
        }

        @Test func primaryKeysAreKept() async throws {
            let schema = try MigrationOf.schema(Self.seat)
            let tables = """
                CREATE TABLE seat (id uuid DEFAULT gen_random_uuid(), row int NOT NULL, guest text,
                  CONSTRAINT seat_row_uidx PRIMARY KEY (id))
                """
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                let plan = try await MigrationOf.plan(schema, pool, .rewrites)
                #expect(plan.steps.isEmpty && plan.refused.count == 1, "\(plan)")
                #expect(plan.refused[0].message.hasSuffix("it belongs to the primary key"))
            }
        }

        /// A replacement built with `--force` but not exchanged waits for the next run, as long as the schema wants it.
        @Test func finishedReplacementsWaitForTheNextRun() async throws {
            let schema = try MigrationOf.schema(Self.seat)
            let tables = Self.seats("UNIQUE (row, guest)")
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                struct BrokenOff: Error {}
                let step = try #require(try await MigrationOf.plan(schema, pool, .rewrites).steps.first)
                await #expect(throws: BrokenOff.self) {
                    try await IndexBuilds.run(step, pool) { if case .together = $0 { throw BrokenOff() } }
                }
                let plain = try await MigrationOf.plan(schema, pool)
                #expect(plain.steps.isEmpty && plain.refused.count == 1, "\(plain)")
                #expect(
                    plain.refused[0].message.hasSuffix(
                        "; its replacement is built and waits for migrate --force --concurrently"))
                #expect(plain.refused[0].isBuilt)
                // Now the schema wants another definition.
                let other = try await MigrationOf.plan(
                    try MigrationOf.schema(
                        "type Seat @table { row: Int! @index(name: \"seat_row_uidx\") guest: String }"),
                    pool)
                #expect(
                    other.steps.map(\.summary) == [
                        "drop index seat_row_uidx_freshet_new, left by an interrupted migration"
                    ])
                let forced = try #require(try await MigrationOf.plan(schema, pool, .rewrites).steps.first)
                #expect(!forced.concurrentSQL.contains { $0.contains("CONCURRENTLY") }, "\(forced.concurrentSQL)")
                #expect(
                    forced.concurrentNotes == [
                        #"index "seat_row_uidx_freshet_new" of "public"."seat" is used as it is"#
                    ])
                #expect(try await IndexBuilds.run(forced, pool) == forced.concurrentSQL)
                #expect(try await MigrationOf.plan(schema, pool).isUpToDate)
            }
        }

        private static let visits = """
            CREATE SCHEMA attic;
            CREATE TABLE visit (site int, at timestamptz, page text, PRIMARY KEY (site, at)) PARTITION BY LIST (site);
            CREATE TABLE visit_one PARTITION OF visit FOR VALUES IN (1);
            CREATE TABLE attic.visit_rest PARTITION OF visit DEFAULT PARTITION BY RANGE (at);
            CREATE TABLE "visit Old" PARTITION OF attic.visit_rest DEFAULT;
            INSERT INTO visit VALUES (1, now(), 'a'), (2, now(), 'b');

            """

        private static func visit(_ page: String) throws -> Schema {
            try MigrationOf.schema(
                "type Visit @table(key: [\"site\", \"at\"]) { site: Int! at: Timestamp! page: String \(page) }")
        }

        /// Also those that are parts of an index of a partition, and whatever their names.
        @Test func thePlanNamesWhatIsTakenAsItStands() async throws {
            let schema = try Self.visit("@index")
            let own = """
                CREATE INDEX own_page ON visit_one (page DESC); CREATE INDEX rest_page ON attic.visit_rest (page);
                CREATE INDEX partial ON "visit Old" (page) WHERE page > 'b'
                """
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(Self.visits + own) }) { pool in
                let step = try #require(try await MigrationOf.plan(schema, pool).steps.first)
                #expect(
                    step.concurrentNotes == [
                        #"index "own_page" of "public"."visit_one" is used as it is"#,
                        #"index "visit Old_page_idx" of "public"."visit Old" is used as it is"#,
                    ])
                #expect(try await IndexBuilds.run(step, pool) == step.concurrentSQL)
                #expect(step.concurrentSQL.count == 1, "\(step.concurrentSQL)")
            }
        }

        /// Parts are for the next build of their index, while there may be one.
        @Test func partsOfUnwantedReplacementsAreDropped() async throws {
            let wanted = try Self.visit("@index(name: \"visit_idx\")")
            let former = "CREATE INDEX visit_idx ON visit (at)"
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(Self.visits + former) }) { pool in
                let parts = "relname ~ 'freshet_new.*_part$'"
                struct BrokenOff: Error {}
                let step = try #require(try await MigrationOf.plan(wanted, pool, .rewrites).steps.first)
                await #expect(throws: BrokenOff.self) {
                    try await IndexBuilds.run(step, pool) { if case .together = $0 { throw BrokenOff() } }
                }
                let built = try await Self.names(pool, parts)
                #expect(built == ["visit_idx_freshet_new_visit Old_part", "visit_idx_freshet_new_visit_one_part"])
                #expect(try await MigrationOf.plan(wanted, pool).steps.isEmpty)
                #expect(try await MigrationOf.plan(wanted, pool, .rewrites).steps[0].concurrentNotes.count == 2)

                // The schema went back, or has no index of the name any more.
                let back = try MigrationOf.schema(
                    """
                    type Visit @table(key: ["site", "at"]) {
                      site: Int!
                      at: Timestamp! @index(name: "visit_idx")
                      page: String
                    }
                    """
                )
                for schema in [back, try Self.visit("@index(name: \"visit_else\")")] {
                    let drops = try await MigrationOf.plan(schema, pool).steps.map(\.summary).filter {
                        $0.hasPrefix("drop")
                    }
                    #expect(drops.sorted() == built.map { "drop index \($0), left by an interrupted migration" })
                }
                for step in try await MigrationOf.plan(back, pool).steps { try await IndexBuilds.run(step, pool) }
                #expect(try await Self.names(pool, parts).isEmpty)
                #expect(try await MigrationOf.plan(back, pool).isUpToDate)
            }
        }

        /// Its owner attaches what it lacks; none of its parts is dropped or built again.
        @Test func indexesThatArePutTogetherByHandAreLeftAlone() async throws {
            let schema = try Self.visit("@index")
            let hand = """
                CREATE INDEX visit_page_idx ON ONLY visit (page);
                CREATE INDEX one ON visit_one (page); ALTER INDEX visit_page_idx ATTACH PARTITION one
                """
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(Self.visits) }) { pool in
                let step = try #require(try await MigrationOf.plan(schema, pool).steps.first)
                try await pool.script(hand)
                for permissions in [Migration.Permissions.rewrites, []] {
                    let plan = try await MigrationOf.plan(schema, pool, permissions)
                    #expect(plan.steps.isEmpty && plan.refused.map(\.part) == ["visit_page_idx"], "\(plan)")
                    #expect(plan.refused[0].message.contains("created with ON ONLY"))
                    #expect(plan.refused[0].suggestion?.contains("ATTACH PARTITION") == true)
                }
                // It came after the plan.
                let refused = await #expect(throws: IndexBuilds.Refused.self) { try await IndexBuilds.run(step, pool) }
                #expect(refused?.reason.contains("created with ON ONLY") == true)
                try await pool.script(
                    """
                    CREATE INDEX rest ON attic.visit_rest (page); ALTER INDEX visit_page_idx ATTACH PARTITION
                    attic.rest
                    """
                )
                #expect(try await MigrationOf.plan(schema, pool).isUpToDate)

                // A replacement has a name that nothing else has.
                try await pool.script("CREATE INDEX visit_page_idx_freshet_new ON ONLY visit (at)")
                #expect(
                    try await MigrationOf.plan(schema, pool).steps.map(\.summary) == [
                        "drop index visit_page_idx_freshet_new, left by an interrupted migration"
                    ])
            }
        }
    }
}
