package import CEL
package import JSON
package import LiveModel
import SchemaModel

/// What `auth` has in expressions and conditions. Source: docs/reference/sql-connect.md §5.1, "CEL bindings".
enum AuthBinding {
    static let fields = ["uid", "token"]
}

/// A CEL expression of an operation: `@auth(expr:)`, `id_expr`, `eq_expr`, `@default(expr:)`, `@check(expr:)`.
///
/// It sees `auth` (null when signed out; what is selected below is then null), `vars.<name>`, `request.time` and
/// `request.operationName`; `request.auth` and `request.variables` are other words for the first two. Where a place
/// allows it, `response.<key>` is what the fields before gave, and `this` the value that is checked.
/// Source: docs/reference/sql-connect.md §5.1, "CEL bindings".
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

    /// Whether the result may change by itself as time passes.
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

    /// Names read under `vars`.
    var variablesRead: [String] {
        program.attributes.compactMap { attribute in
            switch (attribute.root, attribute.fields.first) {
            case ("vars", let name?): name
            case ("request", "variables"): attribute.fields.dropFirst().first
            default: nil
            }
        }
    }

    /// Fields of `auth` that it reads and that no `auth` has.
    var strangersOfAuth: Set<String> {
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

    /// Keys of `response` that it names.
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

    /// The result as a value of a column's type, in canonical form.
    /// - Throws: `.invalidVariable` when the evaluation fails or gives something else; the text of the expression is
    ///   the developer's and may be told, its value is not.
    func value(as type: ColumnType, in invocation: Invocation) throws(RequestError) -> JSONValue {
        let result: CEL.Value
        do {
            result = try evaluate(invocation)
        } catch {
            throw RequestError(.invalidVariable, "the expression '\(text)' has no value (\(error.code.rawValue))")
        }
        // `request.time` is the usual default of a column; its text need not be read again.
        if case .timestamp(let time) = result, type == ColumnType(.timestamp) {
            return .string(TimeText.text(of: time))
        }
        guard let json = Self.json(result, depth: 0) else {
            throw RequestError(.invalidVariable, "the expression '\(text)' gives no JSON value")
        }
        if json.isNull { return .null }
        do throws(ScalarCoercion.Mismatch) {
            return try ScalarCoercion(enums: enums).coerce(json, to: type)
        } catch {
            throw RequestError(
                .invalidVariable, "the expression '\(text)' gives the wrong type: expected \(error.expected)")
        }
    }

    /// Enum types of the schema, for results that name a value.
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
