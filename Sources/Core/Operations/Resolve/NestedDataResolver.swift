import GraphQLLanguage
import JSON
import SchemaModel

/// Data that is more than a value for a column: rows of other tables, and changes of what is there.
/// Source: docs/reference/sql-connect.md §5.6.
extension OperationScope {
    /// `reviews_on_movie: [{text: "…"}]`; nil after a diagnostic.
    func nested(
        _ name: Name, _ value: Value, _ relation: InverseRelation, _ use: DataUse, in file: SourceFile
    ) -> ChildRows? {
        let place = FileRange(range: name.range, file: file)
        guard use != .update else {
            error(
                "nested-data", at: place, "\"\(name.value)\": nested rows belong to an insert or upsert",
                help: "write them in a field of their own")
            return nil
        }
        if value.isNull { return ChildRows(relation: relation, rows: []) }
        if value.variableName != nil { return dynamicRows(value, relation, use, in: file) }
        let elements = value.listValue ?? [value]
        if relation.isSingle, elements.count > 1 {
            error("nested-data", at: place, "\"\(name.value)\" is one-to-one and takes one row")
            return nil
        }
        let rows = elements.compactMap { row($0, relation.child, use, in: file, below: relation.reference) }
        return rows.count == elements.count ? ChildRows(relation: relation, rows: rows) : nil
    }

    /// `reviews_on_movie: $reviews`
    private func dynamicRows(
        _ value: Value, _ relation: InverseRelation, _ use: DataUse, in file: SourceFile
    ) -> ChildRows? {
        let place = FileRange(range: value.range, file: file)
        guard let variable = value.variableName.flatMap({ self.use(variable: $0, at: place) }) else { return nil }
        guard case .list(let element) = variable.type.nullable, element.isNonNull,
            element.nullable == .data(relation.child.typeName)
        else {
            mismatch(variable, expected: "[\(relation.child.typeName)_Data!]", at: place)
            return nil
        }
        guard let (widest, rows) = dynamicRows(variable, relation.child, use, below: relation.reference, at: place)
        else {
            return nil
        }
        return ChildRows(relation: relation, rows: [widest], dynamic: rows)
    }

    /// Whether `f_update` may stand there: an update changes what is there, and so does an upsert, which for a new row
    /// begins with the default of the column, or with nothing.
    func mayChange(_ column: Column, _ table: Table, _ use: DataUse, _ name: String, at place: FileRange) -> Bool {
        func refuse(_ why: String) -> Bool {
            error("data-update", at: place, "\"\(name)\" \(why)")
            return false
        }
        switch use {
        case .update: return true
        case .insert: return refuse("changes a value that is there, so it belongs to an update or upsert")
        case .upsert:
            if table.key.contains(column.field) { return refuse("changes a part of the key, which says which row") }
            if column.isSerial { return refuse("changes a number that Postgres gives to new rows") }
            if column.type.changeStart == nil, column.defaultValue == nil, !column.type.changes.isEmpty {
                return refuse("needs a default of \"\(column.field)\": a new row has nothing to count from")
            }
            return true
        }
    }

    /// `[{inc: 1}]`; lists take one of `append prepend add remove`.
    func changes(_ value: Value, _ column: Column, in file: SourceFile) -> [Assignment] {
        let place = FileRange(range: value.range, file: file)
        if value.isNull { return [] }
        if value.variableName != nil {
            return changeVariable(value, column, in: file)
        }
        let items = value.listValue ?? [value]
        guard items.count == 1, let item = items.first else {
            error("data-update", at: place, "exactly one change can be given")
            return []
        }
        if !column.type.isList, [.date, .timestamp].contains(column.type.scalar) {
            return shifts(item, column, in: file)
        }
        let offered: [Assignment.Change]
        switch (column.type.isList, column.type.scalar) {
        case (true, _): offered = [.append, .prepend, .add, .remove]
        case (false, .int), (false, .int64), (false, .float): offered = [.inc, .dec]
        default: offered = []
        }
        guard !offered.isEmpty else {
            refuseChange(of: column, at: place)
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
        guard !isNullAmount(name, amount, in: file), let operand = operand(amount, type: column.type, in: file) else {
            return []
        }
        return [Assignment(column: column, value: .change(change, operand), required: operand.presence)]
    }

    /// `f_update: $changes`
    private func changeVariable(_ value: Value, _ column: Column, in file: SourceFile) -> [Assignment] {
        guard !column.type.changes.isEmpty else {
            refuseChange(of: column, at: FileRange(range: value.range, file: file))
            return []
        }
        let type = InputType.list(.nonNull(.generated(.change(column.type))))
        guard let name = variable(value, type, in: file) else { return [] }
        if (variables[name]?.defaultValue?.arrayValue ?? []).count > 1 {
            error(
                "data-update", at: FileRange(range: value.range, file: file),
                "the default of \"$\(name)\" has more than one change, and exactly one can be given")
        }
        return [
            Assignment(column: column, value: .dynamic(DynamicChange(variable: name, schema: schema)), required: [])
        ]
    }

    /// What is there would become null.
    private func isNullAmount(_ name: Name, _ amount: Value, in file: SourceFile) -> Bool {
        if amount.isNull {
            error("data-update", at: FileRange(range: amount.range, file: file), "\"\(name.value)\" cannot be null")
        }
        return amount.isNull
    }

    private func refuseChange(of column: Column, at place: FileRange) {
        error("data-update", at: place, "\"\(column.field)\" is neither a number nor a list nor a time")
    }

    /// `{inc: {days: 7}}` of a date or time.
    private func shifts(_ item: Value, _ column: Column, in file: SourceFile) -> [Assignment] {
        let typeName = "\(InputType(column.type).text)_Update"
        guard let fields = inputFields(item, of: typeName, offered: ["inc", "dec"], in: file) else { return [] }
        guard fields.count == 1, let (name, amount) = fields.first else {
            error("data-update", at: FileRange(range: item.range, file: file), "give one of inc, dec")
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
