package import CEL
package import JSON
package import LiveModel
import SchemaModel

/// The fields of `auth` in expressions and conditions. Source: docs/reference/sql-connect.md §5.1, "CEL bindings".
enum AuthBinding {
    static let fields = ["uid", "token"]
}

/// A CEL expression of an operation: `@auth(expr:)`, `id_expr`, `eq_expr`, `@default(expr:)`, `@check(expr:)`.
///
/// It can read `auth` (null when signed out; selections below are then null), `vars.<name>`, `request.time` and
/// `request.operationName`; `request.auth` and `request.variables` are aliases of the first two. Where available,
/// `response.<key>` is the result of an earlier field, and `this` the checked value. Source:
/// docs/reference/sql-connect.md §5.1, "CEL bindings".
package struct ExpressionProgram: Sendable {
    package static let environment = Environment(
        variables: [
            VariableDeclaration(name: "auth", type: .dyn),
            VariableDeclaration(name: "vars", type: .map(.string, .dyn)),
            VariableDeclaration(name: "request", type: .map(.string, .dyn)),
            VariableDeclaration(name: "response", type: .map(.string, .dyn)),
            VariableDeclaration(name: "this", type: .dyn),
        ],
        nullSafePaths: [["auth"], ["request", "auth"]], allowNilLiteral: true)

    package let program: Program
    private let readsVariables: Bool
    private let requestFields: Set<String>
    let readsResponse: Bool
    let readsThis: Bool

    package var text: String { program.source }

    package init(_ source: String, expecting: CELType? = nil) throws(CompileFailure) {
        program = try Self.environment.compile(source, expecting: expecting)
        let attributes = program.attributes
        readsVariables = attributes.contains { $0.root == "vars" }
        readsResponse = attributes.contains { $0.root == "response" }
        readsThis = attributes.contains { $0.root == "this" }
        let all = ["time", "operationName", "auth", "variables"]
        requestFields = Set(
            attributes.filter { $0.root == "request" }.flatMap { $0.fields.first.map { [$0] } ?? all })
    }

    /// Whether the result may change as time passes.
    package var readsRequestTime: Bool { requestFields.contains("time") }

    package var authReads: AuthReads {
        var reads = AuthReads.nothing
        for attribute in program.attributes {
            switch (attribute.root, attribute.fields.first) {
            case ("auth", _): reads.add(path: attribute.fields)
            case ("request", "auth"): reads.add(path: attribute.fields.dropFirst())
            case ("request", nil): reads.add(path: [String]())
            default: break
            }
        }
        return reads
    }

    /// The names read below `vars`.
    var variablesRead: [String] {
        program.attributes.compactMap { attribute in
            switch (attribute.root, attribute.fields.first) {
            case ("vars", let name?): name
            case ("request", "variables"): attribute.fields.dropFirst().first
            default: nil
            }
        }
    }

    /// The fields of `auth` that it reads but that do not exist.
    var unknownAuthFields: Set<String> {
        Set(
            program.attributes.compactMap { attribute in
                switch attribute.root {
                case "auth": attribute.fields.first
                case "request" where attribute.fields.first == "auth": attribute.fields.dropFirst().first
                default: nil
                }
            }
        ).subtracting(AuthBinding.fields)
    }

    /// The keys of `response` that it reads.
    var responseKeys: Set<String> {
        Set(program.attributes.filter { $0.root == "response" }.compactMap(\.fields.first))
    }

    package func evaluate(
        variables: JSONObject, auth: Auth?, nowMs: Int64, operationName: String
    ) throws(EvaluationError) -> CEL.Value {
        try evaluate(
            Invocation(variables: variables, auth: auth, nowMs: nowMs, operationName: operationName))
    }

    func evaluate(_ invocation: Invocation, this: JSONValue? = nil) throws(EvaluationError) -> CEL.Value {
        try program.evaluate(
            SlotActivation([
                CEL.Value(auth: invocation.auth),
                readsVariables ? CEL.Value(jsonObject: invocation.variables.object) : nil,
                requestFields.isEmpty ? nil : request(invocation),
                readsResponse ? CEL.Value(jsonObject: invocation.response) : nil,
                readsThis ? this.map(CEL.Value.init(json:)) : nil,
            ]))
    }

    private func request(_ invocation: Invocation) -> CEL.Value {
        var members: [(String, CEL.Value)] = [("operationName", .string(invocation.operationName))]
        if requestFields.contains("time") {
            members.append(("time", TimeText.time(ofMs: invocation.nowMs).map(CEL.Value.timestamp) ?? .null))
        }
        if requestFields.contains("auth") { members.append(("auth", CEL.Value(auth: invocation.auth))) }
        if requestFields.contains("variables") {
            members.append(("variables", CEL.Value(jsonObject: invocation.variables.object)))
        }
        return .map(MapValue(members))
    }

    /// Returns the result as a canonical value of a column's type.
    /// - Throws: `.invalidVariable` if the evaluation fails or yields another type. The message contains the text of
    ///   the expression, which is the developer's, but not its value.
    func value(as type: ColumnType, in invocation: Invocation) throws(RequestError) -> JSONValue {
        let result: CEL.Value
        do {
            result = try evaluate(invocation)
        } catch {
            throw RequestError(.invalidVariable, "the expression '\(text)' failed (\(error.code.rawValue))")
        }
        // Avoids formatting and parsing again: `request.time` is the most common default.
        if case .timestamp(let time) = result, type == ColumnType(.timestamp) {
            return .string(TimeText.text(of: time))
        }
        guard let json = Self.json(result, depth: 0) else {
            throw RequestError(.invalidVariable, "the expression '\(text)' does not yield a JSON value")
        }
        if json.isNull { return .null }
        do throws(ScalarCoercion.Mismatch) {
            return try ScalarCoercion(enums: enums).coerce(json, to: type)
        } catch {
            throw RequestError(
                .invalidVariable, "the expression '\(text)' yields the wrong type: expected \(error.expected)")
        }
    }

    /// The schema's enum types, for results that are enum values.
    var enums: [String: EnumType] = [:]

    private static func json(_ value: CEL.Value, depth: Int) -> JSONValue? {
        guard depth <= ScalarCoercion.depthMax else { return nil }
        switch value {
        case .null: return .null
        case .bool(let flag): return .bool(flag)
        case .int(let number): return .int(number)
        case .uint(let number): return Int64(exactly: number).map(JSONValue.int)
        case .double(let number): return number.isFinite ? .double(number) : nil
        case .string(let text): return .string(text)
        case .timestamp(let time): return .string(TimeText.text(of: time))
        case .list(let elements):
            var values: [JSONValue] = []
            for element in elements {
                guard let inner = json(element, depth: depth + 1) else { return nil }
                values.append(inner)
            }
            return .array(values)
        case .map(let map):
            var object = JSONObject()
            for (key, element) in map.entries {
                guard case .string(let name) = key, let inner = json(element, depth: depth + 1) else { return nil }
                object[name] = inner
            }
            return .object(object)
        case .optional(let inner): return inner.map { json($0, depth: depth + 1) } ?? .null
        case .bytes, .duration, .type: return nil
        }
    }
}
