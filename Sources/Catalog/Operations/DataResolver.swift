internal import GraphQLLanguage
internal import JSON

/// Resolution of `data`. Source: SQL Connect language §5.6.
extension OperationScope {
    enum DataUse {
        /// The row may come to be, so all that is required must be there.
        case insert
        case update
    }

    /// `{title: $title, movie: {id: $id}}` or a variable of type `T_Data`; nil after a diagnostic.
    func row(_ value: Value, _ table: Table, _ use: DataUse, in file: SourceFile) -> RowData? {
        let place = Place(range: value.range, file: file)
        let given: [String: Assignment]
        if let name = value.variableName {
            guard let variable = self.use(variable: name, at: place) else { return nil }
            guard variable.type.nullable == .data(table.typeName) else {
                mismatch(variable, expected: "\(table.typeName)_Data", at: place)
                return nil
            }
            if !variable.type.isNonNull {
                error(
                    "variable-position", at: place, "\"$\(name)\" may be null, but there must be data",
                    help: "declare it as \(table.typeName)_Data!")
            }
            given = sent(name, table, variable.allowance)
        } else {
            guard let assignments = assignments(value, table, use, in: file) else { return nil }
            given = assignments
        }
        guard use == .insert else { return RowData(given: given, defaults: [:]) }
        let defaults = defaults(of: table, given: given, at: place)
        if value.variableName == nil { requireColumns(table, given, defaults, at: place) }
        return RowData(given: given, defaults: defaults)
    }

    /// Every column that a `_Data` variable may bring, each under the condition that it was sent: by its own name, or as
    /// a part of the key object of a reference.
    func sent(_ name: String, _ table: Table, _ allowance: DataAllowance?) -> [String: Assignment] {
        func isAllowed(_ field: String) -> Bool { allowance?.fields?.contains(field) ?? true }
        var given: [String: Assignment] = [:]
        for column in table.columns {
            var values: [[String]] = []
            var tests: [[String]] = []
            if isAllowed(column.field) {
                values.append([column.field])
                tests.append([column.field])
            }
            for reference in table.references
            where isAllowed(reference.field) && reference.targetFieldsAreKey(in: schema) {
                guard let position = reference.localFields.firstIndex(of: column.field) else { continue }
                values.append([reference.field, reference.targetFields[position]])
                tests.append([reference.field])
            }
            guard !values.isEmpty else { continue }
            given[column.field] = Assignment(
                column: column, value: .set(Operand(.firstGiven(name, values), type: column.type, schema: schema)),
                required: [.givenAny(name, tests)])
        }
        return given
    }

    private func assignments(
        _ value: Value, _ table: Table, _ use: DataUse, in file: SourceFile
    ) -> [String: Assignment]? {
        let typeName = "\(table.typeName)_Data"
        let columnFields = table.columns.map(\.field)
        let offered =
            columnFields + columnFields.map { "\($0)_expr" } + columnFields.map { "\($0)_update" }
            + table.references.map(\.field)
        guard let fields = inputFields(value, of: typeName, offered: offered, in: file) else { return nil }
        var given: [String: Assignment] = [:]
        for (name, value) in fields {
            for assignment in assignments(name, value, table, use, in: file)
            where given.updateValue(assignment, forKey: assignment.column.field) != nil {
                error(
                    "unique-input-field", at: Place(range: name.range, file: file),
                    "the column \"\(assignment.column.field)\" is given twice")
            }
        }
        return given
    }

    private func assignments(
        _ name: Name, _ value: Value, _ table: Table, _ use: DataUse, in file: SourceFile
    ) -> [Assignment] {
        let text = name.value
        if let column = table.column(ofField: text) {
            guard let operand = operand(value, type: column.type, in: file) else { return [] }
            if operand.isNullConstant, !column.isNullable {
                error(
                    "value-type", at: Place(range: value.range, file: file), "\"\(text)\" cannot be null")
            }
            return [Assignment(column: column, value: .set(operand), required: operand.given)]
        }
        if let reference = table.reference(ofField: text) {
            return assignments(reference, value, table, in: file)
        }
        if text.hasSuffix("_expr"), let column = table.column(ofField: String(text.dropLast(5))) {
            guard let operand = expressionOperand(value, type: column.type, in: file) else { return [] }
            return [Assignment(column: column, value: .set(operand), required: [])]
        }
        if text.hasSuffix("_update"), let column = table.column(ofField: String(text.dropLast(7))) {
            guard use == .update else {
                error(
                    "data-update", at: Place(range: name.range, file: file),
                    "\"\(text)\" changes a value that is there, so it belongs to an update")
                return []
            }
            return changes(value, column, in: file)
        }
        return []
    }

