import Catalog
import Execution
import JSON
import Migrations
import Postgres
import QuerySQL
import SchemaMigration
import SchemaModel
import Testing

extension Language {
    /// A migrated schema needs no further migration.
    @Suite struct Migrations {
        @Test func nothingIsLeftToDo() async throws {
            let running = try #require(LanguageServer.current)
            let found = try await running.pool.databaseDescription()
            #expect(found.views == ["long_title"])
            let expressions = found.table(named: "novel")?.indexes.filter { $0.expression != nil }
            #expect(expressions?.map(\.name) == ["novel_search_idx"])
            let plan = Migration.plan(
                try LanguageSchema.catalog("query Q { people { name } }").schema, existing: found)
            #expect(plan.isUpToDate && plan.drift.isEmpty, "\(plan)")
        }

        /// A partitioned table without partitions; one with a foreign table below a partition; tables partitioned by an
        /// expression or by a column that the unique index lacks.
        @Test func tablesWithoutPartitionsOrWithForeignOnes() async throws {
            let schema = try MigrationOf.schema(
                ["Hollow", "Abroad", "Computed", "Narrow"].map {
                    """
                    type \($0) @table(key: ["site"]) @unique(fields: ["site", "page"]) {
                      site: Int!
                      page: String @index @searchable
                      day: Date
                    }

                    """
                }.joined())
            let tables = """
                CREATE TABLE hollow (site int PRIMARY KEY, page text, day date) PARTITION BY LIST (site);
                CREATE TABLE abroad (site int NOT NULL, page text, day date) PARTITION BY LIST (site);
                CREATE TABLE abroad_one PARTITION OF abroad FOR VALUES IN (1);
                CREATE FOREIGN DATA WRAPPER nothing;
                CREATE SERVER elsewhere FOREIGN DATA WRAPPER nothing;
                CREATE TABLE abroad_rest PARTITION OF abroad DEFAULT PARTITION BY RANGE (site);
                CREATE TABLE abroad_three PARTITION OF abroad_rest FOR VALUES FROM (3) TO (4);
                CREATE FOREIGN TABLE abroad_four PARTITION OF abroad_rest FOR VALUES FROM (4) TO (5) SERVER elsewhere;
                CREATE TABLE computed (site int NOT NULL, page text, day date) PARTITION BY HASH ((site + 1));
                CREATE TABLE narrow (site int NOT NULL, page text, day date) PARTITION BY RANGE (site);
                CREATE TABLE narrow_rest PARTITION OF narrow DEFAULT PARTITION BY RANGE (day)
                """
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                func plan() async throws -> MigrationPlan {
                    return Migration.plan(
                        schema, existing: try await pool.databaseDescription())
                }
                let first = try await plan()
                func refusal(_ table: String) -> String? {
                    first.refused.first { $0.object == table && $0.part != nil }?.message
                }
                #expect(refusal("abroad")?.hasSuffix("its partition \"abroad_four\" is a foreign table") == true)
                #expect(refusal("computed")?.hasSuffix("it is partitioned by an expression") == true)
                #expect(refusal("narrow")?.contains("it is partitioned by \"day\"") == true)
                #expect(refusal("hollow") == nil)
                #expect(first.steps.count == 9, "\(first.steps)")
                for step in first.steps {
                    let run = try await IndexBuilds.run(step, pool)
                    let isAbroad = step.summary == "create index abroad_page_idx"
                    #expect(run.count == (isAbroad ? 3 : step.summary.contains("narrow") ? 1 : run.count), "\(run)")
                }
                let valid = try await pool.query(
                    "SELECT indisvalid FROM pg_index WHERE indexrelid = 'abroad_page_idx'::regclass")
                #expect(valid.rows.first?.bool(0) == true)
                #expect(try await plan().steps == [])
            }
        }

