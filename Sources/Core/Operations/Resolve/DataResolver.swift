import GraphQLLanguage
import JSON
import SchemaModel

/// Resolves `data`. Source: docs/reference/sql-connect.md §5.6.
extension OperationScope {
    enum DataUse {
        /// May create the row, so all required columns must be given.
        case insert
        case upsert
        case update
    }

    /// Resolves `{title: $title, novel: {id: $id}}`, or a variable of type `T_Data`; returns nil after a diagnostic.
    /// - Parameter reference: for nested rows, the reference to the enclosing row, which supplies its columns.
    func row(
        _ value: Value, _ table: Table, _ use: DataUse, in file: SourceFile, below reference: Reference? = nil
    ) -> RowData? {
        let range = FileRange(range: value.range, file: file)
        let given: [String: Assignment]
        var children: [ChildRows] = []
        if let name = value.variableName {
            guard let variable = self.use(variable: name, at: range) else { return nil }
            guard variable.type.nullable == .data(table.typeName) else {
                mismatch(variable, expected: "\(table.typeName)_Data", at: range)
                return nil
            }
            if !variable.type.isNonNull {
                error(
                    .variablePosition, at: range, "\"$\(name)\" may be null, but data is required",
                    help: "declare it as \(table.typeName)_Data!")
            }
            if reference != nil || variable.allowlist?.isFlat == false {
                guard let (widest, rows) = dynamicRows(variable, table, use, below: reference, at: range) else {
                    return nil
                }
                return RowData(
                    given: widest.given, defaults: widest.defaults, children: widest.children, dynamic: rows)
            }
            given = sent(name, table, variable.allowlist)
        } else {
            guard let content = content(value, table, use, in: file) else { return nil }
            (given, children) = content
        }
        guard use != .update else { return RowData(given: given, defaults: [:]) }
        let filled = reference?.localFields ?? []
        for field in filled where given[field] != nil {
            error(.nestedData, at: range, "\"\(field)\" of a nested row is set from the enclosing row")
        }
        let defaults = defaults(of: table, given: given, at: range).filter { !filled.contains($0.key) }
        if value.variableName == nil { warnAboutMissingColumns(table, given, defaults, filled, at: range) }
        return RowData(given: given, defaults: defaults, children: children)
    }

