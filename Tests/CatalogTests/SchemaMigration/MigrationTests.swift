import Testing
@testable import SchemaMigration
@testable import SchemaModel

@Suite("Creating a database")
struct MigrationCreateTests {
    private func statements(_ sdl: String, in namespace: String = "public") -> [String] {
        Migration.create(compileSchema(sdl), in: namespace).map(\.sql)
    }

    @Test func tablesBeforeIndexesBeforeForeignKeys() {
        let summaries = Migration.create(
            compileSchema("type B @table { a: A! e: E @index }\ntype A @table { b: B n: Int @unique }\nenum E { X }")
        ).map(\.summary)
        #expect(
            summaries == [
                "create enum e", "create table b", "create table a", "create unique index a_n_uidx",
                "create index b_e_idx", "create index b_a_id_idx", "create index a_b_id_idx",
                "add foreign key b_a_id_fkey", "add foreign key a_b_id_fkey",
            ])
    }

    @Test func tableDefinition() {
        let sql = statements(
            #"""
            type Movie @table(name: "The \"Movies\"") {
              title: String! @default(value: "it's")
              number: Int! @col(name: "No", dataType: "serial")
              at: Timestamp! @default(expr: "request.time")
              by: String @default(expr: "auth.uid")
              low: String @default(sql: "lower('X')")
              tags: [String] @default(value: ["a\"b"])
            }
            """#)
        #expect(
            sql == [
                #"""
                CREATE TABLE IF NOT EXISTS "public"."The ""Movies""" (
                    "id" uuid NOT NULL DEFAULT gen_random_uuid(),
                    "title" text NOT NULL DEFAULT 'it''s'::text,
                    "No" serial NOT NULL,
                    "at" timestamp with time zone NOT NULL DEFAULT now(),
                    "by" text,
                    "low" text DEFAULT (lower('X')),
                    "tags" text[] DEFAULT E'{"a\\"b"}'::text[],
                    PRIMARY KEY ("id")
                )
                """#
            ])
    }

    @Test func anotherPostgresSchema() {
        let sql = statements("enum E { X }\ntype A @table { e: E }", in: "app")
        #expect(sql.first == "CREATE SCHEMA IF NOT EXISTS \"app\"")
        #expect(sql.last?.contains("\"e\" \"app\".\"e\"") == true)
    }

    @Test func setNullLeavesRequiredColumnsAlone() {
        let sql = statements(
            """
            type Tenant @table { n: Int }
            type Person @table(key: ["tenant", "no"]) { tenant: Tenant! no: Int! boss: Person @ref(fields: ["tenantId", "bossNo"]) bossNo: Int }
            """)
        #expect(
            sql.contains {
                $0.contains("REFERENCES \"public\".\"person\" (\"tenant_id\", \"no\") ON DELETE SET NULL (\"boss_no\")")
            })
    }

    @Test func dollarQuotesCannotBeClosedByNames() {
        let sql = statements("enum E { X }\ntype A @table(name: \"$freshet$\") { b: B }\ntype B @table { e: E }")
        #expect(sql.contains { $0.hasPrefix("DO $ffreshet$\n") && $0.hasSuffix("\n$ffreshet$") })
    }
}

@Suite("Planning a migration")
struct MigrationPlanTests {
    private let before = DatabaseDescription(
        tables: [
            .init(
                name: "movie",
                columns: [
                    .init(name: "id", type: "uuid", isNullable: false, defaultSQL: "gen_random_uuid()"),
                    .init(name: "title", type: "text", isNullable: false, defaultSQL: nil),
                    .init(name: "mood", type: "mood", isNullable: true, defaultSQL: nil),
                    .init(name: "studio_id", type: "uuid", isNullable: true, defaultSQL: nil),
                ], key: ["id"],
                indexes: [
                    .init(
                        name: "taken", columns: ["title", "id"], descending: [false, false], method: "btree",
                        isUnique: false),
                    .init(
                        name: "movie_studio_id_idx", columns: ["studio_id"], descending: [false], method: "btree",
                        isUnique: false),
                ],
                foreignKeys: [
                    .init(
                        name: "movie_studio_id_fkey", columns: ["studio_id"], targetTable: "studio",
                        targetColumns: ["id"], deleteRule: "SET NULL")
                ]),
            .init(
                name: "studio",
                columns: [.init(name: "id", type: "uuid", isNullable: false, defaultSQL: "gen_random_uuid()")],
                key: ["id"],
                indexes: [], foreignKeys: []),
        ], enums: ["mood": ["GOOD", "BAD"]])

    private func plan(
        _ movie: String, rest: String = "type Studio @table", moods: String = "GOOD BAD",
        allowing permissions: Migration.Permissions = []
    ) -> MigrationPlan {
        Migration.plan(
            compileSchema("\(movie)\n\(rest)\nenum Mood { \(moods) }"), existing: before, allowing: permissions)
    }

    private static let same = "type Movie @table { title: String! mood: Mood studio: Studio }"

    @Test func nothingToDo() {
        let plan = plan(Self.same)
        #expect(plan.isUpToDate && plan.drift.isEmpty, "\(plan)")
    }

    /// The nodes fill such a key, so a database from before that has no default, or another one, stays as it is.
    @Test(arguments: [nil, "uuid_generate_v4()"]) func aDeclaredKeyLeavesTheDefaultOfTheDatabase(_ found: String?) {
        let thing = DatabaseDescription.Table(
            name: "thing", columns: [.init(name: "id", type: "uuid", isNullable: false, defaultSQL: found)],
            key: ["id"], indexes: [], foreignKeys: [])
        let plan = Migration.plan(
            compileSchema("type Thing @table { id: UUID! }"),
            existing: DatabaseDescription(tables: [thing], enums: [:]), allowing: [.rewrites, .drops])
        #expect(plan.isUpToDate && plan.drift.isEmpty, "\(plan)")
    }

    @Test func additions() {
        let plan = plan(
            "type Movie @table { title: String! @unique mood: Mood studio: Studio! @index(name: \"other\") tagline: String year: Int! @default(value: 1) actor: Actor }",
            rest: "type Studio @table { name: String }\ntype Actor @table { name: String! @unique }",
            moods: "GOOD FINE BAD UGLY")
        #expect(
            plan.steps.map(\.summary) == [
                "add value FINE to enum mood", "add value UGLY to enum mood", "add column movie.tagline",
                "add column movie.year", "add column movie.actor_id", "add column studio.name", "create table actor",
                "create unique index movie_title_uidx", "create index movie_actor_id_idx",
                "create unique index actor_name_uidx", "change foreign key movie_studio_id_fkey to ON DELETE CASCADE",
                "add foreign key movie_actor_id_fkey",
            ])
        #expect(plan.steps[0].sql == "ALTER TYPE \"public\".\"mood\" ADD VALUE IF NOT EXISTS 'FINE' AFTER 'GOOD'")
        #expect(plan.steps[0].needsOwnTransaction && !plan.steps[2].needsOwnTransaction)
        // The reference became required, but rows may hold null.
        #expect(plan.refused.map(\.part) == ["studio_id"])
    }

    @Test func refusals() {
        func refused(_ movie: String, rest: String = "type Studio @table") -> [String] {
            let plan = plan(movie, rest: rest)
            // Nothing may be built on a refused column.
            #expect(plan.steps.allSatisfy { !$0.sql.contains("\"need\"") && !$0.sql.contains("(\"title\")") })
            return plan.refused.map { "\($0.part ?? "-"): \($0.message)" }
        }
        #expect(
            refused("type Movie @table { title: Int! @index mood: Mood studio: Studio }")
                == ["title: column \"title\" is text, the schema wants integer"])
        #expect(
            refused("type Movie @table { title: String! mood: Mood! studio: Studio }")
                == ["mood: column \"mood\" is required in the schema, but rows may hold null"])
        #expect(
            refused("type Movie @table { title: String! mood: Mood studio: Studio need: String! @unique }")
                == ["need: column \"need\" is new and required, and there is no value for the rows that exist"])
        #expect(
            refused("type Movie @table(key: \"title\") { id: UUID! title: String! mood: Mood studio: Studio }")
                == ["-: the key is (id), the schema wants (title)"])
        #expect(
            refused("type Movie @table { title: String! mood: Mood @index(name: \"taken\") studio: Studio }")
                == ["taken: index \"taken\" exists with another definition"])
        #expect(
            refused(
                """
                type Movie @table {
                  title: String!
                  mood: Mood
                  studio: Studio @ref(constraintName: "x")
                  other: Studio @ref(constraintName: "movie_studio_id_fkey")
                }
                """)
                == ["movie_studio_id_fkey: constraint \"movie_studio_id_fkey\" exists with another definition"])
    }

    @Test func whatIsRefusedIsDoneWhenItIsAllowed() {
        let movie = """
            type Movie @table {
              title: Int! @default(value: 3)
              mood: Mood! @index(name: "taken")
              need: String! @unique
              studio: Studio @ref(constraintName: "x")
              other: Studio @ref(constraintName: "movie_studio_id_fkey")
            }
            """
        let refused = plan(movie).refused
        #expect(refused.map(\.part) == ["title", "mood", "need", "taken", "movie_studio_id_fkey"])
        #expect(refused.allSatisfy { $0.permission == .rewrites })
        #expect(plan(movie, allowing: .drops).refused == refused)
        let forced = plan(movie, allowing: .rewrites)
        #expect(forced.refused.isEmpty)
        #expect(
            forced.steps.map(\.summary) == [
                "change type of movie.title from text to integer", "make column movie.mood required",
                "add column movie.need", "add column movie.other_id", "create unique index movie_need_uidx",
                "create index movie_other_id_idx", "replace index taken",
                "replace foreign key movie_studio_id_fkey",
            ])
        #expect(
            forced.steps.first?.sql == """
                ALTER TABLE "public"."movie" ALTER COLUMN "title" TYPE integer USING "title"::integer, \
                ALTER COLUMN "title" SET DEFAULT '3'::integer
                """)
        #expect(
            forced.losses.map(\.object) == [
                "movie.title", "movie.mood", "movie.need", "movie.taken", "movie.movie_studio_id_fkey",
            ])
        #expect(
            forced.losses.prefix(3).map(\.countSQL) == [
                #"SELECT count(*) FROM "public"."movie" WHERE "title" IS NOT NULL"#,
                #"SELECT count(*) FROM "public"."movie" WHERE "mood" IS NULL"#,
                #"SELECT count(*) FROM "public"."movie""#,
            ])
        // Keys and sequences never.
        let key = plan(
            "type Movie @table(key: \"title\") { id: UUID! title: String! mood: Mood studio: Studio }",
            allowing: [.rewrites, .drops])
        #expect(key.refused.count == 1 && key.refused[0].permission.isEmpty)
    }

    @Test func extrasAreDroppedWhenThatIsAllowed() {
        let schema = compileSchema("type Movie @table { mood: Mood }\nenum Mood { GOOD BAD }")
        let plan = Migration.plan(schema, existing: before, allowing: .drops)
        #expect(plan.drift.isEmpty)
        #expect(
            plan.steps.map(\.sql) == [
                #"ALTER TABLE "public"."movie" DROP COLUMN IF EXISTS "title""#,
                #"ALTER TABLE "public"."movie" DROP COLUMN IF EXISTS "studio_id""#,
                #"DROP TABLE IF EXISTS "public"."studio""#,
            ])
        #expect(plan.losses.map(\.object) == ["movie.title", "movie.studio_id", "studio"])
        #expect(plan.losses.last?.countSQL == #"SELECT count(*) FROM "public"."studio""#)
        #expect(Migration.plan(schema, existing: before, allowing: .rewrites).losses.isEmpty)
    }

    @Test func aSerialNeedsItsSequence() {
        let existing = DatabaseDescription(tables: [
            .init(
                name: "a", columns: [.init(name: "n", type: "integer", isNullable: false, defaultSQL: nil)], key: ["n"],
                indexes: [], foreignKeys: [])
        ])
        let plan = Migration.plan(
            compileSchema("type A @table(key: \"n\") { n: Int! @col(dataType: \"serial\") }"), existing: existing)
        #expect(plan.refused.map(\.part) == ["n"] && plan.steps.isEmpty)
    }

    /// What stands in a table's place has its own indexes, or none.
    @Test func indexesOfViewsAreNotCompared() {
        let schema = compileSchema(
            """
            type A @table { text: String @index @unique @searchable b: B @index(name: "own") }
            type B @table { text: String }
            """)
        var existing = DatabaseDescription()
        existing.views = ["a"]
        existing.relations = ["a": "a", "a_text_idx": "a", "own": "a"]
        let plan = Migration.plan(schema, existing: existing)
        #expect(plan.refused.isEmpty && plan.steps.map(\.summary) == ["create table b"], "\(plan)")
        #expect(plan.drift.map(\.object) == ["a"])
    }

    @Test func looseningIsDone() {
        let plan = plan("type Movie @table { title: String mood: Mood studio: Studio }")
        #expect(plan.steps.map(\.sql) == ["ALTER TABLE \"public\".\"movie\" ALTER COLUMN \"title\" DROP NOT NULL"])
    }

    @Test func driftIsListedAndLeftAlone() {
        let plan = Migration.plan(
            compileSchema("type Movie @table { mood: Mood }\nenum Mood { BAD GOOD }"), existing: before)
        #expect(plan.isUpToDate)
        #expect(plan.drift.map(\.object) == ["mood", "movie", "movie", "studio"])
        #expect(plan.drift.map(\.part) == [nil, "title", "studio_id", nil])
        // A required column nobody fills is more than untidy.
        #expect(plan.drift[1].message.contains("inserts will fail") && plan.drift[1].suggestion != nil)
        #expect(!plan.drift[2].message.contains("inserts will fail"))
        #expect(plan.drift.map(\.isHarmful) == [false, true, false, false])
    }

    @Test(arguments: [
        ("'5'::integer", "5", ColumnType(.int), true), ("'-5'::integer", "'-5'::integer", ColumnType(.int), true),
        ("'5'::integer", "6", ColumnType(.int), false),
        ("'true'::boolean", "true", ColumnType(.boolean), true),
        ("'true'::boolean", "false", ColumnType(.boolean), false),
        ("'1.5'::numeric(10,2)", "1.5::numeric(10,2)", ColumnType(.float), true),
        ("'O''Hara'::text", "'O''Hara'::text", ColumnType(.string), true),
        ("'a'::text", "'b'::text", ColumnType(.string), false),
        ("'a'::character varying(40)", "'a'::character varying", ColumnType(.string), true),
        ("'a'::text", "('a'::text || 'b'::text)", ColumnType(.string), false),
        ("'X'::\"public\".\"e\"", "'X'::e", ColumnType(.enumeration("E")), true),
        (
            "'550e8400e29b41d4a716446655440000'::uuid", "'550e8400-e29b-41d4-a716-446655440000'::uuid",
            ColumnType(.uuid), true
        ),
        ("(lower('ABC'))", "lower('ABC'::text)", ColumnType(.string), true),
        ("(lower('ABC'))", "lower('abc'::text)", ColumnType(.string), false),
        ("(NOW())", "now()", ColumnType(.timestamp), true), ("(a) + (b)", "(a) + (b)", ColumnType(.int), true),
        ("gen_random_uuid()", "uuid_generate_v4()", ColumnType(.uuid), false),
    ])
    func defaults(_ wanted: String, _ found: String, _ type: ColumnType, _ isSame: Bool) {
        #expect(DefaultText.mayBeSame(wanted, found, as: type) == isSame)
    }
}

@Suite("Reading a database's description")
struct MigrationDescriptionTests {
    @Test func parses() throws {
        let description = try DatabaseDescription(
            parsing: """
                {"tables": [{"name": "t", "columns": [{"name": "a", "type": "text", "nullable": true, "default": null}],
                  "key": ["a"], "indexes": [{"name": "i", "columns": ["a"], "descending": [true], "method": "btree", "unique": true,
                    "operatorClasses": ["text_ops"], "expression": null, "predicate": "(a > 'b')", "uses": ["a", "b"],
                    "replicaIdentity": false, "clustered": true}],
                  "foreignKeys": [{"name": "f", "columns": ["a"], "target": "u", "targetColumns": ["b"], "onDelete": "CASCADE",
                    "onUpdate": "NO ACTION", "fullMatch": false, "deferrable": true, "deferred": true, "unchecked": false}]}],
                 "enums": [{"name": "e", "values": ["A", "B"]}]}
                """)
        #expect(
            description.table(named: "t")?.columns == [
                .init(name: "a", type: "text", isNullable: true, defaultSQL: nil)
            ])
        #expect(description.table(named: "t")?.indexes.first?.descending == [true])
        #expect(description.table(named: "t")?.indexes.first?.operatorClasses == ["text_ops"])
        #expect(description.table(named: "t")?.indexes.first?.predicate == "(a > 'b')")
        #expect(description.table(named: "t")?.foreignKeys.first?.targetColumns == ["b"])
        #expect(description.table(named: "t")?.foreignKeys.first?.isDeferred == true)
        #expect(description.enums == ["e": ["A", "B"]])
    }

    @Test(arguments: [
        "", "[]", "{\"tables\": [{}], \"enums\": []}", "{\"tables\": []}",
        "{\"tables\": [], \"enums\": [{\"name\": \"e\", \"values\": [1]}]}",
    ])
    func refuses(_ text: String) {
        #expect(throws: DatabaseDescription.FormatError.self) { try DatabaseDescription(parsing: text) }
    }
}
