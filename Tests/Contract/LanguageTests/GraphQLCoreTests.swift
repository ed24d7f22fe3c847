import Catalog
import GraphQLLanguage
import JSON
import ProjectFolder
import SchemaSDL
import TestSupport
import Testing

/// The printed schema as graphql-core, from PyPI, sees it: it is a valid schema, every stored operation of the sample
/// and of the rows of the language is valid by it, and our introspection tells the same schema.
@Suite(.timeLimit(.minutes(2)))
struct GraphQLCoreTests {
    private struct Text {
        let name: String
        let text: String
    }

    @Test func schemaAndRowsOfTheLanguage() async throws {
        let schema = GraphQLSchema(try LanguageSchema.catalog("query Q { people { name } }").schema)
        let queries = [
            Language.Queries.rows, Language.Aggregates.rows, Language.SearchAndScalars.rows, Language.Filters.rows,
            Language.Policies.rows,
        ].flatMap(\.self).map { Text(name: $0.name, text: $0.operation) }
        let mutations = (Language.Mutations.rows + Language.Steps.rows).map { Text(name: $0.name, text: $0.operation) }
        try expectValid(schema, queries + mutations)
    }

    @Test(arguments: Language.Compatibility.rows + ProjectFile.rows + ProjectFile.vectorRows)
    func graphqlCoreAcceptsSchemasOfSmallProjects(_ row: SchemaRow) async throws {
        try expectValid(
            GraphQLSchema(try MigrationOf.schema(row.sdl)),
            row.steps.enumerated().map { Text(name: "\(row.name) \($0.offset)", text: $0.element.operation) })
    }

    @Test func graphqlCoreAcceptsTheSamplesSchema() async throws {
        let project = try ProjectFolder.load(Repository.path("config/auctions"))
        let catalog = try Catalog.compile(project)
        let operations = catalog.connectors.values.flatMap(\.operations.values)
        #expect(operations.count > 20)
        try expectValid(
            GraphQLSchema(catalog.schema), operations.map { Text(name: "\($0.reference)", text: $0.text) })
    }

    private func expectValid(_ schema: GraphQLSchema, _ operations: [Text]) throws {
        let input = try GraphQLCore.input(
            schema, try GraphQLCore.introspectionQuery(),
            operations: operations.map { ["name": .string($0.name), "text": .string($0.text)] })
        let answer = try GraphQLCore.run([], input: input.description)
        #expect(answer["schema"]?.arrayValue?.isEmpty == true, "\(answer["schema"] ?? .null)")
        #expect(answer["clientSchemaIsEqual"]?.boolValue == true)
        for entry in answer["operations"]?.objectValue?.entries ?? [] {
            let text = operations.first { $0.name == entry.key }?.text ?? ""
            let problems = (entry.value.arrayValue ?? []).compactMap(\.stringValue).filter { !Self.isKnown($0, text) }
            #expect(problems.isEmpty, "\(entry.key): \(problems)")
        }
    }

    /// The key that a mutation gives is a scalar in SQL Connect; here a selection may stand below it, too. And GraphQL
    /// does not see the variables that expressions read.
    private static func isKnown(_ problem: String, _ text: String) -> Bool {
        if problem.contains("_KeyOutput") { return problem.contains("must not have a selection") }
        guard problem.contains("is never used"), let name = problem.split(separator: "'").dropFirst().first else {
            return false
        }
        return text.contains("vars.\(name.dropFirst())") || text.contains("request.variables.\(name.dropFirst())")
    }
}
