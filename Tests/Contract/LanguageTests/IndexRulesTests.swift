import Execution
import Postgres
import SchemaMigration
import SchemaModel
import Testing

extension Language {
    /// Guarantees of an index besides its speed, and parts of the schema that only an index definition shows, on a real
    /// Postgres.
    @Suite struct IndexRules {
        private static let post =
            "CREATE TABLE post (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), slug text, author text);"

        private static func run(_ plan: MigrationPlan, _ pool: PostgresPool, isConcurrent: Bool) async throws {
            if !isConcurrent { return try await IndexBuilds.runTogether(plan.steps, pool) }
            for step in plan.steps { try await IndexBuilds.run(step, pool) }
        }

        /// The index that kept a column unique gets other columns: the one that is to keep it so from now on comes
        /// first.
        @Test(
            arguments: [
                "CREATE UNIQUE INDEX post_idx ON post (slug)", "ALTER TABLE post ADD CONSTRAINT post_idx UNIQUE (slug)",
            ], [false, true])
        func theNewUniqueIndexIsBuiltBeforeTheReplacement(former: String, isConcurrent: Bool) async throws {
            let schema = try MigrationOf.schema(
                """
                type Post @table @unique(fields: ["slug"], indexName: "post_slug_uidx")
                  @index(name: "post_idx", fields: ["slug", "author"]) { slug: String author: String }
                """)
            let tables = Self.post + "INSERT INTO post (slug, author) VALUES ('a', 'b');" + former
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                #expect(try await MigrationOf.plan(schema, pool).refused.map(\.part) == ["post_idx"])
                let forced = try await MigrationOf.plan(schema, pool, .rewrites)
                #expect(
                    forced.steps.map(\.summary) == ["create unique index post_slug_uidx", "replace index post_idx"])
                #expect(forced.losses.map(\.message).allSatisfy { $0.hasPrefix("loses no rows and no rules; ") })
                try await Self.run(forced, pool, isConcurrent: isConcurrent)
                #expect(try await MigrationOf.plan(schema, pool).isUpToDate)
                let twice = "INSERT INTO post (slug, author) VALUES ('a', 'c')"
                await #expect(throws: PostgresError.self) { try await pool.script(twice) }
            }
        }

        /// Two that want each other's columns come in one run, too.
        @Test func indexesAreNotLostForARun() async throws {
            let schema = try MigrationOf.schema(
                """
                type Post @table @index(name: "post_a", fields: ["author"]) @index(name: "post_b", fields: ["slug"])
                  @index(name: "post_c", fields: ["author", "slug"]) { slug: String author: String }
                """)
            let tables = Self.post + "CREATE INDEX post_a ON post (slug); CREATE INDEX post_c ON post (author)"
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                let forced = try await MigrationOf.plan(schema, pool, .rewrites)
                #expect(
                    forced.steps.map(\.summary) == [
                        "create index post_b", "replace index post_a", "replace index post_c",
                    ])
                try await Self.run(forced, pool, isConcurrent: true)
                #expect(try await MigrationOf.plan(schema, pool).isUpToDate)
            }
        }

        /// Statements whose lock blocks readers run after all indexes are built.
        @Test func readersContinueWhileIndexesAreRebuilt() async throws {
            let schema = try MigrationOf.schema(
                #"""
                type Post @table @index(name: "post_idx", fields: ["slug", "author"])
                  @index(name: "post_own", fields: ["author", "slug"]) { slug: String author: String }
                """#)
            let tables = Self.post + "CREATE INDEX post_idx ON post (slug); CREATE INDEX post_own ON post (author)"
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                let steps = try await MigrationOf.plan(schema, pool, .rewrites).steps
                #expect(steps.count == 2 && steps.allSatisfy { $0.exchangeSQL != nil }, "\(steps)")
                try await pool.withSession { session in
                    try await session.begin()
                    for step in steps { try await session.script(step.sql) }
                    try await pool.script("SET LOCAL lock_timeout = '5s'; SELECT FROM post WHERE slug = 'a'")
                    for sql in SQLStatement.together(steps).dropFirst(steps.count) { try await session.script(sql) }
                    try await session.commit()
                }
                #expect(try await MigrationOf.plan(schema, pool).isUpToDate)
            }
        }

        /// Each serves what the other is called after: there is nothing to replace.
        @Test func namesMayBeTheOtherWayRound() async throws {
            let schema = try MigrationOf.schema(
                """
                type Post @table @index(name: "post_a", fields: ["author"]) @index(name: "post_b", fields: ["slug"]) {
                  slug: String
                  author: String
                }
                """)
            let tables =
                Self.post + "CREATE INDEX post_a ON post (slug); CREATE INDEX post_b ON post (author)"
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                let plan = try await MigrationOf.plan(schema, pool)
                #expect(plan.isUpToDate, "\(plan)")
            }
        }

        /// Postgres drops an index with every column that it holds or speaks of.
        @Test(arguments: [
            ("CREATE UNIQUE INDEX post_uidx ON post (slug) INCLUDE (old)", [String](), ""),
            ("ALTER TABLE post ADD CONSTRAINT post_uidx UNIQUE (slug) INCLUDE (old)", [], ""),
            ("CREATE UNIQUE INDEX own ON post (slug) INCLUDE (old)", ["create unique index post_uidx"], ""),
            (
                "CREATE UNIQUE INDEX own ON post (author, old)", ["create unique index post_uidx"],
                #", and rows are no longer kept unique by ("author", "old")"#
            ),
            (
                "CREATE UNIQUE INDEX own ON post (author) WHERE old > 'a'", ["create unique index post_uidx"],
                #", and rows are no longer kept unique by ("author") where (old > 'a'::text)"#
            ),
        ])
        func indexesThatGoWithAColumnAreSaid(former: String, created: [String], lost: String) async throws {
            let schema = try MigrationOf.schema(
                #"type Post @table @unique(fields: ["slug"], indexName: "post_uidx") { slug: String author: String }"#)
            let tables =
                Self.post + "ALTER TABLE post ADD old text; INSERT INTO post (slug) VALUES ('a');" + former
            let name = former.contains("own") ? "own" : "post_uidx"
            for isConcurrent in [false, true] {
                try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                    let plan = try await MigrationOf.plan(
                        schema, pool, isConcurrent ? [.drops, .concurrent] : .drops)
                    #expect(plan.refused.isEmpty, "\(plan)")
                    #expect(
                        plan.steps.map(\.summary)
                            == (created.isEmpty ? ["replace unique index post_uidx"] : created)
                            + ["drop column post.old"])
                    #expect(
                        plan.losses.map(\.message) == [
                            "drops the column with all its values; index \"\(name)\" is dropped with it\(lost)"
                        ])
                    try await Self.run(plan, pool, isConcurrent: isConcurrent)
                    let after = try await MigrationOf.plan(schema, pool)
                    #expect(after.isUpToDate && after.drift.isEmpty, "\(after)")
                    let twice = "INSERT INTO post (slug) VALUES ('a')"
                    await #expect(throws: PostgresError.self) { try await pool.script(twice) }
                }
            }
        }

        @Test func foreignKeysThatGoWithAColumnAreSaid() async throws {
            let schema = try MigrationOf.schema("type Post @table { slug: String author: String }")
            let tables =
                Self.post + "ALTER TABLE post ADD old uuid CONSTRAINT older REFERENCES post ON DELETE SET NULL"
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                let plan = try await MigrationOf.plan(schema, pool, .drops)
                #expect(
                    plan.losses.map(\.message) == [
                        #"drops the column with all its values; foreign key "older" is dropped with it"#
                    ], "\(plan)")
            }
        }

        /// A foreign key may refer to what is unique after the whole migration.
        @Test func foreignKeysComeAfterTheExchange() async throws {
            let schema = try MigrationOf.schema(
                """
                type Post @table @unique(fields: ["author"], indexName: "post_uidx") @unique(fields: ["slug"],
                  indexName: "slug_uidx") {
                  slug: String
                  author: String
                }
                type Note @table { post: Post @ref(fields: "postSlug", references: "slug") postSlug: String }
                """)
            let tables = Self.post + "CREATE UNIQUE INDEX post_uidx ON post (slug)"
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                let plan = try await MigrationOf.plan(schema, pool, .rewrites)
                try await Self.run(plan, pool, isConcurrent: false)
                let after = try await MigrationOf.plan(schema, pool)
                #expect(after.isUpToDate, "\(after)")
            }
        }

        /// Searches continue to work: Postgres drops their index with a field of theirs.
        @Test func searchesOutliveTheirColumns() async throws {
            func schema(_ further: String) throws -> Schema {
                try MigrationOf.schema("type Post @table { slug: String @searchable \(further) }")
            }
            try await LanguageServer.withOwnDatabase(
                fill: { pool in
                    for step in Migration.create(try schema("old: String @searchable")) {
                        try await pool.script(step.sql)
                    }
                },
                { pool in
                    let wanted = try schema("")
                    let plan = try await MigrationOf.plan(wanted, pool, .drops)
                    #expect(
                        plan.steps.map(\.summary) == ["replace search index post_search_idx", "drop column post.old"])
                    try await Self.run(plan, pool, isConcurrent: false)
                    let after = try await MigrationOf.plan(wanted, pool)
                    #expect(after.isUpToDate && after.drift.isEmpty, "\(after)")
                })
        }

        @Test func keysAreNotDroppedWithAColumn() async throws {
            let schema = try MigrationOf.schema("type Post @table { slug: String }")
            let tables =
                """
                CREATE TABLE post (id uuid DEFAULT gen_random_uuid(), slug text, old text, PRIMARY KEY (id) INCLUDE
                (old))
                """
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                #expect(try await MigrationOf.plan(schema, pool).drift.map(\.part) == ["old"])
                let plan = try await MigrationOf.plan(schema, pool, [.drops, .rewrites])
                #expect(plan.steps.isEmpty && plan.refused.map(\.part) == ["old"], "\(plan)")
                let advice = try #require(plan.refused.first?.suggestion)
                try await pool.script(advice)
                try await Self.run(try await MigrationOf.plan(schema, pool, .drops), pool, isConcurrent: false)
                let after = try await MigrationOf.plan(schema, pool)
                #expect(after.isUpToDate && after.drift.isEmpty, "\(after)")
            }
        }

        @Test(arguments: [
            (
                "CREATE UNIQUE INDEX post_idx ON post (slug)",
                #"rows are no longer kept unique by ("slug"); rebuilds the index"#
            ),
            (
                "CREATE UNIQUE INDEX post_idx ON post (slug) WHERE author IS NOT NULL",
                #"rows are no longer kept unique by ("slug") where (author IS NOT NULL); rebuilds the index"#
            ),
            (
                "CREATE UNIQUE INDEX post_idx ON post (lower(slug), author)",
                "rows are no longer kept unique by (lower(slug), author); rebuilds the index"
            ),
            (
                "ALTER TABLE post ADD CONSTRAINT post_idx UNIQUE (author)",
                """
                rows are no longer kept unique by ("author"); replaces the UNIQUE constraint of that name by the index
                """
            ),
            ("CREATE INDEX post_idx ON post (slug)", "loses no rows and no rules; rebuilds the index"),
            // The key keeps them so.
            ("CREATE UNIQUE INDEX post_idx ON post (slug, id)", "loses no rows and no rules; rebuilds the index"),
        ])
        func rulesThatAreLostAreSaid(former: String, message: String) async throws {
            let schema = try MigrationOf.schema(
                """
                type Post @table @index(name: "post_idx", fields: ["slug", "author"]) { slug: String author: String }
                """
            )
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(Self.post + former) }) { pool in
                let losses = try await MigrationOf.plan(schema, pool, .rewrites).losses
                #expect(losses.map(\.message) == [message])
            }
        }

        /// Updates of a published table would fail from then on.
        @Test(arguments: [
            ("ALTER TABLE post REPLICA IDENTITY USING INDEX post_idx", "which updates of a published table need"),
            ("CLUSTER post USING post_idx", "CLUSTER uses it"),
        ])
        func indexesUsedByReplicationOrClusterAreKept(further: String, reason: String) async throws {
            let schema = try MigrationOf.schema(
                "type Post @table { slug: String! @unique(indexName: \"post_idx\") author: String! }")
            let tables =
                Self.post + """
                    ALTER TABLE post ALTER slug SET NOT NULL, ALTER author SET NOT NULL;
                    CREATE UNIQUE INDEX post_idx ON post (slug, author);
                    \(further)
                    """
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                let plan = try await MigrationOf.plan(schema, pool, .rewrites)
                #expect(plan.steps.isEmpty && plan.refused.count == 1, "\(plan)")
                #expect(plan.refused[0].message.hasSuffix(reason) && plan.refused[0].permission.isEmpty)
                // As it advises.
                try await pool.script("ALTER INDEX public.post_idx RENAME TO former")
                try await Self.run(try await MigrationOf.plan(schema, pool), pool, isConcurrent: true)
                #expect(try await MigrationOf.plan(schema, pool).isUpToDate)
            }
        }

        /// The index of a partition goes with that of its table.
        @Test func replicaIdentitiesOfPartitionsAreKept() async throws {
            let schema = try MigrationOf.schema(
                """
                type Visit @table(key: "site") @unique(fields: ["site", "page"], indexName: "visit_idx") {
                  site: Int! page: Int! at: Int!
                }
                """
            )
            let tables = """
                CREATE TABLE visit (site int PRIMARY KEY, page int NOT NULL, at int NOT NULL) PARTITION BY LIST (site);
                CREATE TABLE visit_rest PARTITION OF visit DEFAULT;
                CREATE UNIQUE INDEX visit_idx ON visit (site, at);
                ALTER TABLE visit_rest REPLICA IDENTITY USING INDEX visit_rest_site_at_idx
                """
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                let plan = try await MigrationOf.plan(schema, pool, .rewrites)
                #expect(plan.steps.isEmpty && plan.refused.map(\.part) == ["visit_idx"], "\(plan)")
                #expect(plan.refused.first?.message.contains("it is the replica identity") == true)
            }
        }

        /// A column that the key's index only includes is no part of the key.
        @Test func keysMayIncludeColumns() async throws {
            let schema = try MigrationOf.schema("type Post @table { slug: String author: String }")
            let tables =
                """
                CREATE TABLE post (id uuid DEFAULT gen_random_uuid(), slug text, author text, PRIMARY KEY (id) INCLUDE
                (slug))
                """
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                let plan = try await MigrationOf.plan(schema, pool)
                #expect(plan.isUpToDate && plan.drift.isEmpty, "\(plan)")
            }
        }

        /// Searches find their index by its very expression; nothing but its name was the same.
        @Test(arguments: [false, true]) func searchesOfOtherFieldsReplaceTheirIndex(isConcurrent: Bool) async throws {
            func schema(_ slug: String, _ author: String) throws -> Schema {
                try MigrationOf.schema(
                    """
                    type Post @table {
                      slug: String \(slug)
                      author: String @col(name: "The \\"Author\\"", dataType: "varchar(40)") \(author)
                    }
                    """)
            }
            let both = try schema("@searchable", "@searchable")
            try await LanguageServer.withOwnDatabase(
                fill: { pool in
                    for step in Migration.create(try schema("@searchable", "")) { try await pool.script(step.sql) }
                },
                { pool in
                    for wanted in [
                        both, try schema("", "@searchable"),
                        try schema(#"@searchable(language: "german")"#, #"@searchable(language: "german")"#),
                    ] {
                        let plain = try await MigrationOf.plan(wanted, pool)
                        #expect(plain.isUpToDate && plain.notices.map(\.part) == ["post_search_idx"], "\(plain)")
                        #expect(plain.drift.allSatisfy { !$0.isHarmful })
                        let plan = try await MigrationOf.plan(wanted, pool, isConcurrent ? .concurrent : .rewrites)
                        #expect(plan.steps.map(\.summary) == ["replace search index post_search_idx"], "\(plan)")
                        #expect(plan.losses.isEmpty && plan.refused.isEmpty)
                        try await Self.run(plan, pool, isConcurrent: isConcurrent)
                        let after = try await MigrationOf.plan(wanted, pool)
                        #expect(after.isUpToDate && after.drift.isEmpty, "\(after)")
                    }
                    // An index that a user made is not dropped unasked.
                    try await pool.script(
                        "DROP INDEX post_search_idx; CREATE INDEX post_search_idx ON post (lower(slug))")
                    #expect(try await MigrationOf.plan(both, pool).refused.map(\.part) == ["post_search_idx"])
                    let forced = try await MigrationOf.plan(both, pool, .rewrites)
                    #expect(forced.steps.map(\.summary) == ["replace search index post_search_idx"])
                })
        }

        /// Partition by partition, and what a run that broke off has built is known by its expression.
        @Test func searchesOfTablesWithPartitions() async throws {
            func schema(_ language: String) throws -> Schema {
                try MigrationOf.schema(
                    """
                    type Visit @table(key: "site") { site: Int! page: String @searchable(language: "\(language)") }
                    """
                )
            }
            let tables = """
                CREATE TABLE visit (site int PRIMARY KEY, page text) PARTITION BY LIST (site);
                CREATE TABLE visit_one PARTITION OF visit FOR VALUES IN (1);
                CREATE TABLE visit_rest PARTITION OF visit DEFAULT
                """
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                let former = try await MigrationOf.plan(try schema("english"), pool)
                try await Self.run(former, pool, isConcurrent: true)
                let wanted = try schema("french")
                let first = try #require(try await MigrationOf.plan(wanted, pool, .concurrent).steps.first)
                #expect(first.summary == "replace search index visit_search_idx" && first.concurrentSQL.count == 5)
                try await pool.script(first.concurrentSQL[0])
                let other = try #require(
                    try await MigrationOf.plan(try schema("german"), pool, .concurrent).steps.first)
                #expect(other.concurrentNotes.isEmpty, "\(other.concurrentNotes)")
                #expect(try await MigrationOf.plan(wanted, pool).steps.isEmpty)
                let second = try #require(try await MigrationOf.plan(wanted, pool, .concurrent).steps.first)
                #expect(second.concurrentNotes.count == 1 && second.concurrentSQL.count == 4)
                #expect(try await IndexBuilds.run(second, pool) == second.concurrentSQL)
                #expect(try await MigrationOf.plan(wanted, pool).isUpToDate)
            }
        }
    }
}