    /// Returns an assignment for every column that a `_Data` variable may set, conditional on the client having sent
    /// it: by its own name, or in the key object of a reference.
    func sent(_ name: String, _ table: Table, _ allowlist: InputAllowlist?) -> [String: Assignment] {
        func isAllowed(_ field: String) -> Bool { allowlist?.fields?.contains(field) ?? true }
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
            for name in DynamicRows.plans(of: column, in: table).map(\.name)
            where allowlist?.changes.contains(name) ?? false {
                values.append([name])
                tests.append([name])
            }
            guard !values.isEmpty else { continue }
            given[column.field] = Assignment(
                column: column, value: .set(Operand(.firstGiven(name, values), type: column.type, schema: schema)),
                required: [.givenAny(name, tests)])
        }
        return given
    }

    private func content(
        _ value: Value, _ table: Table, _ use: DataUse, in file: SourceFile
    ) -> ([String: Assignment], [ChildRows])? {
        let typeName = "\(table.typeName)_Data"
        let inverses = schema.inverseRelations(ofType: table.typeName).filter { $0.child.view == nil }
        let offered =
            table.columns.flatMap(Self.dataFields) + table.references.map(\.field) + inverses.map(\.name)
        guard let fields = inputFields(value, of: typeName, offered: offered, in: file) else { return nil }
        var given: [String: Assignment] = [:]
        var children: [ChildRows] = []
        for (name, value) in fields {
            if let relation = inverses.first(where: { $0.name == name.value }) {
                guard let rows = nested(name, value, relation, use, in: file) else { continue }
                if !rows.rows.isEmpty { children.append(rows) }
                continue
            }
            for assignment in assignments(name, value, table, use, in: file)
            where given.updateValue(assignment, forKey: assignment.column.field) != nil {
                error(
                    .uniqueInputField, at: FileRange(range: name.range, file: file),
                    "column \"\(assignment.column.field)\" is given more than once")
            }
        }
        return (given, children)
    }

    /// The fields of `T_Data` for a column. Updates are offered for every type: `changes` reports unsupported ones.
    private static func dataFields(_ column: Column) -> [String] {
        let forms = FieldForm.allCases.filter { $0 == .update || $0.applies(to: column.type) }
        return [column.field] + forms.map { $0.name(of: column.field) }
    }

    private func assignments(
        _ name: Name, _ value: Value, _ table: Table, _ use: DataUse, in file: SourceFile
    ) -> [Assignment] {
        let text = name.value
        if let column = table.column(ofField: text) {
            guard let operand = operand(value, type: column.type, in: file) else { return [] }
            if operand.isNullConstant, !column.isNullable {
                error(
                    .valueType, at: FileRange(range: value.range, file: file), "\"\(text)\" cannot be null")
            }
            return [Assignment(column: column, value: .set(operand), required: operand.given)]
        }
        if let reference = table.reference(ofField: text) {
            return assignments(reference, value, table, in: file)
        }
        guard let (field, form) = FieldForm.split(text), let column = table.column(ofField: field) else { return [] }
        return assignments(form, column, name, value, table, use, in: file)
    }

    private func assignments(
        _ form: FieldForm, _ column: Column, _ name: Name, _ value: Value, _ table: Table, _ use: DataUse,
        in file: SourceFile
    ) -> [Assignment] {
        let operand: Operand?
        switch form {
        case .expression: operand = expressionOperand(value, type: column.type, in: file)
        case .embedding: operand = embeddingOperand(value, column, in: file)
        case .date, .time:
            return relativeOperand(value, type: column.type, in: file).map {
                [Assignment(column: column, value: .set($0), required: $0.presence)]
            } ?? []
        case .update:
            guard mayChange(column, table, use, name.value, at: FileRange(range: name.range, file: file)) else {
                return []
            }
            return changes(value, column, in: file)
        }
        return operand.map { [Assignment(column: column, value: .set($0), required: [])] } ?? []
    }

    /// Resolves `novel: {id: $id}` or `novel: $key`.
    private func assignments(
        _ reference: Reference, _ value: Value, _ table: Table, in file: SourceFile
    ) -> [Assignment] {
        let range = FileRange(range: value.range, file: file)
        let columns = reference.localFields.compactMap(table.column(ofField:))
        if value.isNull {
            if !reference.isNullable { error(.valueType, at: range, "\"\(reference.field)\" cannot be null") }
            return columns.map {
                Assignment(
                    column: $0, value: .set(Operand(.constant(.null), type: $0.type, schema: schema)), required: [])
            }
        }
        guard let target = schema.table(ofType: reference.targetType), reference.targetFieldsAreKey(in: schema) else {
            error(
                .referenceData, at: range, "\"\(reference.field)\" does not refer to a primary key",
                help: "give \(reference.localFields.joined(separator: ", ")) instead")
            return []
        }
        guard let key = key(value, of: target, in: file) else { return [] }
        // An absent variable leaves the reference unchanged, as for any other field.
        let required = value.variableName.map { [Condition.given($0, path: [])] } ?? []
        return zip(reference.localFields, reference.targetFields).compactMap { local, targetField in
            guard let column = table.column(ofField: local),
                let position = target.keyColumns.firstIndex(where: { $0.field == targetField })
            else { return nil }
            return Assignment(column: column, value: .set(key[position]), required: required)
        }
    }

    // MARK: Defaults

    /// Returns the defaults that the node evaluates: `@default(value:)` and `@default(expr:)`. Postgres evaluates
    /// defaults in SQL.
    /// - Parameter changeable: columns besides those in `given` that a request may update.
    func defaults(
        of table: Table, given: [String: Assignment], changeable: Set<String> = [], at range: FileRange
    ) -> [String: Operand] {
        var defaults: [String: Operand] = [:]
        for column in table.columns {
            let assignment = given[column.field]
            if let assignment, assignment.required.isEmpty, !assignment.isChange { continue }
            switch column.defaultValue {
            case .sql: continue
            case nil:
                // Needed even if no variable requests the update: a row may exist.
                let isChangeable = assignment?.isChange == true || changeable.contains(column.field)
                guard isChangeable, !column.isNullable, let start = column.type.changeStart else { continue }
                defaults[column.field] = Operand(.constant(start), type: column.type, schema: schema)
            case .constant(let json):
                guard let value = try? JSONParser.parse(json),
                    let constant = try? ScalarCoercion(enums: schema.enums).coerce(value, to: column.type)
                else {
                    error(
                        .defaultValue, at: range,
                        "the default of \"\(table.typeName).\(column.field)\" does not have the column's type")
                    continue
                }
                defaults[column.field] = Operand(.constant(constant), type: column.type, schema: schema)
            case .expression(let text):
                defaults[column.field] = expressionOperand(text, type: column.type, at: range)
            }
        }
        return defaults
    }

    /// Warns of required columns without a default that the data leave out or that a variable may leave out: Postgres
    /// refuses such a row.
    private func warnAboutMissingColumns(
        _ table: Table, _ given: [String: Assignment], _ defaults: [String: Operand], _ filled: [String],
        at range: FileRange
    ) {
        for column in table.columns
        where !column.isNullable && column.defaultValue == nil && !filled.contains(column.field) {
            guard let assignment = given[column.field] else {
                let reference = table.references.first { $0.localFields.contains(column.field) }
                warning(
                    .missingData, at: range,
                    "\"\(table.typeName)\" needs \"\(column.field)\", which has no default:"
                        + " Postgres will refuse the row",
                    help: reference.map { "or \($0.field): {…}" })
                continue
            }
            guard case .set(let operand) = assignment.value, case .variable(let name, _) = operand.source,
                let variable = variables[name], !variable.type.isNonNull, variable.defaultValue?.isNull ?? true
            else { continue }
            warning(
                .missingData, at: range,
                "\"\(table.typeName)\" needs \"\(column.field)\", but \"$\(name)\" may be null",
                help: "declare it as \(variable.type.nullable.text)!")
        }
    }
}

extension Operand {
    /// The variables that must be sent for the assignment to apply.
    fileprivate var given: [Condition] {
        if case .variable(let name, let path) = source { [.given(name, path: path)] } else { [] }
    }
}
