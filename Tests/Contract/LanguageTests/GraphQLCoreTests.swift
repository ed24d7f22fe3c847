import Catalog
import Foundation
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

    @Test(arguments: Language.Compatibility.rows) func smallProjects(_ row: SchemaRow) async throws {
        try expectValid(
            GraphQLSchema(try MigrationOf.schema(row.sdl)),
            row.steps.enumerated().map { Text(name: "\(row.name) \($0.offset)", text: $0.element.operation) })
    }

    @Test func sampleProject() async throws {
        let project = try ProjectFolder.load(Repository.path("config/auctions"))
        let catalog = try Catalog.compile(project)
        let operations = catalog.connectors.values.flatMap(\.operations.values)
        #expect(operations.count > 20)
        try expectValid(
            GraphQLSchema(catalog.schema), operations.map { Text(name: "\($0.reference)", text: $0.text) })
    }

    private func expectValid(_ schema: GraphQLSchema, _ operations: [Text]) throws {
        let text = try #require(try Self.python(["query"], input: "{}")["query"]?.stringValue)
        let question = try Parser.parseDocument(Source(text: text))
        let operation = try #require(Introspection.operation(in: question, named: nil))
        let told = try Introspection(schema).answer(operation, in: question, variables: JSONObject())
        let input: JSONValue = [
            "schema": .string(schema.text), "introspection": .object(told),
            "operations": .array(operations.map { ["name": .string($0.name), "text": .string($0.text)] }),
        ]
        let answer = try Self.python([], input: input.description)
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

    // MARK: Python

    private static func python(_ arguments: [String], input: String) throws -> JSONValue {
        let folder = Repository.path("Tests/Integration/Python")
        _ = try run(folder + "/setup.sh", [], input: "")
        let output = try run(
            Repository.path(".venv-clients/bin/python"), ["-I", folder + "/graphql_core.py"] + arguments, input: input)
        return try JSONParser.parse(output)
    }

    private static func run(_ program: String, _ arguments: [String], input: String) throws -> [UInt8] {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let file = folder.path + "/input.json"
        try input.write(toFile: file, atomically: true, encoding: .utf8)
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.standardInput = try FileHandle(forReadingFrom: URL(filePath: file))
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = Array(try output.fileHandleForReading.readToEnd() ?? Data())
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(program) \(arguments)")
        return bytes
    }
}
