internal import GraphQLLanguage
internal import JSON

// Declaration and use of variables.

extension OperationScope {
    /// The declared variables, in order; those with a problem are left out after a diagnostic.
    func resolveVariables() -> [VariableSpec] {
        var specs: [VariableSpec] = []
        for definition in operation.variables {
            let name = definition.name.value
            let place = Place(range: definition.name.range, file: file)
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
        let place = Place(range: reference.range, file: file)
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
        if case .list(let element) = type.nullable, case .filter = element.nullable {
            error(
                "variable-type", at: place, "a list of filters is not offered",
                help: "one filter can hold a list: _and and _or")
            return nil
        }
        return type
    }

    /// Ends of generated inputs that only stand inside others.
    private static let suffixesOfParts = [
        "_Having", "_ListFilter", "_Filter", "_Update", "_ListUpdate", "_Expr", "_Relative", "_Duration", "_Pattern",
    ]

    private func allowance(of definition: VariableDefinition, type: InputType) -> DataAllowance? {
        let table = type.dataType.flatMap(schema.table(ofType:))
        var allowance: DataAllowance?
        for directive in definition.directives {
            let place = Place(range: directive.range, file: file)
            if directive.name.value == "retired" {
                checkRetired(directive, in: file)
                continue
            }
            guard directive.name.value == "allow" else {
                error(
                    "unknown-directive", at: place, "@\(directive.name.value) is not offered on variables",
                    help: DidYouMean.help(directive.name.value, among: ["allow", "retired"]))
                continue
            }
            guard let table else {
                error("allow", at: place, "@allow belongs to variables of a _Data type")
                continue
            }
            if allowance != nil { error("allow", at: place, "@allow may be given once") }
            allowance = self.allowance(directive, table)
        }
        if let table, allowance == nil {
            warning(
                "allow", at: Place(range: definition.range, file: file),
                "\"$\(definition.name.value)\" lets clients set every column of \(table.typeName)",
                help:
                    "name those meant: @allow(fields: \"\(table.columns.prefix(2).map(\.field).joined(separator: " "))\")"
            )
            allowance = DataAllowance(fields: nil, countMax: DataAllowance.countMaxDefault)
        }
        return allowance
    }

    private func allowance(_ directive: Directive, _ table: Table) -> DataAllowance {
        var fields: Set<String>?
        var countMax = DataAllowance.countMaxDefault
        for argument in directive.arguments {
            let place = Place(range: argument.value.range, file: file)
            switch argument.name.value {
            case "fields":
                guard let text = argument.value.stringValue else {
                    error("allow", at: place, "expected names of fields in one string, separated by blanks")
                    continue
                }
                let names = text.split(whereSeparator: \.isWhitespace).map(String.init)
                if let part = names.first(where: { $0.contains("{") || $0.contains("}") }) {
                    error(
                        "allow", at: place, "\"\(part)\": rows of other tables cannot come in a variable",
                        help: "write the nested rows in the operation and put variables at their leaves")
                    fields = []
                    continue
                }
                let known = table.columns.map(\.field) + table.references.map(\.field)
                for name in names where !known.contains(name) {
                    error(
                        "allow", at: place, "\(table.typeName)_Data has no field \"\(name)\" that can be allowed",
                        help: DidYouMean.help(name, among: known))
                }
                fields = Set(names)
            case "maxCount":
                guard let count = argument.value.intValue, (1...Int64(CoercionPlan.listCountMax)).contains(count) else {
                    error("allow", at: place, "expected a number from 1 to \(CoercionPlan.listCountMax)")
                    continue
                }
                countMax = Int(count)
            default:
                error(
                    "unknown-argument", at: Place(range: argument.name.range, file: file),
                    "@allow has no argument \"\(argument.name.value)\"",
                    help: DidYouMean.help(argument.name.value, among: ["fields", "maxCount"]))
            }
        }
        if fields == nil {
            error("allow", at: Place(range: directive.range, file: file), "@allow needs the argument \"fields\"")
        }
        return DataAllowance(fields: fields, countMax: countMax)
    }

    /// Marks a variable as used; nil, after a diagnostic, if there is none of that name.
    func use(variable name: String, at place: Place) -> VariableSpec? {
        usedVariables.insert(name)
        if let variable = variables[name] { return variable }
        if !declaredNames.contains(name) {
            error(
                "undefined-variable", at: place, "the operation declares no variable \"$\(name)\"",
                help: DidYouMean.help(name, among: operation.variables.map(\.name.value)))
        }
        return nil
    }

    func mismatch(_ variable: VariableSpec, expected: String, at place: Place) {
        error(
            "variable-position", at: place,
            "\"$\(variable.name)\" of type \(variable.typeText) cannot stand where \(expected) is expected")
    }

    func warnAboutUnusedVariables() {
        if hasFollowUps { return }
        for definition in operation.variables where !usedVariables.contains(definition.name.value) {
            warning(
                "unused-variable", at: Place(range: definition.name.range, file: file),
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
