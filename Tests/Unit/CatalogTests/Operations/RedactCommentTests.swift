import Catalog
import SchemaModel
import Testing

/// Comments that hide the values of fields and variables from operators.
@Suite struct RedactCommentTests {
    private static func catalog(_ schema: String, _ operations: String) throws -> Catalog {
        try Catalog.compile(
            Project(
                serviceID: "test", schemaFiles: [SourceFile(path: "schema.gql", text: schema)],
                connectors: [ConnectorSource(id: "main", files: [SourceFile(path: "main.gql", text: operations)])]))
    }

    @Test func theFieldsAndVariablesOfALineAreMarked() throws {
        let catalog = try Self.catalog(
            """
            type Person @table {
              name: String! @default(value: "# freshet: redact")
              # freshet: redact
              # For the tax office.

              taxNumber: String!
              phone: String #freshet: redact
              size: String! @default(value: "5\\" # wide") # freshet: redact
              mail: String # redact
            }
            """,
            """
            # freshet: redact
            query ByNumber($number: String!, $limit: Int) @auth(level: PUBLIC) {
              people(where: {taxNumber: {eq: $number}}, limit: $limit) { id }
            }
            query ByPhone(
              $phone: String! ## freshet: redact
              $name: String!
            ) @auth(level: PUBLIC) {
              people(where: {phone: {eq: $phone}, name: {eq: $name}}) { id }
            }
            """)
        #expect(catalog.redactedNames == ["taxNumber", "phone", "size", "number", "limit"])
        #expect(!catalog.warnings.contains { $0.rule == .configurationValue }, "\(catalog.warnings)")
    }

    @Test func aCommentThatMarksNothingIsAWarning() throws {
        let catalog = try Self.catalog(
            "# freshet: redact\ntype Person @table { name: String! }\n",
            "query All @auth(level: PUBLIC) { # freshet: redact\n  people { id }\n}\n")
        #expect(catalog.redactedNames.isEmpty)
        let warnings = catalog.warnings.filter { $0.rule == .configurationValue }
        #expect(warnings.map(\.line) == [1, 1] && warnings.allSatisfy { $0.message.contains("marks no field") })
    }
}
