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
