import Catalog
import GraphQLLanguage
import JSON
import SchemaModel
import SchemaSDL
import SeededRandom
import TestSupport
import Testing

/// The printed schemas of many generated projects as graphql-core sees them: each is valid, and our introspection
/// describes the same schema.
@Suite(.timeLimit(.minutes(2)))
struct GeneratedSchemasTests {
    @Test func graphqlCoreAcceptsGeneratedSchemas() throws {
        let question = try GraphQLCore.introspectionQuery()
        var random = SeededRandom(seed: 19)
        var given: [JSONValue] = []
        var texts: [String] = []
        var refused = 0
        while given.count < 25 {
            let text = SchemaGenerator.schema(&random)
            let schema: GraphQLSchema
            do {
                schema = try Catalog.graphQLSchema(
                    of: Project(
                        serviceID: "generated", schemaFiles: [SourceFile(path: "schema.gql", text: text)],
                        connectors: []))
            } catch {
                // Some names clash, which the compiler says.
                refused += 1
                try #require(refused < 200, "\(error.diagnostics.first?.message ?? "")\n\(text)")
                continue
            }
            texts.append(text)
            given.append(try GraphQLCore.input(schema, question))
        }
        let answers = try #require(
            try GraphQLCore.run(["many"], input: JSONValue.array(given).description).arrayValue)
        #expect(answers.count == texts.count)
        for (answer, text) in zip(answers, texts) {
            #expect(answer["schema"]?.arrayValue?.isEmpty == true, "\(answer["schema"] ?? .null)\n\(text)")
            #expect(answer["clientSchemaIsEqual"]?.boolValue == true, "\(text)")
        }
        #expect(texts.contains { $0.contains("Vector") } && texts.contains { $0.contains("@view") })
    }
}

/// Generates the schemas of projects: tables and views with columns of every type and with awkward names, keys of one
/// or several columns, references, joins, enums and search.
enum SchemaGenerator {
    private static let scalars = [
        "String", "Int", "Int64", "Float", "Boolean", "UUID", "Date", "Timestamp", "Any", "Genre",
    ]
    private static let typeNames = ["Novel", "SEO", "UUIDThing", "aLower", "News", "Data", "Key_Value", "Filter"]
    private static let fieldNames = [
        "title", "key", "first", "where", "data", "limit", "orderBy", "count", "type", "in", "all", "title_old", "on",
        "distinct", "from_x",
    ]

    static func schema(_ random: inout SeededRandom) -> String {
        var types: [String] = []
        for name in typeNames where random.below(100) < 45 { types.append(name) }
        if types.isEmpty { types = ["Only"] }
        var text = "enum Genre { NOIR FARCE }\n"
        for name in types {
            var fields: [String] = []
            for field in fieldNames where random.below(100) < 35 {
                let scalar = scalars[random.below(scalars.count)]
                let isList = random.below(100) < 25
                let search = scalar == "String" && !isList && random.below(100) < 40 ? " @searchable" : ""
                fields.append(
                    "\(field): \(isList ? "[\(scalar)!]" : scalar)\(random.below(2) == 0 ? "!" : "")\(search)")
            }
            if random.below(100) < 40 { fields.append("embedding: Vector @col(size: 3)") }
            let key: String
            switch random.below(5) {
            case 0:
                key = "(key: [\"a\", \"first\"])"
                fields.removeAll { $0.hasPrefix("first:") }
                fields += ["a: Int!", "first: String!"]
            case 1:
                key = "(key: \"key\")"
                fields.removeAll { $0.hasPrefix("key:") }
                fields.append("key: UUID!")
            default: key = ""
            }
            for other in types where random.below(100) < 30 {
                fields.append("ref\(fields.count): \(other)\(random.below(2) == 0 ? "!" : "")")
            }
            if fields.isEmpty { fields = ["name: String"] }
            text += "type \(name) @table\(key) {\n  \(fields.joined(separator: "\n  "))\n}\n"
        }
        if types.count > 1, random.below(2) == 0 {
            text += "type Join @table(key: [\"left\", \"right\"]) { left: \(types[0])! right: \(types[1])! }\n"
        }
        if random.below(2) == 0 {
            text += "type Best @view(sql: \"SELECT 1\") { rank: Int scores: [Float!] genre: Genre }\n"
        }
        return text
    }
}
