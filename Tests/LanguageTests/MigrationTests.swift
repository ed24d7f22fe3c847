import Catalog
import JSON
import Postgres
import Testing

extension Language {
    /// What migrations make of the schema is what the queries need.
    @Suite struct Migrations {
        @Test func nothingIsLeftToDo() async throws {
            let running = try #require(LanguageServer.current)
            let rows = try await running.pool.query(Statement(Migration.introspectionSQL()))
            let found = try DatabaseDescription(parsing: try #require(rows.rows.first?.string(0)))
            #expect(found.views == ["long_title"])
            #expect(found.table(named: "movie")?.expressionIndexes == ["movie_search_idx"])
            let plan = Migration.plan(
                try LanguageSchema.catalog("query Q { people { name } }").schema, existing: found)
            #expect(plan.isUpToDate && plan.drift.isEmpty, "\(plan)")
        }

        /// Indexes of a table with partitions, built concurrently: part by part, those that a broken run left behind anew.
        @Test func partitionsGetTheirIndexesOneByOne() async throws {
            let schema = try Catalog.compile(
                Project(
                    serviceID: "test",
                    schemaFiles: [
                        SourceFile(
                            path: "schema.gql",
                            text: """
                                type Visit @table(key: ["site", "at"]) @unique(fields: ["site", "at", "page"]) {
                                  site: Int!
                                  at: Timestamp!
                                  page: String @index @searchable
                                }
                                """)
                    ],
                    connectors: [
                        ConnectorSource(
                            id: "main", files: [SourceFile(path: "q.gql", text: "query Q { visits { page } }")])
                    ])
            ).schema
            let tables = """
                CREATE SCHEMA attic;
                CREATE TABLE visit (site int, at timestamptz, page text, PRIMARY KEY (site, at)) PARTITION BY LIST (site);
                CREATE TABLE visit_one PARTITION OF visit FOR VALUES IN (1);
                CREATE TABLE attic.visit_rest PARTITION OF visit DEFAULT PARTITION BY RANGE (at);
                CREATE TABLE "visit Old" PARTITION OF attic.visit_rest DEFAULT;
                INSERT INTO visit VALUES (1, now(), 'a'), (2, now(), 'b')
                """
            try await LanguageServer.withOwnDatabase(fill: { try await $0.script(tables) }) { pool in
                func plan() async throws -> MigrationPlan {
                    let rows = try await pool.query(Statement(Migration.introspectionSQL()))
                    return Migration.plan(
                        schema, existing: try DatabaseDescription(parsing: try #require(rows.rows.first?.string(0))),
                        allowing: .drops)
                }
                func build(_ plan: MigrationPlan, but last: Int = 0) async throws {
                    for step in plan.steps {
                        for statement in (step.concurrentSQL ?? [step.sql]).dropLast(last) {
                            try await pool.script(statement)
                        }
                    }
                }
                let first = try await plan()
                #expect(first.losses.isEmpty && first.drift.isEmpty && first.refused.isEmpty, "\(first)")
                #expect(first.steps.map(\.summary).sorted().first == "create index visit_page_idx")
                #expect(first.steps.count == 3 && first.steps.allSatisfy { $0.concurrentSQL?.count == 7 })
                // Broken off before the last partition was attached: what serves nothing goes, and is built again.
                try await build(first, but: 1)
                let second = try await plan()
                #expect(second.steps.count == 6 && second.steps[0].summary.contains("left unfinished"), "\(second)")
                try await build(second)
                let last = try await plan()
                #expect(last.isUpToDate && last.drift.isEmpty, "\(last)")
                let valid = try await pool.query(
                    Statement(
                        #"SELECT count(*)::text FROM pg_index WHERE indisvalid AND indexrelid::regclass::text ~ 'part"?$'"#
                    ))
                #expect(valid.rows.first?.string(0) == "9")
            }
        }

        /// The index holds the very expression that searches ask for.
        @Test func searchesUseTheirIndex() async throws {
            try await LanguageServer.withOwnDatabase { pool in
                let call = try LanguageSchema.operation(
                    #"query Q($q: String!) { movies_search(query: $q) { title } }"#
                ).queryCall(variables: ["q": "rain"], auth: nil, nowMs: requestMs)
                let lines = try await pool.withSession { session in
                    _ = try await session.execute("SET enable_seqscan = off")
                    return try await session.execute(
                        Statement("EXPLAIN " + call.statement.single), call.parameters.map { Parameter($0) })
                }
                #expect(lines.rows.contains { $0.string(0)?.contains("movie_search_idx") == true })
            }
        }
    }
}
