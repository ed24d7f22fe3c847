/// Deduces the type of an expression and reports operations that cannot evaluate (langdef "Gradual Type Checking"). A
/// reported node gets the type `error`, which is assignable to everything, so that one mistake yields one diagnostic.
struct Checker {
    private let environment: Environment
    private let source: String
    private var types = Substitution()
    /// Variables of the enclosing macros, innermost last.
    private var locals: [(name: String, type: CELType)] = []
    private var diagnostics: [Diagnostic] = []

    init(environment: Environment, source: String) {
        self.environment = environment
        self.source = source
    }

    mutating func check(_ expression: Expression, expecting expected: CELType?) throws(CompileFailure) -> CELType {
        let type = self.type(of: expression)
        if let expected, !types.assign(type, to: expected) {
            report(.expectedType(expected, found: types.apply(type, unknownToDyn: true)), at: expression)
        }
        guard diagnostics.isEmpty else {
            throw CompileFailure(diagnostics: diagnostics.sorted { $0.offset < $1.offset })
        }
        return types.apply(type, unknownToDyn: true)
    }

    private mutating func report(_ message: DiagnosticMessage, at expression: Expression) {
        guard diagnostics.count < environment.limits.diagnosticsMax else { return }
        diagnostics.append(
            Diagnostic(message: message.text, offset: expression.range.lowerBound, source: source))
    }

    private mutating func type(of expression: Expression) -> CELType {
        switch expression.kind {
        case .constant(let value): return Self.type(of: value)
        case .identifier, .select: return typeOfName(expression)
        case .presence(let operand, _):
            let operandType = type(of: operand)
            _ = fieldType(of: operandType, at: expression)
            return .bool
        case .call(let name, let target, let arguments):
            return typeOfCall(name, target: target, arguments: arguments, at: expression)
        case .logic(_, let operands):
            for operand in operands { require(.bool, of: operand) }
            return .bool
        case .list(let elements):
            var elementType: CELType?
            for element in elements {
                let type = type(of: element)
                elementType = types.join(elementType, type)
            }
            return .list(elementType ?? types.freshParameter())
        case .map(let entries): return typeOfMap(entries)
        case .message(let name):
            report(.undeclaredReference(name, container: environment.container), at: expression)
            return .error
        case .comprehension(let comprehension): return typeOfComprehension(comprehension)
        case .optionalSelect(let operand, _):
            let operandType = types.apply(type(of: operand))
            return .optional(fieldType(of: operandType.wrapped ?? operandType, at: expression))
        case .splice(let operand): return wrappedType(of: operand)
        case .bind(let variable, let value, let body):
            locals.append((variable, type(of: value)))
            defer { locals.removeLast() }
            return type(of: body)
        case .optionalMap(let operand, let variable, let body, let isFlat):
            locals.append((variable, wrappedType(of: operand)))
            defer { locals.removeLast() }
            return .optional(isFlat ? wrappedType(of: body) : type(of: body))
        }
    }

    /// Returns the type inside the expression's optional type; reports an expression that is not optional.
    private mutating func wrappedType(of expression: Expression) -> CELType {
        let found = types.apply(type(of: expression))
        if let wrapped = found.wrapped { return wrapped }
        if found.isDynamic { return .dyn }
        if case .typeParameter = found { return .dyn }
        report(.expectedType(.optional(.dyn), found: found), at: expression)
        return .error
    }

    private static func type(of constant: Value) -> CELType {
        switch constant {
        case .null: .null
        case .bool: .bool
        case .int: .int
        case .uint: .uint
        case .double: .double
        case .string: .string
        case .bytes: .bytes
        case .duration: .duration
        case .timestamp: .timestamp
        case .type: .type(nil)
        case .list: .list(.dyn)
        case .map: .map(.dyn, .dyn)
        case .optional: .optional(.dyn)
        }
    }

    private mutating func require(_ expected: CELType, of expression: Expression) {
        let found = type(of: expression)
        if !types.assign(found, to: expected) {
            report(.expectedType(expected, found: types.apply(found, unknownToDyn: true)), at: expression)
        }
    }

    // MARK: Names