    /// `movie: {id: $id}` or `movie: $key`.
    private func assignments(
        _ reference: Reference, _ value: Value, _ table: Table, in file: SourceFile
    ) -> [Assignment] {
        let place = Place(range: value.range, file: file)
        let columns = reference.localFields.compactMap(table.column(ofField:))
        if value.isNull {
            if !reference.isNullable { error("value-type", at: place, "\"\(reference.field)\" cannot be null") }
            return columns.map {
                Assignment(
                    column: $0, value: .set(Operand(.constant(.null), type: $0.type, schema: schema)), required: [])
            }
        }
        guard let target = schema.table(ofType: reference.targetType), reference.targetFieldsAreKey(in: schema) else {
            error(
                "reference-data", at: place, "\"\(reference.field)\" does not refer to a primary key",
                help: "give \(reference.localFields.joined(separator: ", ")) instead")
            return []
        }
        guard let key = key(value, of: target, in: file) else { return [] }
        // An absent variable leaves the reference as it is, like any other field.
        let required = value.variableName.map { [Condition.given($0, path: [])] } ?? []
        return zip(reference.localFields, reference.targetFields).compactMap { local, targetField in
            guard let column = table.column(ofField: local),
                let position = target.keyColumns.firstIndex(where: { $0.field == targetField })
            else { return nil }
            return Assignment(column: column, value: .set(key[position]), required: required)
        }
    }

    /// `[{inc: 1}]`; lists take one of `append prepend add remove`.
    private func changes(_ value: Value, _ column: Column, in file: SourceFile) -> [Assignment] {
        let place = Place(range: value.range, file: file)
        let items = value.listValue ?? [value]
        guard items.count == 1, let item = items.first else {
            error("data-update", at: place, "exactly one change can be given")
            return []
        }
        let offered: [Assignment.Change]
        switch (column.type.isList, column.type.scalar) {
        case (true, _): offered = [.append, .prepend, .add, .remove]
        case (false, .int), (false, .int64), (false, .float): offered = [.inc, .dec]
        default: offered = []
        }
        guard !offered.isEmpty else {
            error("data-update", at: place, "\"\(column.field)\" is neither a number nor a list")
            return []
        }
        let typeName = "\(InputType(column.type).text)_Update"
        guard let fields = inputFields(item, of: typeName, offered: offered.map(\.rawValue), in: file) else {
            return []
        }
        guard fields.count == 1, let (name, amount) = fields.first,
            let change = Assignment.Change(rawValue: name.value)
        else {
            if fields.count != 1 {
                error("data-update", at: place, "give one of \(offered.map(\.rawValue).joined(separator: ", "))")
            }
            return []
        }
        guard let operand = operand(amount, type: column.type, in: file) else { return [] }
        return [Assignment(column: column, value: .change(change, operand), required: operand.presence)]
    }

    // MARK: Defaults

    /// What the node fills in: `@default(value:)` and `@default(expr:)`. A default in SQL is left to Postgres.
    func defaults(of table: Table, given: [String: Assignment], at place: Place) -> [String: Operand] {
        var defaults: [String: Operand] = [:]
        for column in table.columns {
            if let assignment = given[column.field], assignment.required.isEmpty { continue }
            switch column.defaultValue {
            case nil, .sql: continue
            case .constant(let json):
                guard let value = try? JSONParser.parse(json),
                    let constant = try? ScalarCoercion(enums: schema.enums).coerce(value, to: column.type)
                else {
                    error(
                        "default-value", at: place,
                        "the default of \"\(table.typeName).\(column.field)\" is not of the column's type")
                    continue
                }
                defaults[column.field] = Operand(.constant(constant), type: column.type, schema: schema)
            case .expression(let text):
                defaults[column.field] = expressionOperand(text, type: column.type, at: place)
            }
        }
        return defaults
    }

    private func requireColumns(
        _ table: Table, _ given: [String: Assignment], _ defaults: [String: Operand], at place: Place
    ) {
        for column in table.columns where !column.isNullable && column.defaultValue == nil && given[column.field] == nil
        {
            let reference = table.references.first { $0.localFields.contains(column.field) }
            error(
                "missing-data", at: place,
                "\"\(table.typeName)\" needs \"\(column.field)\", which has no default",
                help: reference.map { "or \($0.field): {…}" })
        }
    }
}

extension Operand {
    /// What must have been sent for an assignment of this value to take part.
    fileprivate var given: [Condition] {
        if case .variable(let name, let path) = source { [.given(name, path: path)] } else { [] }
    }
}
