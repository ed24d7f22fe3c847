import Foundation
import GraphQLLanguage
import JSON
import SchemaSDL
import TestSupport
import Testing

/// The Python program `graphql_core.py`, which has graphql-core judge schemas and operations.
enum GraphQLCore {
    /// The introspection query of graphql-core.
    static func introspectionQuery() throws -> Document {
        let text = try #require(try run(["query"], input: "{}")["query"]?.stringValue)
        return try Parser.parseDocument(Source(text: text))
    }

    /// Returns what the program reads about a schema: its text, our answer to the introspection query and operations.
    static func input(
        _ schema: GraphQLSchema, _ query: Document, operations: [JSONValue] = []
    ) throws -> JSONValue {
        let operation = try #require(Introspection.operation(in: query, named: nil))
        let answer = try Introspection(schema).answer(operation, in: query, variables: JSONObject())
        return ["schema": .string(schema.text), "introspection": .object(answer), "operations": .array(operations)]
    }

    static func run(_ arguments: [String], input: String) throws -> JSONValue {
        let folder = Repository.path("Tests/Integration/Python")
        _ = try start(folder + "/setup.sh", [], input: "")
        let output = try start(
            Repository.path(".venv-clients/bin/python"), ["-I", folder + "/graphql_core.py"] + arguments, input: input)
        return try JSONParser.parse(output)
    }

    private static func start(_ program: String, _ arguments: [String], input: String) throws -> [UInt8] {
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
