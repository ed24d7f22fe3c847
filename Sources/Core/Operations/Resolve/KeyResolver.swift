import GraphQLLanguage
package import SchemaModel

extension OperationScope {
    /// Returns the arguments that select a single row: `id`, `id_expr`, …, `key`, `first`.
    func targetArguments(of table: Table) -> [String] {
        table.key + table.key.map(FieldForm.expression.name) + ["key", "first"]
    }

    /// Resolves the row that a lookup, update or delete selects; returns nil after a diagnostic.
    func target(of field: SelectedField, _ arguments: [String: Value], _ table: Table) -> RowTarget? {
        let flat = arguments.filter {
            $0.key != "key" && $0.key != "first" && targetArguments(of: table).contains($0.key)
        }
        let given = (flat.isEmpty ? 0 : 1) + (arguments["key"] == nil ? 0 : 1) + (arguments["first"] == nil ? 0 : 1)
        let byName = table.key.count == 1 ? table.key[0] : table.key.joined(separator: " and ")
        guard given == 1 else {
            error(
                .rowTarget, at: field.nameRange,
                given == 0
                    ? "\"\(field.name.value)\" needs to select a row"
                    : "\"\(field.name.value)\" takes only one of \(byName), key and first",
                help: given == 0 ? "give \(byName), key or first" : nil)
            return nil
        }
        if let first = arguments["first"] { return self.first(first, table, in: field.file) }
        let operands: [Operand]?
        if let key = arguments["key"] {
            operands = self.key(key, of: table, in: field.file)
        } else {
            operands = parts(
                flat.map { (Name($0.key, range: $0.value.range), $0.value) }, of: table, named: field.name.value,
                at: field.nameRange, in: field.file)
        }
        return operands.map(RowTarget.key)
    }

    /// Resolves `{where: {…}, orderBy: …}` or a variable; returns nil after a diagnostic.
    func first(_ value: Value, _ table: Table, in file: SourceFile) -> RowTarget? {
        if value.variableName != nil {
            // Without a value, it would select an arbitrary row.
            return variable(value, .generated(.firstRow(table.typeName)), isRequired: true, in: file)
                .map(RowTarget.variable)
        }
        guard
            let fields = inputFields(
                value, of: "\(table.typeName)_FirstRow", offered: ["where", "orderBy"], in: file)
        else { return nil }
        var filter = Filter.all([])
        var order: [OrderTerm] = []
        for (name, value) in fields {
            if name.value == "where" {
                filter = self.filter(value, table, in: file)
            } else {
                order = orderTerms(value, table, in: file)
            }
        }
        return .first(filter, order)
    }

    /// Resolves `{id: $id}`, `{id_expr: "auth.uid"}`, `{novel: {id: $id}}` or a variable of type `T_Key`. Returns
    /// operands in key order.
    func key(_ value: Value, of table: Table, in file: SourceFile) -> [Operand]? {
        let range = FileRange(range: value.range, file: file)
        let typeName = "\(table.typeName)_Key"
        if let name = value.variableName {
            guard let variable = use(variable: name, at: range) else { return nil }
            guard variable.type.nullable == .key(table.typeName) else {
                mismatch(variable, expected: typeName, at: range)
                return nil
            }
            return table.keyColumns.map {
                Operand(.variable(name, path: [$0.field]), type: $0.type, schema: schema)
            }
        }
        let references = table.keyReferences(in: schema)
        let offered = table.key + table.key.map(FieldForm.expression.name) + references.map(\.field)
        guard let fields = inputFields(value, of: typeName, offered: offered, in: file) else { return nil }
        var nested: [String: Operand] = [:]
        for (name, value) in fields {
            guard let reference = references.first(where: { $0.field == name.value }),
                let target = schema.table(ofType: reference.targetType)
            else { continue }
            guard let operands = key(value, of: target, in: file) else { return nil }
            for (column, operand) in zip(target.keyColumns, operands) {
                guard let position = reference.targetFields.firstIndex(of: column.field) else { continue }
                if nested.updateValue(operand, forKey: reference.localFields[position]) != nil {
                    error(
                        .incompleteKey, at: FileRange(range: name.range, file: file),
                        "\"\(reference.localFields[position])\" is given more than once")
                }
            }
        }
        return parts(
            fields.map { ($0.name, $0.value) }, nested, of: table, named: typeName, at: range, in: file)
    }

    /// - Parameter nested: columns that keys of references supply.
    private func parts(
        _ given: [(Name, Value)], _ nested: [String: Operand] = [:], of table: Table, named: String,
        at range: FileRange,
        in file: SourceFile
    ) -> [Operand]? {
        var operands: [Operand] = []
        for column in table.keyColumns {
            let plain = given.first { $0.0.value == column.field }?.1
            let expressionName = FieldForm.expression.name(of: column.field)
            let expression = given.first { $0.0.value == expressionName }?.1
            if let operand = nested[column.field] {
                if plain != nil || expression != nil {
                    error(.incompleteKey, at: range, "\"\(column.field)\" is given more than once")
                }
                operands.append(operand)
                continue
            }
            switch (plain, expression) {
            case (nil, nil):
                error(
                    .incompleteKey, at: range, "\(named) needs \"\(column.field)\"",
                    help: "the key of \(table.typeName) is \(table.key.joined(separator: ", "))")
            case (.some, .some):
                error(.incompleteKey, at: range, "give either \"\(column.field)\" or \"\(expressionName)\"")
            case (let value?, nil):
                if let operand = operand(value, type: column.type, in: file) { operands.append(operand) }
            case (nil, let value?):
                if let operand = expressionOperand(value, type: column.type, in: file) { operands.append(operand) }
            }
        }
        return operands.count == table.key.count ? operands : nil
    }
}

extension Table {
    /// Returns the references whose columns are all part of the key, so that this table's key may contain theirs.
    package func keyReferences(in schema: Schema) -> [Reference] {
        references.filter {
            $0.targetFieldsAreKey(in: schema) && $0.localFields.allSatisfy(key.contains)
        }
    }
}
