import GraphQLLanguage
import Operations
import SchemaModel

/// Collects the input objects that variables use, with those inside them.
struct InputCollector {
    private let types: GraphQLTypes
    private(set) var found: [String: InputDescription] = [:]

    init(_ types: GraphQLTypes) {
        self.types = types
    }

    /// Returns the type of a variable. Rows that it supplies are an input object of its own, since `@allow` decides
    /// about their fields.
    mutating func type(of variable: VariableSpec, in operation: String) -> ValueType {
        let name = Naming.pascal(operation) + Naming.pascal(variable.name) + "Input"
        return type(variable.plan, GraphQLTypes.reference(variable.typeText), name: name)
    }

    /// - Parameters:
    ///   - reference: the declared type, if the plan is that of a variable and not of a member of its rows.
    ///   - name: of the input object for rows.
    private mutating func type(_ plan: CoercionPlan, _ reference: TypeReference?, name: String) -> ValueType {
        switch plan {
        case .nonNull(let inner): return type(inner, reference?.nullable, name: name)
        case .list(let element, _):
            var hasNullableElements = true
            if case .nonNull = element { hasNullableElements = false }
            return .list(
                type(element, reference?.listElement, name: name), hasNullableElements: hasNullableElements)
        case .object(let typeName, let members) where typeName.hasSuffix("_Data"):
            found[name] = InputDescription(name: name, fields: [])
            var fields: [InputDescription.Field] = []
            for member in members {
                let inner = String(name.dropLast(5)) + Naming.pascal(member.name) + "Input"
                fields.append(
                    .init(
                        name: member.name, type: type(member.plan, nil, name: inner), isRequired: member.isRequired))
            }
            found[name]?.fields = fields
            return .input(name)
        case .object(let typeName, _): return named(typeName)
        case .generated:
            // Only a variable's own type says which.
            return reference.map { named($0.namedType) } ?? .scalar(.any)
        case .scalar(.enumeration(let name)): return .enumeration(name)
        case .scalar(let scalar): return types.valueType(scalar.typeName)
        case .word: return reference.map { types.valueType($0.namedType) } ?? .scalar(.string)
        case .relative(let isDate): return named(isDate ? "Date_Relative" : "Timestamp_Relative")
        case .change(let column): return .list(named(column.updateName), hasNullableElements: false)
        }
    }

    /// Returns an input type of the schema, or another type, and collects what it contains.
    private mutating func named(_ name: String) -> ValueType {
        let result = types.valueType(name)
        guard case .input = result, found[name] == nil, let input = types.inputs[name] else { return result }
        found[name] = InputDescription(name: name, fields: [])
        var fields: [InputDescription.Field] = []
        // Expressions are literals of operations, never values of variables.
        for field in input.fields where !field.type.namedType.hasSuffix("_Expr") {
            fields.append(
                .init(
                    name: field.name.value, type: type(of: field.type),
                    isRequired: field.type.isNonNull && field.defaultValue == nil))
        }
        found[name]?.fields = fields
        return result
    }

    private mutating func type(of reference: TypeReference) -> ValueType {
        switch reference.kind {
        case .nonNull(let inner): type(of: inner)
        case .list(let element): .list(type(of: element), hasNullableElements: !element.isNonNull)
        case .named(let name): named(name)
        }
    }
}
