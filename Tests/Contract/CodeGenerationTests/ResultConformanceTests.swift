import CodeGeneration
import Foundation
import JSON
import SchemaModel
import TestSupport
import Testing

/// The described types hold for real requests: the variables and results of the small projects of `LanguageTests`,
/// which a real Postgres produced.
@Suite struct ResultConformanceTests {
    struct Step: Sendable, CustomTestStringConvertible {
        let project: String
        let schema: String
        let operation: String
        let variables: String
        let result: String
        var testDescription: String { "\(project): \(operation.prefix(60))" }
    }

    /// All steps with a result; those that are refused have none.
    static let steps: [Step] = ["Projects", "VectorProjects"].flatMap { folder in
        Repository.files(below: "Tests/Contract/LanguageTests/\(folder)", ending: ".project").flatMap(steps)
    }

    private static func steps(of file: String) -> [Step] {
        var (schema, operation, variables) = ("", "", "")
        var steps: [Step] = []
        // `<m1>` stands for a UUID.
        let content = ((try? Repository.text(file)) ?? "").replacing(/<m([0-9])>/) { match in
            "0000000000004000800000000000000\(match.output.1)"
        }
        for section in content.components(separatedBy: "\n--- ").dropFirst() {
            let end = section.firstIndex(of: "\n") ?? section.endIndex
            let header = section[..<end]
            let text = section[end...].trimmingCharacters(in: .newlines)
            if header == "schema.gql" { schema = text }
            if header.hasPrefix("step") {
                operation = text
                variables = header.firstIndex(of: "{").map { String(header[$0...]) } ?? "{}"
            }
            if header == "result", !text.hasPrefix("!") {
                steps.append(
                    Step(
                        project: file.split(separator: "/").last.map(String.init) ?? file, schema: schema,
                        operation: operation, variables: variables, result: text))
            }
        }
        return steps
    }

    @Test func thereAreManySteps() {
        #expect(Self.steps.count > 90)
    }

    @Test(arguments: steps)
    func requestHasTheDescribedTypes(_ step: Step) throws {
        let connector = try Snippet(schema: step.schema, operations: step.operation).connector
        let operation = try #require(connector.operations.first)
        let check = Conformance(connector: connector)
        let variables = try #require(try JSONParser.parse(Array(step.variables.utf8)).objectValue)
        for variable in operation.variables {
            let value = variables[variable.name]
            #expect(value != nil || !variable.isRequired, "\(variable.name) is required")
            if let value, !(value.isNull && variable.isNullable) {
                #expect(check.problem(value, variable.type) == nil, "$\(variable.name)")
            }
        }
        let result = try JSONParser.parse(Array(step.result.utf8))
        #expect(check.problem(result, .object(operation.result)) == nil)
    }

    /// All printers accept all of these operations.
    @Test(arguments: steps)
    func everyLanguageIsPrinted(_ step: Step) throws {
        let snippet = try Snippet(schema: step.schema, operations: step.operation)
        var firebase = SwiftOptions(package: "P")
        firebase.flavor = .firebase
        for options: GenerationRequest.Options in [
            .typescript(JavaScriptOptions(package: "p")), .adminNode(JavaScriptOptions(package: "p")),
            .swift(SwiftOptions(package: "P")), .swift(firebase), .kotlin(package: "p", nil),
            .dart(package: "p", nil), .tools,
        ] {
            for (path, text) in snippet.files(options) where !path.hasSuffix(".md") && !path.hasSuffix(".json") {
                #expect(BalanceTests.problem(in: text) == nil, "\(path)")
            }
        }
    }
}

/// Compares JSON values with described types.
private struct Conformance {
    let connector: ConnectorDescription

    /// Returns the first contradiction with its path; nil if there is none.
    func problem(_ value: JSONValue, _ type: ValueType, _ path: String = "") -> String? {
        func expected(_ what: String) -> String { "\(path): expected \(what), found \(value)" }
        switch type {
        case .scalar(let scalar): return isValid(value, scalar) ? nil : expected(scalar.rawValue)
        case .enumeration(let name):
            let values = connector.enums.first { $0.name == name }?.values ?? []
            return value.stringValue.map(values.contains) == true ? nil : expected("a value of \(name)")
        case .key(let typeName):
            let fields = connector.key(of: typeName)?.fields ?? []
            guard let object = value.objectValue else { return expected("a key") }
            if Set(object.keys) != Set(fields.map(\.name)) { return expected("the fields of \(typeName)_Key") }
            return fields.lazy.compactMap { field in
                problem(object[field.name] ?? .null, field.type, "\(path).\(field.name)")
            }.first
        case .input(let name):
            guard let input = connector.input(named: name), let object = value.objectValue else {
                return expected("an object of \(name)")
            }
            for entry in object.entries {
                guard let field = input.fields.first(where: { $0.name == entry.key }) else {
                    return "\(path): \(name) has no \(entry.key)"
                }
                if entry.value.isNull { continue }
                if let found = problem(entry.value, field.type, "\(path).\(entry.key)") { return found }
            }
            return nil
        case .list(let element, let hasNullableElements):
            // GraphQL takes a single value for a list of it.
            guard let elements = value.arrayValue else { return problem(value, element, path) }
            for (index, value) in elements.enumerated() {
                if value.isNull, hasNullableElements { continue }
                if let found = problem(value, element, "\(path)[\(index)]") { return found }
            }
            return nil
        case .object(let shape):
            guard let object = value.objectValue else { return expected("an object") }
            let names = Set(shape.fields.map(\.name))
            if let unknown = object.keys.first(where: { !names.contains($0) }) { return "\(path): has \(unknown)" }
            for field in shape.fields {
                let path = "\(path).\(field.name)"
                guard let value = object[field.name] else {
                    if field.mayBeAbsent { continue }
                    return "\(path): is absent"
                }
                if value.isNull {
                    if field.isNullable { continue }
                    return "\(path): is null"
                }
                if let found = problem(value, field.type, path) { return found }
            }
            return nil
        }
    }

    private func isValid(_ value: JSONValue, _ scalar: ValueType.Scalar) -> Bool {
        switch scalar {
        case .string, .id, .date, .timestamp: value.stringValue != nil
        case .int: value.intValue != nil
        // Numbers are accepted in requests.
        case .int64: value.stringValue.map { Int64($0) != nil } ?? (value.intValue != nil)
        case .float: value.doubleValue != nil
        case .boolean: value.boolValue != nil
        case .uuid: value.stringValue.map { ScalarText.canonicalUUID($0) != nil } ?? false
        case .any: true
        case .vector: value.arrayValue?.allSatisfy { $0.doubleValue != nil } ?? false
        }
    }
}
