import GraphQLLanguage
import JSON
import SchemaModel

// MARK: Declaration and use of variables

extension OperationScope {
    /// Returns the declared variables, in order; those with a problem are reported and omitted.
    func resolveVariables() -> [VariableSpec] {
        var specs: [VariableSpec] = []
        var names: Set<String> = []
        for definition in operation.variables {
            let name = definition.name.value
            let range = FileRange(range: definition.name.range, file: file)
            guard names.insert(name).inserted else {
                error(.uniqueVariableName, at: range, "variable \"$\(name)\" is declared more than once")
                continue
            }
            guard let type = inputType(definition.type) else { continue }
            let allowlist = allowlist(of: definition, type: type)
            var defaultValue: JSONValue?
            if let literal = definition.defaultValue {
                guard let value = constant(literal, as: type, in: file) else { continue }
                defaultValue = value
            }
            specs.append(
                VariableSpec(
                    name: name, type: type, defaultValue: defaultValue, allowlist: allowlist, schema: schema))
        }
        return specs
    }

    private func inputType(_ reference: TypeReference) -> InputType? {
        let name = reference.namedType
        let range = FileRange(range: reference.range, file: file)
        guard let type = schema.inputType(reference) else {
            if schema.table(ofType: name) != nil {
                error(
                    .variableType, at: range, "a variable cannot have the output type \"\(name)\"",
                    help: "use \(name)_Key or \(name)_Data, or one variable for each column")
            } else if Self.suffixesOfParts.contains(where: name.hasSuffix) {
                error(
                    .variableType, at: range, "variables of type \"\(name)\" are not supported",
                    help: "write a literal in the operation, with variables as its leaves")
            } else if name == "ID" {
                error(
                    .variableType, at: range, "variables of type \"ID\" are not supported", help: "use UUID or String"
                )
            } else {
                error(
                    .unknownType, at: range, "unknown type \"\(name)\"",
                    help: dataTypeHelp(name) ?? ScalarType.help(name, among: schema.inputTypeNames), unknown: name)
            }
            return nil
        }
        if type.listDepth > 1 {
            error(.variableType, at: range, "lists of lists are not supported")
            return nil
        }
        return type
    }

    /// Returns `did you mean "Novel_Data"?` for names that the type has had: `Novel_Insert`, `Novel_Update`.
    private func dataTypeHelp(_ name: String) -> String? {
        let table = schema.tables.first { table in
            ["Insert", "Update", "Upsert", "Input"].contains { name == "\(table.typeName)_\($0)" }
        }
        return table.map { "did you mean \"\($0.typeName)_Data\"?" }
    }

    /// Suffixes of generated input types that are only used inside others.
    private static let suffixesOfParts = [
        "_Expr", "_ListExpr", "_Embed", "_Embed_Model",
    ]

    /// Marks a variable as used and returns it; nil, after a diagnostic, if it is not declared.
    func use(variable name: String, at range: FileRange) -> VariableSpec? {
        findings.usedVariables.insert(name)
        if let variable = variables[name] { return variable }
        if !context.declaredNames.contains(name) {
            error(
                .undefinedVariable, at: range, "the operation declares no variable \"$\(name)\"",
                help: DidYouMean.help(name, among: operation.variables.map(\.name.value)))
        }
        return nil
    }

    /// Returns the name of the variable used for a whole input of the type; nil after a diagnostic.
    /// - Parameter isRequired: whether null is rejected.
    func variable(_ value: Value, _ type: InputType, isRequired: Bool = false, in file: SourceFile) -> String? {
        let range = FileRange(range: value.range, file: file)
        guard let variable = value.variableName.flatMap({ use(variable: $0, at: range) }) else { return nil }
        guard variable.type.nullable == type, variable.type.isNonNull || !isRequired else {
            mismatch(variable, expected: type.text + (isRequired ? "!" : ""), at: range)
            return nil
        }
        return variable.name
    }

    func mismatch(_ variable: VariableSpec, expected: String, at range: FileRange) {
        error(
            .variablePosition, at: range,
            "\"$\(variable.name)\" of type \(variable.typeText) cannot be used where \(expected) is expected")
    }

    /// Returns the declared variables that nothing in the operation uses, as far as that is known.
    func unusedVariables() -> [Name] {
        if findings.hasFollowUps { return [] }
        return operation.variables.map(\.name).filter { !findings.usedVariables.contains($0.value) }
    }
}

extension InputType {
    var listDepth: Int {
        switch self {
        case .list(let element): 1 + element.listDepth
        case .nonNull(let inner): inner.listDepth
        case .scalar, .key, .data, .relative, .duration, .generated, .orderDirection, .searchFormat: 0
        }
    }

    /// The table type of a `_Data` type or of lists of it.
    var dataType: String? {
        switch self {
        case .data(let type): type
        case .list(let inner), .nonNull(let inner): inner.dataType
        case .scalar, .key, .relative, .duration, .generated, .orderDirection, .searchFormat: nil
        }
    }
}
