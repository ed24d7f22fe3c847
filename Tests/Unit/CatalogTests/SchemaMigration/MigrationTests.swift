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

    @Test func tablesAreCreatedWithAllTheirParts() {
        let sql = statements(
            #"""
            type Novel @table(name: "The \"Novels\"") {
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
                CREATE TABLE IF NOT EXISTS "public"."The ""Novels""" (
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

    @Test func otherPostgresSchemasAreCreatedAndNamed() {
        let sql = statements("enum E { X }\ntype A @table { e: E }", in: "app")
        #expect(sql.first == "CREATE SCHEMA IF NOT EXISTS \"app\"")
        #expect(sql.last?.contains("\"e\" \"app\".\"e\"") == true)
    }

    @Test func setNullLeavesRequiredColumnsAlone() {
        let sql = statements(
            """
            type Tenant @table { n: Int }
            type Person @table(key: ["tenant", "no"]) {
              tenant: Tenant! no: Int!
              boss: Person @ref(fields: ["tenantId", "bossNo"])
              bossNo: Int
            }
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
                name: "novel",
                columns: [
                    .init(name: "id", type: "uuid", isNullable: false, defaultSQL: "gen_random_uuid()"),
                    .init(name: "title", type: "text", isNullable: false, defaultSQL: nil),
                    .init(name: "mood", type: "mood", isNullable: true, defaultSQL: nil),
                    .init(name: "binder_id", type: "uuid", isNullable: true, defaultSQL: nil),
                ], key: ["id"],
                indexes: [
                    .init(
                        name: "taken", columns: ["title", "id"], descending: [false, false], method: "btree",
                        isUnique: false),
                    .init(
                        name: "novel_binder_id_idx", columns: ["binder_id"], descending: [false], method: "btree",
                        isUnique: false),
                ],
                foreignKeys: [
                    .init(
                        name: "novel_binder_id_fkey", columns: ["binder_id"], targetTable: "binder",
                        targetColumns: ["id"], deleteRule: "SET NULL")
                ]),
            .init(
                name: "binder",
                columns: [.init(name: "id", type: "uuid", isNullable: false, defaultSQL: "gen_random_uuid()")],
                key: ["id"],
                indexes: [], foreignKeys: []),
        ], enums: ["mood": ["GOOD", "BAD"]])

    private func plan(
        _ novel: String, rest: String = "type Binder @table", moods: String = "GOOD BAD",
        allowing permissions: Migration.Permissions = []
    ) -> MigrationPlan {
        Migration.plan(
            compileSchema("\(novel)\n\(rest)\nenum Mood { \(moods) }"), existing: before, allowing: permissions)
    }

    private static let same = "type Novel @table { title: String! mood: Mood binder: Binder }"

    @Test func aDatabaseThatFitsNeedsNoSteps() {
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

    @Test func newColumnsTablesAndIndexesAreAdded() {
        let plan = plan(
            """
            type Novel @table {
              title: String! @unique mood: Mood
              binder: Binder! @index(name: "other")
              tagline: String
              year: Int! @default(value: 1)
              maker: Maker
            }
            """,
            rest: "type Binder @table { name: String }\ntype Maker @table { name: String! @unique }",
            moods: "GOOD FINE BAD UGLY")
        #expect(
            plan.steps.map(\.summary) == [
                "add value FINE to enum mood", "add value UGLY to enum mood", "add column novel.tagline",
                "add column novel.year", "add column novel.maker_id", "add column binder.name", "create table maker",
                "create unique index novel_title_uidx", "create index novel_maker_id_idx",
                "create unique index maker_name_uidx", "change foreign key novel_binder_id_fkey to ON DELETE CASCADE",
                "add foreign key novel_maker_id_fkey",
            ])
        #expect(plan.steps[0].sql == "ALTER TYPE \"public\".\"mood\" ADD VALUE IF NOT EXISTS 'FINE' AFTER 'GOOD'")
        #expect(plan.steps[0].needsOwnTransaction && !plan.steps[2].needsOwnTransaction)
        // The reference became required, but rows may hold null.
        #expect(plan.refused.map(\.part) == ["binder_id"])
    }

    @Test func changesThatCouldLoseDataAreRefused() {
        func refused(_ novel: String, rest: String = "type Binder @table") -> [String] {
            let plan = plan(novel, rest: rest)
            // A refused column is not built on.
            #expect(plan.steps.allSatisfy { !$0.sql.contains("\"need\"") && !$0.sql.contains("(\"title\")") })
            return plan.refused.map { "\($0.part ?? "-"): \($0.message)" }
        }
        #expect(
            refused("type Novel @table { title: Int! @index mood: Mood binder: Binder }")
                == ["title: column \"title\" is text, but the schema requires integer"])
        #expect(
            refused("type Novel @table { title: String! mood: Mood! binder: Binder }")
                == ["mood: column \"mood\" is required in the schema, but rows may have null"])
        #expect(
            refused("type Novel @table { title: String! mood: Mood binder: Binder need: String! @unique }")
                == ["need: column \"need\" is new and required, but existing rows have no value for it"])
        #expect(
            refused("type Novel @table(key: \"title\") { id: UUID! title: String! mood: Mood binder: Binder }")
                == ["-: the key is (id), but the schema requires (title)"])
        #expect(
            refused("type Novel @table { title: String! mood: Mood @index(name: \"taken\") binder: Binder }")
                == ["taken: index \"taken\" exists with another definition"])
        #expect(
            refused(
                """
                type Novel @table {
                  title: String!
                  mood: Mood
                  binder: Binder @ref(constraintName: "x")
                  other: Binder @ref(constraintName: "novel_binder_id_fkey")
                }
                """)
                == ["novel_binder_id_fkey: constraint \"novel_binder_id_fkey\" exists with another definition"])
    }

    @Test func refusedChangesAreMadeWhenAllowed() {
        let novel = """
            type Novel @table {
              title: Int! @default(value: 3)
              mood: Mood! @index(name: "taken")
              need: String! @unique
              binder: Binder @ref(constraintName: "x")
              other: Binder @ref(constraintName: "novel_binder_id_fkey")
            }
            """
        let refused = plan(novel).refused
        #expect(refused.map(\.part) == ["title", "mood", "need", "taken", "novel_binder_id_fkey"])
        #expect(refused.allSatisfy { $0.permission == .rewrites })
        #expect(plan(novel, allowing: .drops).refused == refused)
        let forced = plan(novel, allowing: .rewrites)
        #expect(forced.refused.isEmpty)
        #expect(
            forced.steps.map(\.summary) == [
                "change type of novel.title from text to integer", "make column novel.mood required",
                "add column novel.need", "add column novel.other_id", "create unique index novel_need_uidx",
                "create index novel_other_id_idx", "replace index taken",
                "replace foreign key novel_binder_id_fkey",
            ])
        #expect(
            forced.steps.first?.sql == """
                ALTER TABLE "public"."novel" ALTER COLUMN "title" TYPE integer USING "title"::integer, \
                ALTER COLUMN "title" SET DEFAULT '3'::integer
                """)
        #expect(
            forced.losses.map(\.object) == [
                "novel.title", "novel.mood", "novel.need", "novel.taken", "novel.novel_binder_id_fkey",
            ])
        #expect(
            forced.losses.prefix(3).map(\.countSQL) == [
                #"SELECT count(*) FROM "public"."novel" WHERE "title" IS NOT NULL"#,
                #"SELECT count(*) FROM "public"."novel" WHERE "mood" IS NULL"#,
                #"SELECT count(*) FROM "public"."novel""#,
            ])
        // Keys and sequences never.
        let key = plan(
            "type Novel @table(key: \"title\") { id: UUID! title: String! mood: Mood binder: Binder }",
            allowing: [.rewrites, .drops])
        #expect(key.refused.count == 1 && key.refused[0].permission.isEmpty)
    }

    @Test func extrasAreDroppedWhenThatIsAllowed() {
        let schema = compileSchema("type Novel @table { mood: Mood }\nenum Mood { GOOD BAD }")
        let plan = Migration.plan(schema, existing: before, allowing: .drops)
        #expect(plan.drift.isEmpty)
        #expect(
            plan.steps.map(\.sql) == [
                #"ALTER TABLE "public"."novel" DROP COLUMN IF EXISTS "title""#,
                #"ALTER TABLE "public"."novel" DROP COLUMN IF EXISTS "binder_id""#,
                #"DROP TABLE IF EXISTS "public"."binder""#,
            ])
        #expect(plan.losses.map(\.object) == ["novel.title", "novel.binder_id", "binder"])
        #expect(plan.losses.last?.countSQL == #"SELECT count(*) FROM "public"."binder""#)
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

    /// A view in a table's place has its own indexes, or none.
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
        let plan = plan("type Novel @table { title: String mood: Mood binder: Binder }")
        #expect(plan.steps.map(\.sql) == ["ALTER TABLE \"public\".\"novel\" ALTER COLUMN \"title\" DROP NOT NULL"])
    }

    @Test func partsThatLeftTheSchemaAreReportedInEveryRun() {
        let plan = plan("type Novel @table { title: String! mood: Mood }", moods: "GOOD")
        #expect(plan.notices.map(\.part) == ["BAD", "binder_id"])
        #expect(plan.notices.allSatisfy { $0.suggestion == nil })
    }

    @Test func probableRenamesAreSuggested() throws {
        let plan = plan(
            "type Novel @table { name: String mood: Mood folder: Binder }", moods: "GOOD SAD",
            allowing: [])
        let suggestions = plan.notices.compactMap(\.suggestion)
        #expect(suggestions.count == 3, "\(plan.notices)")
        #expect(suggestions[0].hasSuffix(#"ALTER TYPE "public"."mood" RENAME VALUE 'BAD' TO 'SAD'"#))
        #expect(suggestions[1].hasSuffix(#"ALTER TABLE "public"."novel" RENAME COLUMN "title" TO "name""#))
        #expect(suggestions[2].hasSuffix(#"RENAME COLUMN "binder_id" TO "folder_id""#))
        let required = self.plan("type Novel @table { name: String! mood: Mood binder: Binder }")
        #expect(required.refused.first?.suggestion?.hasSuffix(#"RENAME COLUMN "title" TO "name""#) == true)
        let two = self.plan("type Novel @table { name: String other: String mood: Mood binder: Binder }")
        #expect(two.notices.first { $0.part == "title" }?.suggestion?.contains("RENAME") != true)
        let table = Migration.plan(
            compileSchema("type Folder @table { id: UUID! }\nenum Mood { GOOD BAD }"), existing: before)
        #expect(
            table.notices.first { $0.object == "binder" }?.suggestion?
                .hasSuffix(#"ALTER TABLE "public"."binder" RENAME TO "folder""#) == true, "\(table.drift)")
    }

    @Test func rowsThatDoNotFitAreNamedByKeyAndValue() {
        let schema = compileSchema(
            "type Novel @table @unique(fields: [\"title\", \"year\"]) { title: String! year: Int }")
        #expect(
            UnfitRows.withNull(in: "title", of: "novel", schema)
                == #"SELECT concat_ws(', ', 'id ' || "id"::text) FROM "novel" WHERE "title" IS NULL"#
                + #" ORDER BY "id" LIMIT 5"#
        )
        let alike = UnfitRows.alike(by: "novel_title_year_uidx", of: "novel", schema)
        #expect(alike?.contains(#"GROUP BY "title", "year" HAVING count(*) > 1"#) == true, "\(alike ?? "none")")
        #expect(UnfitRows.withNull(in: "tilte", of: "novel", schema) == nil)
        #expect(UnfitRows.alike(by: "other", of: "novel", schema) == nil)
    }

    @Test func driftIsListedAndLeftAlone() {
        let plan = Migration.plan(
            compileSchema("type Novel @table { mood: Mood }\nenum Mood { BAD GOOD }"), existing: before)
        #expect(plan.isUpToDate)
        #expect(plan.drift.map(\.object) == ["mood", "novel", "novel", "binder"])
        #expect(plan.drift.map(\.part) == [nil, "title", "binder_id", nil])
        // A required column that the schema lacks makes inserts fail; an optional one is only untidy.
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
    func defaultsAreComparedByValue(_ wanted: String, _ found: String, _ type: ColumnType, _ isSame: Bool) {
        #expect(DefaultText.mayBeSame(wanted, found, as: type) == isSame)
    }
}

@Suite("Reading a database's description")
struct MigrationDescriptionTests {
    @Test func descriptionsOfDatabasesAreRead() throws {
        let description = try DatabaseDescription(
            parsing: """
                {"tables": [{"name": "t", "columns": [{"name": "a", "type": "text", "nullable": true, "default": null}],
                  "key": ["a"], "indexes": [{"name": "i", "columns": ["a"], "descending": [true], \
                  "method": "btree", "unique": true,
                    "operatorClasses": ["text_ops"], "expression": null, "predicate": "(a > 'b')", "uses": ["a", "b"],
                    "replicaIdentity": false, "clustered": true}],
                  "foreignKeys": [{"name": "f", "columns": ["a"], "target": "u", "targetColumns": ["b"], \
                  "onDelete": "CASCADE",
                    "onUpdate": "NO ACTION", "fullMatch": false, "deferrable": true, "deferred": true, \
                    "unchecked": false}]}],
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
    func malformedDescriptionsAreRefused(_ text: String) {
        #expect(throws: DatabaseDescription.FormatError.self) { try DatabaseDescription(parsing: text) }
    }
}