        /// A table whose name a partition elsewhere has is a table like any other.
        @Test func partitionsAreKnownByTheirSchemaToo() async throws {
            let schema = try LanguageSchema.catalog("query Q { people { name } }").schema
            let tables = """
                CREATE SCHEMA attic;
                CREATE TABLE past (site int) PARTITION BY LIST (site);
                CREATE TABLE attic.old PARTITION OF past DEFAULT;
                CREATE TABLE public.old (site int)
                """
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                let found = try await pool.databaseDescription()
                let plan = Migration.plan(schema, existing: found)
                #expect(Set(plan.drift.map(\.object)).isSuperset(of: ["past", "old"]), "\(plan.drift)")
            }
        }

        @Test func aTypeThatTheDatabaseLacksIsRefusedAndNamesItsField() async throws {
            let schema = try MigrationOf.schema(
                "type Part @table { size: Int @col(dataType: \"Size_Range\") }")
            try await LanguageServer.withOwnDatabase(fill: { _ in }) { pool in
                let refused = try await MigrationOf.plan(schema, pool).refused
                #expect(refused.map(\.object) == ["part"] && refused.first?.message.contains("\"Part.size\"") == true)
                try await pool.script("CREATE DOMAIN size_range AS integer CHECK (VALUE > 0)")
                #expect(try await MigrationOf.plan(schema, pool).refused.isEmpty)
                try await pool.script(
                    "CREATE TABLE part (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), size public.size_range)")
                let qualified = try MigrationOf.schema(
                    "type Part @table { size: Int @col(dataType: \"public.size_range\") }")
                for schema in [schema, qualified] {
                    let plan = try await MigrationOf.plan(schema, pool)
                    #expect(plan.isUpToDate, "\(plan)")
                }
            }
        }

        @Test func typesWithParametersAreComparedAsPostgresPrintsThem() async throws {
            let types = [
                "bit(8)", "bit", "varbit(5)", "bit varying", "interval(3)", "interval(9)", "interval year to month",
                "interval day to second(2)", "interval minute", "time(3)", "timetz(0)", "time(9) with time zone",
                "varchar(4)", "national character varying(4)", "nchar(4)", "char", "numeric(10,2)", "dec(9)",
                "float(24)", "float(25)", "timestamp(3)", "timestamptz(7)", "bpchar", "bpchar(4)",
            ]
            let natives = [
                ("Float", "float(24)"), ("Float", "float(53)"), ("Float", "float"), ("Float", "numeric(3,1)"),
                ("Int", "float(53)"), ("Timestamp", "timestamptz(3)"), ("Timestamp", "timestamp(0)"),
                ("Timestamp", "timestamp(9) with time zone"), ("[Float!]", "float(53)"), ("[String!]", "bit(3)"),
                ("[String!]", "bpchar"),
            ]
            let columns = (types.map { ("String", $0) } + natives).enumerated().map {
                "c\($0.offset): \($0.element.0) @col(dataType: \"\($0.element.1)\")"
            }
            let schema = try MigrationOf.schema("type Part @table { \(columns.joined(separator: "\n")) }")
            try await LanguageServer.withOwnDatabase(fill: { pool in
                try await pool.script(Migration.create(schema).map(\.sql).joined(separator: ";\n"))
            }) { pool in
                let plan = try await MigrationOf.plan(schema, pool)
                #expect(plan.isUpToDate && plan.drift.isEmpty, "\(plan)")
            }
        }

        @Test func anArrayBecomesOneJSONValue() async throws {
            let before = try MigrationOf.schema("type Part @table { tags: [String!] extras: [Any!] }")
            let after = try MigrationOf.schema(
                """
                type Part @table { tags: [String!] @col(dataType: "jsonb") extras: [Any!] @col(dataType: "json") }
                """)
            try await LanguageServer.withOwnDatabase(fill: { pool in
                try await pool.script(Migration.create(before).map(\.sql).joined(separator: ";\n"))
                try await pool.script(#"INSERT INTO part (tags, extras) VALUES ('{a,"b c"}', '{"1","{}"}')"#)
            }) { pool in
                let plan = try await MigrationOf.plan(after, pool, .rewrites)
                #expect(plan.refused.isEmpty && plan.steps.count == 2, "\(plan)")
                try await pool.script(plan.steps.map(\.sql).joined(separator: ";\n"))
                let found = try await pool.query(Statement("SELECT tags::text || extras::text FROM part"))
                #expect(found.rows.first?.string(0) == #"["a", "b c"][1, {}]"#)
                #expect(try await MigrationOf.plan(after, pool).isUpToDate)
            }
        }

        /// `IF NOT EXISTS` compares names only: another relation with the name of an index is reported, not ignored.
        @Test func takenNamesAreReported() async throws {
            let schema = try MigrationOf.schema(
                """
                type Note @table { text: String @index size: Int @index @unique day: Date @index }
                """)
            let tables = """
                CREATE TABLE note (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), text text, size int, day date);
                CREATE TABLE other (n int);
                CREATE INDEX note_text_idx ON other (n);
                CREATE INDEX note_size_idx ON note (size) WHERE size > 5;
                CREATE SEQUENCE note_day_idx
                """
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                func plan(_ permissions: Migration.Permissions) async throws -> MigrationPlan {
                    let found = try await pool.databaseDescription()
                    return Migration.plan(schema, existing: found, allowing: permissions)
                }
                let refused = try await plan([]).refused
                #expect(
                    refused.first { $0.part == "note_text_idx" }?.suggestion?.hasPrefix("ALTER INDEX") == true)
                // A sequence is not renamed like an index.
                #expect(refused.contains { $0.part == "note_day_idx" && $0.suggestion == nil })
                let messages = refused.map(\.message)
                #expect(
                    messages.contains("the index name \"note_text_idx\" is already used by an index of \"other\""),
                    "\(messages)"
                )
                #expect(messages.contains("the index name \"note_day_idx\" is already used by another relation"))
                #expect(messages.contains("index \"note_size_idx\" exists with another definition"))
                #expect(messages.count == 3)
                let forced = try await plan(.rewrites)
                #expect(forced.refused.count == 2)
                #expect(forced.steps.map(\.summary).contains("replace index note_size_idx"), "\(forced.steps)")

                // An index of that name on another table does not belong to this one; the error names it.
                let step = try #require(
                    Migration.create(schema).first { $0.summary == "create index note_text_idx" })
                let taken = await #expect(throws: PostgresError.self) { try await IndexBuilds.run(step, pool) }
                #expect(taken?.sqlState == "42P07" && taken?.message.contains("note_text_idx") == true)
                try await pool.script("DROP INDEX note_text_idx")
                #expect(try await IndexBuilds.run(step, pool).count == 1)
                #expect(try await IndexBuilds.run(step, pool) == [])
            }
        }

        /// A `@table` that is a materialized view, indexes included, is taken as it is.
        @Test func materializedViewsKeepTheirIndexes() async throws {
            let schema = try MigrationOf.schema(
                "type Tally @table(key: [\"site\"]) { site: Int! page: String @index }")
            let tables = """
                CREATE MATERIALIZED VIEW tally AS SELECT 1 AS site, 'a'::text AS page;
                CREATE UNIQUE INDEX tally_site ON tally (site);
                CREATE INDEX tally_page_idx ON tally (page)
                """
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                let found = try await pool.databaseDescription()
                let plan = Migration.plan(schema, existing: found)
                #expect(found.relations["tally_page_idx"] == "tally")
                #expect(plan.refused.isEmpty && plan.steps.isEmpty, "\(plan)")
            }
        }

        /// Searches use the index.
        @Test func searchesUseTheirIndex() async throws {
            try await LanguageServer.withOwnDatabase { pool in
                let call = try LanguageSchema.operation(
                    #"query Q($q: String!) { novels_search(query: $q) { title } }"#
                ).queryCall(variables: ["q": "rain"], auth: nil, nowMs: requestMs)
                let lines = try await pool.withSession { session in
                    _ = try await session.execute("SET enable_seqscan = off")
                    return try await session.execute(
                        Statement("EXPLAIN " + call.statement.single), call.parameters.map { Parameter($0) })
                }
                #expect(lines.rows.contains { $0.string(0)?.contains("novel_search_idx") == true })
            }
        }
    }
}
