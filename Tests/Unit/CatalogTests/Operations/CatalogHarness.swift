import Catalog
import GraphQLLanguage
import JSON
import LibrarySchema
import LiveModel
import QuerySQL
import SchemaModel
import Testing

/// Compiles small projects for tests.
enum CatalogHarness {
    /// The schema that most tests share.
    static let schema = LibrarySchema.compiled

    static func compile(_ operations: String, schema: String = schema) throws -> Catalog {
        try compile(["main": operations], schema: schema)
    }

    static func compile(_ connectors: [String: String], schema: String) throws -> Catalog {
        try LibrarySchema.compile(connectors, schema: schema)
    }

    /// The only operation of a text.
    static func operation(_ text: String, schema: String = schema) throws -> StoredOperation {
        let catalog = try compile(text, schema: schema)
        return try #require(catalog.connectors["main"]?.operations.values.first)
    }

    /// Errors of a text that must not compile, as `rule: message`, with the help in brackets.
    static func errors(_ text: String, schema: String = schema) -> [String] {
        do {
            _ = try compile(text, schema: schema)
            return []
        } catch let error as CatalogError {
            return describe(error.diagnostics.filter { $0.severity == .error })
        } catch {
            return ["\(error)"]
        }
    }

    static func warnings(_ text: String) throws -> [String] {
        describe(try compile(text).warnings)
    }

    private static func describe(_ diagnostics: [Diagnostic]) -> [String] {
        diagnostics.map { diagnostic in
            "\(diagnostic.line):\(diagnostic.column) \(diagnostic.rule): \(diagnostic.message)"
                + (diagnostic.help.map { " [\($0)]" } ?? "")
        }
    }

    static func object(_ json: String) throws -> JSONObject {
        try #require(try JSONParser.parse(json).objectValue)
    }

    static let uuidA = "6f1c2d3e00004000800000000000000a"
    static let uuidB = "6f1c2d3e00004000800000000000000b"
}

extension StoredOperation {
    /// Coerces and gives the call.
    func query(_ json: String = "{}", auth: Auth? = nil, nowMs: Int64 = 0) throws -> QueryCall {
        try queryCall(variables: try coerce(try CatalogHarness.object(json)), auth: auth, nowMs: nowMs)
    }

    func mutation(_ json: String = "{}", auth: Auth? = nil, nowMs: Int64 = 0) throws -> MutationCall {
        var count = 0
        return try mutationCall(
            variables: try coerce(try CatalogHarness.object(json)), auth: auth, nowMs: nowMs
        ) {
            count += 1
            let digits = String(count)
            return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
        }
    }
}
