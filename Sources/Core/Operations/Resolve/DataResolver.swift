import GraphQLLanguage
import JSON
import SchemaModel

/// Resolution of `data`. Source: docs/reference/sql-connect.md §5.6.
extension OperationScope {
    enum DataUse {
        /// The row may come to be, so all that is required must be there.
        case insert
        case upsert
        case update
    }

    /// `{title: $title, movie: {id: $id}}` or a variable of type `T_Data`; nil after a diagnostic.
    /// - Parameter reference: for nested rows the one that leads to the row around; its columns are filled from there.
    func row(
        _ value: Value, _ table: Table, _ use: DataUse, in file: SourceFile, below reference: Reference? = nil
    ) -> RowData? {
        let place = FileRange(range: value.range, file: file)
        let given: [String: Assignment]
        var children: [ChildRows] = []
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
            if reference != nil || variable.allowance?.isFlat == false {
                guard let (widest, rows) = dynamicRows(variable, table, use, below: reference, at: place) else {
                    return nil
                }
                return RowData(
                    given: widest.given, defaults: widest.defaults, children: widest.children, dynamic: rows)
            }
            given = sent(name, table, variable.allowance)
        } else {
            guard let content = content(value, table, use, in: file) else { return nil }
            (given, children) = content
        }
        guard use != .update else { return RowData(given: given, defaults: [:]) }
        let filled = reference?.localFields ?? []
        for field in filled where given[field] != nil {
            error("nested-data", at: place, "\"\(field)\" of a nested row is that of the row around")
        }
        let defaults = defaults(of: table, given: given, at: place).filter { !filled.contains($0.key) }
        if value.variableName == nil { requireColumns(table, given, defaults, filled, at: place) }
        return RowData(given: given, defaults: defaults, children: children)
    }

    /// Every column that a `_Data` variable may bring, each under the condition that it was sent: by its own name, or as
    /// a part of the key object of a reference.
    func sent(_ name: String, _ table: Table, _ allowance: InputAllowlist?) -> [String: Assignment] {
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
            for name in DynamicRows.plans(of: column, in: table).map(\.name)
            where allowance?.changes.contains(name) ?? false {
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
                    "unique-input-field", at: FileRange(range: name.range, file: file),
                    "the column \"\(assignment.column.field)\" is given twice")
            }
        }
        return (given, children)
    }

    /// The fields of `T_Data` for a column.
    private static func dataFields(_ column: Column) -> [String] {
        var fields = [column.field, "\(column.field)_expr", "\(column.field)_update"]
        if column.type == ColumnType(.date) { fields.append("\(column.field)_date") }
        if column.type == ColumnType(.timestamp) { fields.append("\(column.field)_time") }
        if column.type == ColumnType(.vector) { fields.append("\(column.field)_embed") }
        return fields
    }

    private func assignments(
        _ name: Name, _ value: Value, _ table: Table, _ use: DataUse, in file: SourceFile
    ) -> [Assignment] {
        let text = name.value
        if let column = table.column(ofField: text) {
            guard let operand = operand(value, type: column.type, in: file) else { return [] }
            if operand.isNullConstant, !column.isNullable {
                error(
                    "value-type", at: FileRange(range: value.range, file: file), "\"\(text)\" cannot be null")
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
        if text.hasSuffix("_embed"), let column = table.column(ofField: String(text.dropLast(6))) {
            guard let operand = embeddingOperand(value, column, in: file) else { return [] }
            return [Assignment(column: column, value: .set(operand), required: [])]
        }
        for suffix in ["_date", "_time"] where text.hasSuffix(suffix) {
            guard let column = table.column(ofField: String(text.dropLast(5))),
                let operand = relativeOperand(value, type: column.type, in: file)
            else { continue }
            return [Assignment(column: column, value: .set(operand), required: operand.presence)]
        }
        if text.hasSuffix("_update"), let column = table.column(ofField: String(text.dropLast(7))) {
            guard mayChange(column, table, use, text, at: FileRange(range: name.range, file: file)) else { return [] }
            return changes(value, column, in: file)
        }
        return []
    }

    /// `movie: {id: $id}` or `movie: $key`.
    private func assignments(
        _ reference: Reference, _ value: Value, _ table: Table, in file: SourceFile
    ) -> [Assignment] {
        let place = FileRange(range: value.range, file: file)
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

    // MARK: Defaults

    /// What the node fills in: `@default(value:)` and `@default(expr:)`. A default in SQL is left to Postgres.
    /// - Parameter changeable: columns that a request may ask a change of, beside those of `given`.
    func defaults(
        of table: Table, given: [String: Assignment], changeable: Set<String> = [], at place: FileRange
    ) -> [String: Operand] {
        var defaults: [String: Operand] = [:]
        for column in table.columns {
            let assignment = given[column.field]
            if let assignment, assignment.required.isEmpty, !assignment.isChange { continue }
            switch column.defaultValue {
            case .sql: continue
            case nil:
                // Also where no variable asks for the change; the row may be there.
                let isChangeable = assignment?.isChange == true || changeable.contains(column.field)
                guard isChangeable, !column.isNullable, let start = column.type.changeStart else { continue }
                defaults[column.field] = Operand(.constant(start), type: column.type, schema: schema)
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
        _ table: Table, _ given: [String: Assignment], _ defaults: [String: Operand], _ filled: [String],
        at place: FileRange
    ) {
        for column in table.columns
        where !column.isNullable && column.defaultValue == nil && given[column.field] == nil
            && !filled.contains(column.field)
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
