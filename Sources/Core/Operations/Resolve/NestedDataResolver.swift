import GraphQLLanguage
import JSON
import SchemaModel

/// Data other than plain column values: rows of other tables, and updates of existing values. Source:
/// docs/reference/sql-connect.md §5.6.
extension OperationScope {
    /// Resolves `remarks_on_novel: [{text: "…"}]` and, one-to-one, `printing_on_novel: {binder: "…"}`; returns nil
    /// after a diagnostic.
    func nested(
        _ name: Name, _ value: Value, _ relation: InverseRelation, _ use: DataUse, in file: SourceFile
    ) -> ChildRows? {
        let range = FileRange(range: name.range, file: file)
        guard use != .update else {
            error(
                .nestedData, at: range, "\"\(name.value)\": nested rows are only allowed in an insert or upsert",
                help: "write them in a separate field")
            return nil
        }
        if value.isNull { return ChildRows(relation: relation, rows: []) }
        if value.variableName != nil { return dynamicRows(value, relation, use, in: file) }
        let elements = value.listValue ?? [value]
        if relation.isSingle, elements.count > 1 {
            error(.nestedData, at: range, "\"\(name.value)\" is one-to-one and takes a single row")
            return nil
        }
        let rows = elements.compactMap { row($0, relation.child, use, in: file, below: relation.reference) }
        return rows.count == elements.count ? ChildRows(relation: relation, rows: rows) : nil
    }

    /// Resolves `remarks_on_novel: $remarks`. The only row of a one-to-one relation may also come in a list.
    private func dynamicRows(
        _ value: Value, _ relation: InverseRelation, _ use: DataUse, in file: SourceFile
    ) -> ChildRows? {
        let range = FileRange(range: value.range, file: file)
        guard let variable = value.variableName.flatMap({ self.use(variable: $0, at: range) }) else { return nil }
        let row = InputType.data(relation.child.typeName)
        let given = variable.type.nullable
        guard given == .list(.nonNull(row)) || relation.isSingle && given == row else {
            mismatch(variable, expected: relation.isSingle ? row.text : "[\(row.text)!]", at: range)
            return nil
        }
        guard let (widest, rows) = dynamicRows(variable, relation.child, use, below: relation.reference, at: range)
        else {
            return nil
        }
        return ChildRows(relation: relation, rows: [widest], dynamic: rows)
    }

    /// Returns whether `f_update` is allowed: an update changes an existing value, and so does an upsert, which for a
    /// new row starts from the column's default, or from an empty value.
    func mayChange(_ column: Column, _ table: Table, _ use: DataUse, _ name: String, at range: FileRange) -> Bool {
        func refuse(_ reason: String) -> Bool {
            error(.dataUpdate, at: range, "\"\(name)\" \(reason)")
            return false
        }
        switch use {
        case .update: return true
        case .insert: return refuse("changes an existing value and is only allowed in an update or upsert")
        case .upsert:
            if table.key.contains(column.field) { return refuse("cannot change a key field, which selects the row") }
            if column.isSerial { return refuse("cannot change a serial column in an upsert") }
            if column.type.changeStart == nil, column.defaultValue == nil, !column.type.changes.isEmpty {
                return refuse("needs a default of \"\(column.field)\" to start from in a new row")
            }
            return true
        }
    }

    /// Resolves `[{inc: 1}]`; lists take one of `append`, `prepend`, `add` and `remove`.
    func changes(_ value: Value, _ column: Column, in file: SourceFile) -> [Assignment] {
        let range = FileRange(range: value.range, file: file)
        if value.isNull { return [] }
        if value.variableName != nil {
            return changeVariable(value, column, in: file)
        }
        let items = value.listValue ?? [value]
        guard items.count == 1, let item = items.first else {
            error(.dataUpdate, at: range, "exactly one change must be given")
            return []
        }
        if !column.type.isList, [.date, .timestamp].contains(column.type.scalar) {
            return shifts(item, column, in: file)
        }
        let offered: [Assignment.Change]
        switch (column.type.isList, column.type.scalar) {
        case (true, _): offered = [.append, .prepend, .add, .remove]
        case (false, .int), (false, .int64), (false, .float): offered = [.inc, .dec]
        case (false, .uuid), (false, .string), (false, .boolean), (false, .date), (false, .timestamp), (false, .any),
            (false, .vector), (false, .enumeration):
            offered = []
        }
        guard !offered.isEmpty else {
            refuseChange(of: column, at: range)
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
                error(.dataUpdate, at: range, "give one of \(offered.map(\.rawValue).joined(separator: ", "))")
            }
            return []
        }
        guard !isNullAmount(name, amount, in: file), let operand = operand(amount, type: column.type, in: file) else {
            return []
        }
        return [Assignment(column: column, value: .change(change, operand), required: operand.presence)]
    }

    /// Resolves `f_update: $changes`.
    private func changeVariable(_ value: Value, _ column: Column, in file: SourceFile) -> [Assignment] {
        guard !column.type.changes.isEmpty else {
            refuseChange(of: column, at: FileRange(range: value.range, file: file))
            return []
        }
        let type = InputType.list(.nonNull(.generated(.change(column.type))))
        guard let name = variable(value, type, in: file) else { return [] }
        if (variables[name]?.defaultValue?.arrayValue ?? []).count > 1 {
            error(
                .dataUpdate, at: FileRange(range: value.range, file: file),
                "the default of \"$\(name)\" has more than one change, but exactly one is allowed")
        }
        return [
            Assignment(column: column, value: .dynamic(DynamicChange(variable: name, schema: schema)), required: [])
        ]
    }

    /// Reports a null operand, which would make the value null.
    private func isNullAmount(_ name: Name, _ amount: Value, in file: SourceFile) -> Bool {
        if amount.isNull {
            error(.dataUpdate, at: FileRange(range: amount.range, file: file), "\"\(name.value)\" cannot be null")
        }
        return amount.isNull
    }

    private func refuseChange(of column: Column, at range: FileRange) {
        error(.dataUpdate, at: range, "\"\(column.field)\" cannot be updated: it is not a number, list, date or time")
    }

    /// Resolves `{inc: {days: 7}}` for a date or time.
    private func shifts(_ item: Value, _ column: Column, in file: SourceFile) -> [Assignment] {
        let typeName = "\(InputType(column.type).text)_Update"
        guard let fields = inputFields(item, of: typeName, offered: ["inc", "dec"], in: file) else { return [] }
        guard fields.count == 1, let (name, amount) = fields.first else {
            error(.dataUpdate, at: FileRange(range: item.range, file: file), "give one of inc, dec")
            return []
        }
        guard !isNullAmount(name, amount, in: file),
            let amounts = amounts(amount, isDate: column.type.scalar == .date, in: file)
        else { return [] }
        let shifts = amounts.map {
            Assignment.Shift(unit: $0.unit, count: Operand($0.count, type: ColumnType(.int), schema: schema))
        }
        return shifts.isEmpty
            ? [] : [Assignment(column: column, value: .shift(isForward: name.value == "inc", shifts), required: [])]
    }
}