    private mutating func typeOfName(_ expression: Expression) -> CELType {
        if let name = QualifiedName(expression) {
            let local = localType(of: name)
            if let local, name.parts.count == 1 { return local }
            if local == nil {
                switch environment.names.denotation(of: name.text, isAbsolute: name.isAbsolute) {
                case .variable(let index): return environment.variables[index].type
                case .type(let name): return .type(Self.typeNamed(name))
                case nil: break
                }
            }
        }
        switch expression.kind {
        case .select(let operand, _, _):
            let operandType = type(of: operand)
            return fieldType(of: operandType, at: expression)
        case .identifier("nil", isAbsolute: false) where environment.options.allowsNilLiteral:
            return .null
        case .identifier(let name, _):
            report(.undeclaredReference(name, container: environment.container), at: expression)
            return .error
        default:
            return .error
        }
    }

    private func localType(of name: QualifiedName) -> CELType? {
        name.isAbsolute ? nil : locals.last { $0.name == name.parts[0] }?.type
    }

    private static func typeNamed(_ name: String) -> CELType? {
        switch name {
        case "null_type": .null
        case "bool": .bool
        case "int": .int
        case "uint": .uint
        case "double": .double
        case "string": .string
        case "bytes": .bytes
        case "google.protobuf.Duration": .duration
        case "google.protobuf.Timestamp": .timestamp
        case "list": .list(.dyn)
        case "map": .map(.dyn, .dyn)
        case "optional_type": .optional(.dyn)
        default: nil
        }
    }

    private mutating func fieldType(of operand: CELType, at expression: Expression) -> CELType {
        switch types.apply(operand) {
        case .map(let key, let value):
            if types.assign(.string, to: key) { return types.apply(value) }
            report(.noFields(types.apply(operand, unknownToDyn: true)), at: expression)
            return .error
        case .dyn, .error, .typeParameter: return .dyn
        // A field selected from an optional is itself optional.
        case .abstract("optional_type", let parameters):
            return .optional(fieldType(of: parameters.first ?? .dyn, at: expression))
        case let other:
            report(.noFields(other), at: expression)
            return .error
        }
    }

    // MARK: Calls

    private mutating func typeOfCall(
        _ name: String, target: Expression?, arguments: [Expression], at expression: Expression
    ) -> CELType {
        let call = CallResolution(name, target: target, arguments: arguments, names: environment.names) { root in
            locals.contains { $0.name == root }
        }
        let operands = call.operands
        var argumentTypes: [CELType] = []
        for operand in operands { argumentTypes.append(type(of: operand)) }
        let overloads = environment.overloads(of: call)
        guard !overloads.isEmpty else {
            report(.undeclaredReference(call.name, container: environment.container), at: expression)
            return .error
        }
        var result: CELType?
        for overload in overloads where overload.isInstance == call.isInstance {
            let (parameters, overloadResult) = types.instantiate(overload)
            guard types.assign(argumentTypes, to: parameters) else { continue }
            let candidate = types.apply(overloadResult)
            if let known = result {
                if !known.isDynamic, known != candidate { result = .dyn }
            } else {
                result = candidate
            }
        }
        if let result { return result }
        let shown = argumentTypes.map { types.apply($0, unknownToDyn: true) }
        report(.noMatchingOverload(call.name, shown, isInstance: call.isInstance), at: expression)
        return .error
    }

    // MARK: Aggregates

    private mutating func typeOfMap(_ entries: [Expression.Entry]) -> CELType {
        var keyType: CELType?
        var valueType: CELType?
        for entry in entries {
            let key = type(of: entry.key)
            switch types.apply(key) {
            case .bool, .int, .uint, .string, .dyn, .error, .typeParameter: break
            case let other: report(.unsupportedKey(other), at: entry.key)
            }
            keyType = types.join(keyType, key)
            let value = type(of: entry.value)
            valueType = types.join(valueType, value)
        }
        return .map(keyType ?? types.freshParameter(), valueType ?? types.freshParameter())
    }

    private mutating func typeOfComprehension(_ comprehension: Expression.Comprehension) -> CELType {
        let rangeType = type(of: comprehension.range)
        let variableType: CELType
        switch types.apply(rangeType) {
        case .list(let element): variableType = element
        case .map(let key, _): variableType = key
        case .dyn, .error: variableType = .dyn
        case .typeParameter:
            _ = types.assign(.dyn, to: rangeType)
            variableType = .dyn
        case let other:
            report(.notIterable(other), at: comprehension.range)
            variableType = .error
        }
        locals.append((comprehension.variable, variableType))
        defer { locals.removeLast() }
        if let predicate = comprehension.predicate { require(.bool, of: predicate) }
        switch comprehension.macro {
        case .all, .exists, .existsOne: return .bool
        case .filter: return .list(variableType)
        case .map: return .list(comprehension.transform.map { type(of: $0) } ?? .dyn)
        }
    }
}
