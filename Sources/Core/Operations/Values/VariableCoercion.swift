package import JSON
package import LiveModel
package import SchemaModel

/// Coerces the variables of a request (GraphQL specification §6.1.2).
///
/// The result contains the declared variables in order of declaration. A variable that was not sent and has no default
/// is absent; an explicit null is kept. Errors contain the variable, the path within it and the expectation, never the
/// value.
package struct VariableCoercion: Sendable {
    package let variables: [VariableSpec]
    package let scalars: ScalarCoercion
    package let schema: Schema

    package init(variables: [VariableSpec], scalars: ScalarCoercion, schema: Schema) {
        self.variables = variables
        self.scalars = scalars
        self.schema = schema
    }

    package func coerce(_ sent: JSONObject) throws(RequestError) -> JSONObject {
        var coerced = JSONObject()
        var found = 0
        for variable in variables {
            guard let value = sent[variable.name] else {
                if let defaultValue = variable.defaultValue {
                    coerced[variable.name] = defaultValue
                } else if variable.isRequired {
                    throw Path(variable: variable.name).missing(variable.typeText)
                }
                continue
            }
            found += 1
            let path = Path(variable: variable.name)
            if value.isNull, variable.type.isNonNull { throw path.null(variable.typeText) }
            let result = try coerce(value, variable.plan, path)
            if variable.isCount, let count = result.intValue, count < 0 {
                throw path.expected("an integer from 0 to \(Int32.max)")
            }
            if let countMax = variable.rowsMax, variable.rowCount(result) > countMax {
                throw path.expected("at most \(countMax) rows, including nested ones")
            }
            coerced[variable.name] = result
        }
        if found < sent.count { throw unknown(in: sent) }
        return coerced
    }

    private func unknown(in sent: JSONObject) -> RequestError {
        let names = variables.map(\.name)
        let unknown = sent.keys.first { !names.contains($0) } ?? ""
        // The name is the client's; truncated to limit the size of the response.
        let shown = String(unknown.prefix(64))
        let help = DidYouMean.help(unknown, among: names).map { "; \($0)" } ?? ""
        return RequestError(.invalidVariable, "the operation has no variable \"$\(shown)\"\(help)")
    }

    private struct Path {
        let variable: String
        var rest = ""

        func field(_ name: String) -> Path { Path(variable: variable, rest: rest + "." + name) }
        func index(_ index: Int) -> Path { Path(variable: variable, rest: rest + "[\(index)]") }

        func expected(_ what: String) -> RequestError {
            RequestError(.invalidVariable, "variable \"$\(variable)\(rest)\": expected \(what)")
        }

        // The SDKs' tests expect "is missing" and "is null".
        func missing(_ required: String = "a value") -> RequestError {
            RequestError(.invalidVariable, "variable \"$\(variable)\(rest)\" is missing: \(required) is required")
        }

        func null(_ required: String = "a value") -> RequestError {
            RequestError(.invalidVariable, "variable \"$\(variable)\(rest)\" is null: \(required) is required")
        }
    }

    private func coerce(_ value: JSONValue, _ plan: CoercionPlan, _ path: Path) throws(RequestError) -> JSONValue {
        if case .nonNull(let inner) = plan {
            guard !value.isNull else { throw path.null() }
            return try coerce(value, inner, path)
        }
        if value.isNull { return .null }
        switch plan {
        case .nonNull(let inner): return try coerce(value, inner, path)
        case .scalar(let scalar):
            do {
                return try scalars.coerce(value, to: scalar)
            } catch {
                throw path.expected(error.expected)
            }
        case .word(let words):
            guard let text = value.stringValue, words.contains(text) else {
                throw path.expected(words.joined(separator: " or "))
            }
            return value
        case .list(let element, let countMax):
            // A single value is coerced to a list (GraphQL specification §3.11).
            guard let elements = value.arrayValue else { return .array([try coerce(value, element, path)]) }
            guard elements.count <= countMax else { throw path.expected("at most \(countMax) elements") }
            var coerced: [JSONValue] = []
            coerced.reserveCapacity(elements.count)
            for (index, inner) in elements.enumerated() {
                coerced.append(try coerce(inner, element, path.index(index)))
            }
            return .array(coerced)
        case .object(let typeName, let members):
            guard let object = value.objectValue else { throw path.expected("an object of type \(typeName)") }
            return .object(try coerce(object, typeName, members, path))
        case .generated(let input):
            return try coerceInput(path) { inputs throws(InputCoercion.Mismatch) in
                try inputs.coerce(value, to: input)
            }
        case .relative(let isDate):
            return try coerceInput(path) { inputs throws(InputCoercion.Mismatch) in
                try inputs.relative(value, isDate: isDate, "")
            }
        case .change(let type):
            return try coerceInput(path) { inputs throws(InputCoercion.Mismatch) in
                try inputs.change(value, type)
            }
        }
    }

    private func coerceInput(
        _ path: Path, _ coerce: (inout InputCoercion) throws(InputCoercion.Mismatch) -> JSONValue
    ) throws(RequestError) -> JSONValue {
        var inputs = InputCoercion(schema: schema, scalars: scalars)
        do throws(InputCoercion.Mismatch) {
            return try coerce(&inputs)
        } catch {
            // Field names are the client's; truncated to limit the size of the response.
            throw Path(variable: path.variable, rest: path.rest + error.path.prefix(200)).expected(error.expected)
        }
    }

    private func coerce(
        _ object: JSONObject, _ typeName: String, _ members: [CoercionPlan.Member], _ path: Path
    ) throws(RequestError) -> JSONObject {
        var coerced = JSONObject()
        var found = 0
        for member in members {
            let memberPath = path.field(member.name)
            guard let inner = object[member.name] else {
                if member.isRequired { throw memberPath.missing() }
                continue
            }
            found += 1
            if let conflict = member.conflicts.first(where: { object[$0] != nil }) {
                throw memberPath.expected("no value, because \"\(conflict)\" sets the same column")
            }
            if member.isRequired, inner.isNull { throw memberPath.null() }
            coerced[member.name] = try coerce(inner, member.plan, memberPath)
        }
        if found < object.count {
            let unknown = object.keys.first { name in !members.contains { $0.name == name } } ?? ""
            let help = DidYouMean.help(unknown, among: members.map(\.name)).map { "; \($0)" } ?? ""
            throw RequestError(
                .invalidVariable,
                "variable \"$\(path.variable)\(path.rest)\": \(typeName) has no field"
                    + " \"\(unknown.prefix(64))\" here\(help)")
        }
        return coerced
    }
}
