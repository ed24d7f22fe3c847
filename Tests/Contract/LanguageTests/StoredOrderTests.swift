import Catalog
import Execution
import JSON
import LiveModel
import Postgres
import SchemaMigration
import SchemaModel
import Testing

extension Language {
    /// Lists without `orderBy`, `limit` and `offset` come as their rows are stored, whatever plan finds them; the
    /// others by key where their order leaves a choice.
    @Suite struct StoredOrder {
        private static let sdl = """
            type Shelf @table(key: "name") { name: String! }
            type Jar @table(key: "label") { label: String! shelf: Shelf! filled: Boolean! }
            type Spice @table(key: "name") { name: String! }
            type Mix @table(key: ["jar", "spice"]) { jar: Jar! spice: Spice! }
            """

        /// Keys in neither direction; one row is changed, which stores a new version at the end.
        private static let rows = """
            INSERT INTO shelf VALUES ('low'), ('high');
            INSERT INTO jar (label, shelf_name, filled) VALUES
              ('mint', 'low', true), ('anise', 'low', true), ('thyme', 'high', true), ('basil', 'low', true),
              ('sage', 'low', true);
            INSERT INTO spice VALUES ('salt'), ('pepper'), ('chili');
            INSERT INTO mix VALUES ('mint', 'salt'), ('mint', 'chili'), ('mint', 'pepper');
            UPDATE jar SET filled = false WHERE label = 'anise';
            """

        struct Row: Sendable, CustomTestStringConvertible {
            let query: String
            let variables: [String]
            let results: [String]
            var testDescription: String { query }
        }

        private static func labels(_ list: String, _ labels: String...) -> String {
            #"{"\#(list)":[\#(labels.map { #"{"label":"\#($0)"}"# }.joined(separator: ","))]}"#
        }

        static let cases = [
            Row(
                query: "query Q($s: String!) { jars(where: {shelfName: {eq: $s}}) { label } }",
                variables: [#"{"s": "low"}"#, #"{"s": "high"}"#],
                results: [labels("jars", "mint", "basil", "sage", "anise"), labels("jars", "thyme")]),
            Row(
                query: "query Q($s: String!) { shelf(name: $s) { jars_on_shelf { label } } }",
                variables: [#"{"s": "low"}"#, #"{"s": "high"}"#],
                results: [labels("jars_on_shelf", "mint", "basil", "sage", "anise"), labels("jars_on_shelf", "thyme")]
                    .map { #"{"shelf":\#($0)}"# }),
            Row(
                query: "query Q($j: String!) { jar(label: $j) { spices_via_Mix { name } } }",
                variables: [#"{"j": "mint"}"#, #"{"j": "sage"}"#],
                results: [
                    #"{"jar":{"spices_via_Mix":[{"name":"salt"},{"name":"chili"},{"name":"pepper"}]}}"#,
                    #"{"jar":{"spices_via_Mix":[]}}"#,
                ]),
            Row(
                query: "query Q($n: Int!) { jars(limit: $n) { label } }", variables: [#"{"n": 2}"#, #"{"n": 3}"#],
                results: [labels("jars", "anise", "basil"), labels("jars", "anise", "basil", "mint")]),
            Row(
                query: "query Q($f: Boolean!) { jars(where: {filled: {eq: $f}}, offset: 1) { label } }",
                variables: [#"{"f": true}"#, #"{"f": false}"#],
                results: [labels("jars", "mint", "sage", "thyme"), labels("jars")]),
            Row(
                query: "query Q($d: OrderDirection!) { jars(orderBy: [{filled: $d}]) { label } }",
                variables: [#"{"d": "ASC"}"#, #"{"d": "DESC"}"#],
                results: [
                    labels("jars", "anise", "basil", "mint", "sage", "thyme"),
                    labels("jars", "basil", "mint", "sage", "thyme", "anise"),
                ]),
        ]

        @Test("The order is that of the rows, alone and in one statement", arguments: cases)
        func order(_ row: Row) async throws {
            let catalog = try Catalog.compile(
                Project(
                    serviceID: "test", schemaFiles: [SourceFile(path: "schema.gql", text: Self.sdl)],
                    connectors: [
                        ConnectorSource(id: "main", files: [SourceFile(path: "main.gql", text: row.query)])
                    ]))
            let stored = try #require(catalog.operation(OperationReference(connector: "main", operation: "Q")))
            try await LanguageServer.withOwnDatabase(fill: { pool in
                try await pool.script(ServiceSchema.sql)
                try await pool.script(Migration.create(catalog.schema).map(\.sql).joined(separator: ";\n"))
                try await pool.script(Self.rows)
            }) { pool in
                let executor = QueryExecutor(pool: pool, clock: fixedClock)
                let sent = try row.variables.map(stored.coerced)
                for (variables, expected) in zip(sent, row.results) {
                    let alone = try await executor.run(stored, variables: variables, auth: nil)
                    #expect(String(decoding: alone.answer.body, as: UTF8.self) == expected)
                }
                let items = sent.map { QueryExecutor.Item(variables: $0, auth: nil, knownDigest: nil) }
                for (found, expected) in zip(await executor.run(stored, items: items), row.results) {
                    guard case .result(let result) = found else {
                        Issue.record("\(found)")
                        continue
                    }
                    #expect(String(decoding: result.answer.body, as: UTF8.self) == expected)
                }
            }
        }

        /// A view has no places of rows.
        @Test func aViewInATablesPlaceComesByKey() async throws {
            let catalog = try Catalog.compile(
                Project(
                    serviceID: "test", schemaFiles: [SourceFile(path: "schema.gql", text: Self.sdl)],
                    connectors: [
                        ConnectorSource(
                            id: "main", files: [SourceFile(path: "main.gql", text: "query Q { shelves { name } }")])
                    ]))
            let stored = try #require(catalog.operation(OperationReference(connector: "main", operation: "Q")))
            try await LanguageServer.withOwnDatabase(fill: { pool in
                try await pool.script(
                    """
                    CREATE TABLE shelf_rows (name text, height int);
                    INSERT INTO shelf_rows VALUES ('low', 1), ('high', 2), ('middle', 3);
                    CREATE VIEW shelf AS SELECT name FROM shelf_rows WHERE height > 0
                    """)
            }) { pool in
                let found = try await QueryExecutor(pool: pool, clock: fixedClock)
                    .run(stored, variables: JSONObject(), auth: nil)
                #expect(
                    String(decoding: found.answer.body, as: UTF8.self)
                        == #"{"shelves":[{"name":"high"},{"name":"low"},{"name":"middle"}]}"#)
            }
        }
    }
}
