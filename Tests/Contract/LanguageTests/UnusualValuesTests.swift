import Catalog
import Execution
import JSON
import LiveModel
import Operations
import Postgres
import SchemaMigration
import SchemaModel
import Testing

extension Language {
    /// Values that Postgres stores and that variables cannot have: they are read as they are, or with a specific error.
    @Suite struct UnusualValues {
        private static let sdl = """
            type Moment @table(key: "no") { no: Int! at: Timestamp day: Date times: [Timestamp!] extra: Any }
            """
        private static let rows = """
            INSERT INTO moment (no, at, day, times) VALUES
              (1, 'infinity', 'infinity', '{-infinity,2024-02-29T12:00:00Z}'),
              (2, '0044-03-15 12:00:00Z BC', '0044-03-15 BC', NULL),
              (3, '20000-01-01Z', '20000-01-01', '{"0001-01-01 00:00:00Z"}'),
              (4, NULL, NULL, NULL);
            INSERT INTO moment (no, extra) VALUES
              (5, (repeat('[', 200) || repeat(']', 200))::jsonb), (6, '{"n": 1e400}'),
              (7, (repeat('[', 600) || repeat(']', 600))::jsonb)
            """

        private func withRows(_ body: @Sendable (_ run: (String) async throws -> String) async throws -> Void)
            async throws
        {
            func compile(_ operation: String) throws -> Catalog {
                try Catalog.compile(
                    Project(
                        serviceID: "test", schemaFiles: [SourceFile(path: "schema.gql", text: Self.sdl)],
                        connectors: [
                            ConnectorSource(id: "main", files: [SourceFile(path: "main.gql", text: operation)])
                        ]))
            }
            let schema = try compile("query Q { moments { no } }").schema
            try await LanguageServer.withOwnDatabase(
                fill: { pool in
                    try await pool.script(ServiceSchema.sql)
                    try await pool.script(Migration.create(schema).map(\.sql).joined(separator: ";\n"))
                    try await pool.script(Self.rows)
                }
            ) { pool in
                try await body { text in
                    let operation = try #require(try compile(text).connectors["main"]?.operations["Q"])
                    do throws(RequestError) {
                        if operation.kind == .query {
                            let result = try await QueryExecutor(pool: pool, clock: fixedClock).run(
                                operation, variables: JSONObject(), auth: nil)
                            return String(decoding: result.answer.body, as: UTF8.self)
                        }
                        let outcome = try await MutationExecutor(
                            pool: pool, clock: fixedClock, makeUUID: { "00000000-0000-4000-8000-000000000001" }
                        ).run(
                            operation, variables: JSONObject(), auth: nil,
                            envelope: .init(
                                eventID: SchemaRow.freshUUID, traceID: "t", shards: [], authReads: .nothing,
                                loadedDeployment: 0))
                        return outcome.errors.first.map { "\($0.code.rawValue): \($0.message)" }
                            ?? String(decoding: outcome.body, as: UTF8.self)
                    } catch {
                        return "\(error.code.rawValue): \(error.message)"
                    }
                }
            }
        }

        @Test func timesOutsideTheCommonEra() async throws {
            try await withRows { run in
                let expected = [
                    #"{"at":"infinity","day":"infinity","times":["-infinity","2024-02-29T12:00:00.000000Z"]}"#,
                    #"{"at":"0044-03-15T12:00:00.000000Z BC","day":"0044-03-15 BC","times":null}"#,
                    #"{"at":"20000-01-01T00:00:00.000000Z","day":"20000-01-01","#
                        + #""times":["0001-01-01T00:00:00.000000Z"]}"#,
                    #"{"at":null,"day":null,"times":null}"#,
                ]
                for (index, row) in expected.enumerated() {
                    let result = try await run("query Q { moment(no: \(index + 1)) { at day times } }")
                    #expect(result == "{\"moment\":\(row)}")
                }
            }
        }

        @Test func deepAndLargeJSON() async throws {
            try await withRows { run in
                let deep = #"{"moment":{"extra":"# + String(repeating: "[", count: 200)
                let refusal = "DATABASE_ERROR: a stored value cannot be read by expressions and checks: "
                let large = "1" + String(repeating: "0", count: 400)
                let plain = ["", deep, large]
                let checked = ["", deep, refusal + "a number that is too large", refusal + "nested too deeply"]
                for number in 5...6 {
                    let result = try await run("query Q { moment(no: \(number)) { extra } }")
                    #expect(result.contains(plain[number - 4]), "\(result.prefix(100))")
                }
                for number in 5...7 {
                    let result = try await run(
                        "query Q @check(expr: \"this != null\") { moment(no: \(number)) { extra } }")
                    #expect(result.hasPrefix(checked[number - 4]), "\(result.prefix(100))")
                }
                let stepwise = try await run(
                    """
                    mutation Q @transaction {
                      query @redact { moment(no: 6) { extra @check(expr: "this == null", message: "wrong") } }
                      moment_update(no: 1, data: {day: "2024-01-01"})
                    }
                    """)
                #expect(stepwise.contains("a number that is too large"), "\(stepwise)")
            }
        }
    }
}
