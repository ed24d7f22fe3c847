import Catalog
import JSON
import Operations
import QuerySQL
import SchemaMigration
import Testing

/// Vectors and search: their SQL and what a migration makes of them, where pgvector is and where it is not.
/// `Tests/Contract/LanguageTests/VectorTests.swift` runs them.
@Suite struct VectorSQLTests {
    private let schema = """
        type Doc @table {
          title: String! @searchable(language: "german")
          body: String @searchable(language: "german")
          embedding: Vector @col(size: 3) @index(type: IVFFLAT, vector_method: L2)
          code: String @col(size: 8)
        }
        type Tally @view(name: "tally") { count: Int }
        """

    @Test func similaritySearchesOrderByDistance() throws {
        let call = try CatalogHarness.operation(
            """
            query Q($v: Vector!, $d: Float) {
              docs_embedding_similarity(compare: $v, method: INNER_PRODUCT, within: $d, where: {title: {ne: "x"}},
                limit: 2) {
                title embedding _metadata { distance }
              }
            }
            """, schema: schema
        ).query(#"{"v": [1, 2.5, -3], "d": 0.5}"#)
        #expect(call.parameters == ["0.5", "[1.0,2.5,-3.0]"] || call.parameters == ["[1.0,2.5,-3.0]", "0.5"])
        #expect(
            call.statement.single.contains(
                """
                concat('{"title":', coalesce(to_json(t1."title")::text, 'null'), ',"embedding":', \
                coalesce(to_json(t1."embedding"::text::json)::text, 'null'), ',"_metadata":', \
                concat('{"distance":', coalesce(to_json((t1."embedding" <#> 
                """
            ))
        #expect(call.statement.single.contains(#"t1."embedding" IS NOT NULL AND (t1."embedding" <#> "#))
        #expect(call.statement.multiplexed.contains("::vector[]"))
    }

    @Test func vectorColumnsBringExtensionAndIndexes() throws {
        let schema = try CatalogHarness.compile("query Q { docs { id } }", schema: schema).schema
        let created = Migration.create(schema)
        #expect(created.first?.sql == "CREATE EXTENSION IF NOT EXISTS vector")
        let sql = created.map(\.sql).joined(separator: "\n")
        #expect(sql.contains(#""embedding" vector(3)"#) && sql.contains(#""code" character varying(8)"#))
        #expect(sql.contains(#"USING ivfflat ("embedding" vector_l2_ops)"#))
        #expect(
            sql.contains(
                #"USING gin (to_tsvector('german'::regconfig, coalesce("title", '') || ' ' || coalesce("body", '')))"#))
        var existing = DatabaseDescription()
        let without = Migration.plan(schema, existing: existing)
        #expect(without.refused.map(\.object) == ["vector"])
        #expect(without.refused.first?.message.contains("pgvector") == true)
        #expect(without.drift.contains { $0.object == "tally" })
        existing.extensions = ["vector": .available]
        existing.views = ["tally"]
        let available = Migration.plan(schema, existing: existing)
        #expect(available.refused.isEmpty && available.drift.isEmpty)
        #expect(available.steps.first?.summary == "create extension vector")
        #expect(available.steps.contains { $0.summary == "create search index doc_search_idx" })
    }

    /// Views, searches and groups are not looked up by key; nested rows are written by theirs.
    @Test func onlyLookupsByKeyHaveImplicitRules() throws {
        let catalog = try CatalogHarness.compile(
            """
            query ByView { tallies { count } }
            query BySearch { docs_search(query: "x") { id } }
            query ByGroup { docs { title _count } }
            query ByKey($id: UUID!) { doc(id: $id) { title } }
            mutation Add { doc_insert(data: {title: "t"}) }
            """, schema: schema)
        let operations = try #require(catalog.connectors["main"]?.operations)
        for name in ["ByView", "BySearch", "ByGroup"] { #expect(operations[name]?.refresh.lookupTables == []) }
        #expect(operations["ByKey"]?.refresh.lookupTables == ["doc"])
        let nested = try CatalogHarness.operation(
            #"mutation M { novel_insert(data: {title: "t", remarks_on_novel: [{stars: 1}]}) }"#)
        #expect(nested.tablesWrittenByKey == ["novel", "remark"])
    }
}
