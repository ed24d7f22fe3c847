import GraphQLLanguage
import JSON
import SchemaModel

// Declaration and use of variables.

extension OperationScope {
    /// The declared variables, in order; those with a problem are left out after a diagnostic.
    func resolveVariables() -> [VariableSpec] {
        var specs: [VariableSpec] = []
        for definition in operation.variables {
            let name = definition.name.value
            let place = FileRange(range: definition.name.range, file: file)
            guard declaredNames.insert(name).inserted else {
                error("unique-variable-name", at: place, "there is already a variable \"$\(name)\"")
                continue
            }
            guard let type = inputType(definition.type) else { continue }
            let allowance = allowance(of: definition, type: type)
            var defaultValue: JSONValue?
            if let literal = definition.defaultValue {
                guard let value = constant(literal, as: type, in: file) else { continue }
                defaultValue = value
            }
            let spec = VariableSpec(
                name: name, type: type, defaultValue: defaultValue, allowance: allowance, schema: schema)
            variables[name] = spec
            specs.append(spec)
        }
        return specs
    }

    private func inputType(_ reference: TypeReference) -> InputType? {
        let name = reference.namedType
        let place = FileRange(range: reference.range, file: file)
        guard let type = schema.inputType(reference) else {
            if schema.table(ofType: name) != nil {
                error(
                    "variable-type", at: place, "\"\(name)\" is a type of results, a variable cannot have it",
                    help: "use \(name)_Key or \(name)_Data, or one variable for each column")
            } else if Self.suffixesOfParts.contains(where: name.hasSuffix) {
                error(
                    "variable-type", at: place, "variables of type \"\(name)\" are not offered",
                    help: "write it in the operation and put variables at its leaves")
            } else if name == "ID" {
                error(
                    "variable-type", at: place, "variables of type \"ID\" are not offered", help: "use UUID or String")
            } else {
                error(
                    "unknown-type", at: place, "unknown type \"\(name)\"",
                    help: DidYouMean.help(name, among: schema.inputTypeNames), unknown: name)
            }
            return nil
        }
        if type.listDepth > 1 {
            error("variable-type", at: place, "lists of lists are not offered")
            return nil
        }
        return type
    }

    /// Ends of generated inputs that only stand inside others.
    private static let suffixesOfParts = [
        "_Expr", "_ListExpr", "_Embed", "_Embed_Model",
    ]

    /// Marks a variable as used; nil, after a diagnostic, if there is none of that name.
    func use(variable name: String, at place: FileRange) -> VariableSpec? {
        usedVariables.insert(name)
        if let variable = variables[name] { return variable }
        if !declaredNames.contains(name) {
            error(
                "undefined-variable", at: place, "the operation declares no variable \"$\(name)\"",
                help: DidYouMean.help(name, among: operation.variables.map(\.name.value)))
        }
        return nil
    }

    /// The name of the variable that stands for a whole input of the type; nil after a diagnostic.
    /// - Parameter required: null would say nothing.
    func variable(_ value: Value, _ type: InputType, isRequired: Bool = false, in file: SourceFile) -> String? {
        let place = FileRange(range: value.range, file: file)
        guard let variable = value.variableName.flatMap({ use(variable: $0, at: place) }) else { return nil }
        guard variable.type.nullable == type, variable.type.isNonNull || !isRequired else {
            mismatch(variable, expected: type.text + (isRequired ? "!" : ""), at: place)
            return nil
        }
        return variable.name
    }

    /// The variable with the bounds that its places ask for.
    func inUse(_ variable: VariableSpec) -> VariableSpec {
        var variable = variable
        if countedVariables.contains(variable.name) { variable.isCount = true }
        if dynamicRowVariables.contains(variable.name) { variable.rowsMax = InputAllowlist.dynamicRowsMax }
        return variable
    }

    func mismatch(_ variable: VariableSpec, expected: String, at place: FileRange) {
        error(
            "variable-position", at: place,
            "\"$\(variable.name)\" of type \(variable.typeText) cannot stand where \(expected) is expected")
    }

    func warnAboutUnusedVariables() {
        if hasFollowUps { return }
        for definition in operation.variables where !usedVariables.contains(definition.name.value) {
            warning(
                "unused-variable", at: FileRange(range: definition.name.range, file: file),
                "\"$\(definition.name.value)\" is never used")
        }
    }
}

extension InputType {
    var listDepth: Int {
        switch self {
        case .list(let element): 1 + element.listDepth
        case .nonNull(let inner): inner.listDepth
        default: 0
        }
    }

    /// The table type of a `_Data` type, inside lists too.
    var dataType: String? {
        switch self {
        case .data(let type): type
        case .list(let inner), .nonNull(let inner): inner.dataType
        default: nil
        }
    }
}
