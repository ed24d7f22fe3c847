import JSON
import SchemaModel

/// Rows that a variable of a `_Data` type brings, where there is more in them than values of columns: nested rows,
/// changes, relative times. Which there are is known when the request is there; a statement is rendered for each form
/// that is met and kept, see `DynamicPlans`. Source: docs/reference/sql-connect.md §5.6.
struct DynamicRows: Sendable {
    /// A row of a table: what the node fills in, and which rows may stand below it.
    struct Level: Sendable {
        let table: Table
        /// By column field.
        let defaults: [String: Operand]
        let children: [Child]
        /// The fields that the variable may bring beside a column's own, by the column's field.
        let changes: [String: [(name: String, plan: CoercionPlan)]]
    }

    struct Child: Sendable {
        let relation: InverseRelation
        let level: Level
    }

    let variable: String
    let level: Level
    let schema: Schema
    /// Tells the generated keys of these rows from all others of the operation.
    let place: Int

    /// The fields of `T_Data` for a column that a variable may bring beside the column itself. A name that is a field of
    /// the table means that field.
    static func plans(of column: Column, in table: Table) -> [(name: String, plan: CoercionPlan)] {
        var plans: [(name: String, plan: CoercionPlan)] = []
        if !column.type.changes.isEmpty { plans.append(("\(column.field)_update", .change(column.type))) }
        if column.type == ColumnType(.date) { plans.append(("\(column.field)_date", .relative(isDate: true))) }
        if column.type == ColumnType(.timestamp) { plans.append(("\(column.field)_time", .relative(isDate: false))) }
        return plans.filter { table.column(ofField: $0.name) == nil && table.reference(ofField: $0.name) == nil }
    }

    // MARK: Meaning

    /// The rows of one request, each value read from its place in the variable.
    func rows(in values: Variables) -> [RowData] {
        var count = 0
        switch values.value(variable, path: []) {
        case .array(let rows)?:
            return rows.enumerated().map { row($0.element, [String($0.offset)], level, below: [], &count) }
        case .object(let object)?: return [row(.object(object), [], level, below: [], &count)]
        default: return []
        }
    }

    /// - Parameter filled: columns that come from the row around.
    private func row(
        _ value: JSONValue, _ path: [String], _ level: Level, below filled: [String], _ count: inout Int
    ) -> RowData {
        count += 1
        let table = level.table
        var given: [String: Assignment] = [:]
        for column in table.columns where !filled.contains(column.field) {
            given[column.field] = assignment(column, level, value, path)
        }
        var defaults = level.defaults.filter {
            given[$0.key].map(\.isChange) ?? true && !filled.contains($0.key)
        }
        for (position, column) in table.columns.enumerated() where defaults[column.field]?.isFresh == true {
            // Places of the operation's own text are positive.
            let number = (place * InputAllowlist.dynamicRowsMax + count) * TableBuilder.columnsMax + position
            defaults[column.field]?.source = .freshUUID(place: -number)
        }
        let children = level.children.map { child in
            let name = child.relation.name
            let rows = (value[name]?.arrayValue ?? []).enumerated().map {
                row(
                    $0.element, path + [name, String($0.offset)], child.level,
                    below: child.relation.reference.localFields, &count)
            }
            return ChildRows(relation: child.relation, rows: rows)
        }
        return RowData(given: given, defaults: defaults, children: children.filter { !$0.rows.isEmpty })
    }

    private func assignment(
        _ column: Column, _ level: Level, _ value: JSONValue, _ path: [String]
    ) -> Assignment? {
        func set(_ source: Operand.Source) -> Assignment {
            let operand = Operand(source, type: column.type, schema: schema)
            let required = if case .relative = source { operand.presence } else { [Condition]() }
            return Assignment(column: column, value: .set(operand), required: required)
        }
        let field = column.field
        if value[field] != nil { return set(.variable(variable, path: path + [field])) }
        for reference in level.table.references where value[reference.field] != nil {
            guard let position = reference.localFields.firstIndex(of: field) else { continue }
            return set(.variable(variable, path: path + [reference.field, reference.targetFields[position]]))
        }
        for (name, plan) in level.changes[field] ?? [] {
            guard let value = value[name], !value.isNull else { continue }
            let path = path + [name]
            guard case .relative(let isDate) = plan else {
                return InputInterpreter(schema: schema).change(column, value, variable, path)
            }
            return set(.relative(RelativeTime(value, isDate: isDate, variable, path)))
        }
        return nil
    }
}

/// A change that a variable of a type `[Int_Update!]` brings, `f_update: $changes`: which one is known with the request.
package struct DynamicChange: Sendable {
    let variable: String
    let schema: Schema

    /// Nil where nothing is asked.
    func assignment(of column: Column, in values: Variables) -> Assignment? {
        values.value(variable, path: []).flatMap {
            InputInterpreter(schema: schema).change(column, $0, variable, [])
        }
    }
}

/// A field of a mutation whose rows a variable brings.
package struct DynamicField: Sendable {
    /// With everything in it that the variable may bring: for what the field may write.
    package let widest: MutationField.Kind
    /// With what the variable brings in one request.
    package let make: @Sendable (Variables) -> MutationField.Kind
}

extension Assignment {
    fileprivate var dynamic: DynamicChange? {
        if case .dynamic(let change) = value { change } else { nil }
    }

    /// Of what is there, or of what a new row begins with.
    package var isChange: Bool {
        switch value {
        case .set: false
        case .change, .shift, .dynamic: true
        }
    }
}

extension RowData {
    /// Whether some of its data come from variables.
    var isDynamic: Bool {
        dynamic != nil || given.values.contains { $0.dynamic != nil }
            || children.contains { $0.dynamic != nil || $0.rows.contains(where: \.isDynamic) }
    }

    /// The row of one request.
    func bound(to values: Variables) -> RowData {
        if let dynamic { return dynamic.rows(in: values).first ?? self }
        var bound = self
        bound.given = given.compactMapValues { assignment in
            guard let dynamic = assignment.dynamic else { return assignment }
            return dynamic.assignment(of: assignment.column, in: values)
        }
        bound.children = children.map { children in
            let rows = children.dynamic?.rows(in: values) ?? children.rows.map { $0.bound(to: values) }
            return ChildRows(relation: children.relation, rows: rows)
        }
        return bound
    }
}

extension OperationScope {
    /// What a variable may bring as rows of a table: with everything in it, and how to read it; nil after a diagnostic.
    func dynamicRows(
        _ variable: VariableSpec, _ table: Table, _ use: DataUse, below reference: Reference? = nil, at place: FileRange
    ) -> (widest: RowData, rows: DynamicRows)? {
        let allowance = variable.allowance ?? InputAllowlist()
        guard mayStand(allowance, variable, use, at: place), mayChange(table, allowance, use, at: place) else {
            return nil
        }
        if let reference {
            dynamicRowVariables.insert(variable.name)
            let filled = reference.localFields + [reference.field]
            guard let fields = allowance.fields else {
                error(
                    "nested-data", at: place,
                    "\"$\(variable.name)\" may set every column, but a nested row has its"
                        + " \"\(reference.field)\" from the row around",
                    help: "name the fields meant: @allow(fields: \"…\")")
                return nil
            }
            if let field = filled.first(where: fields.contains) {
                error("nested-data", at: place, "\"\(field)\" of a nested row is that of the row around")
                return nil
            }
        }
        let level = level(table, allowance, use, at: place)
        return (
            widest(variable.name, level, allowance),
            DynamicRows(variable: variable.name, level: level, schema: schema, place: nextPlace())
        )
    }

    private func mayStand(
        _ allowance: InputAllowlist, _ variable: VariableSpec, _ use: DataUse, at place: FileRange
    ) -> Bool {
        if use == .update {
            guard let name = allowance.children.keys.min() else { return true }
            error(
                "nested-data", at: place,
                "\"$\(variable.name)\" may bring \"\(name)\": nested rows belong to an insert or upsert",
                help: "write them in a field of their own")
            return false
        }
        if use == .insert, let name = allowance.changes.sorted().first(where: { $0.hasSuffix("_update") }) {
            error(
                "data-update", at: place,
                "\"$\(variable.name)\" may bring \"\(name)\", which changes a value that is there, so it belongs to an update or upsert"
            )
            return false
        }
        return allowance.children.values.allSatisfy { mayStand($0, variable, use, at: place) }
    }

    /// Whether the changes that a variable may bring can be done in its rows, those below included.
    private func mayChange(_ table: Table, _ allowance: InputAllowlist, _ use: DataUse, at place: FileRange) -> Bool {
        for column in table.columns {
            let name = "\(column.field)_update"
            guard allowance.changes.contains(name) else { continue }
            guard mayChange(column, table, use, name, at: place) else { return false }
        }
        return schema.inverseRelations(ofType: table.typeName).allSatisfy { relation in
            allowance.children[relation.name].map { mayChange(relation.child, $0, use, at: place) } ?? true
        }
    }

    private func level(_ table: Table, _ allowance: InputAllowlist, _ use: DataUse, at place: FileRange)
        -> DynamicRows.Level
    {
        let children = schema.inverseRelations(ofType: table.typeName).compactMap { relation in
            allowance.children[relation.name].map {
                DynamicRows.Child(relation: relation, level: level(relation.child, $0, use, at: place))
            }
        }
        let changeable = table.columns.map(\.field).filter { allowance.changes.contains("\($0)_update") }
        let defaults =
            use == .update ? [:] : defaults(of: table, given: [:], changeable: Set(changeable), at: place)
        var changes: [String: [(name: String, plan: CoercionPlan)]] = [:]
        for column in table.columns {
            let plans = DynamicRows.plans(of: column, in: table).filter { allowance.changes.contains($0.name) }
            if !plans.isEmpty { changes[column.field] = plans }
        }
        return DynamicRows.Level(table: table, defaults: defaults, children: children, changes: changes)
    }

    private func widest(_ name: String, _ level: DynamicRows.Level, _ allowance: InputAllowlist) -> RowData {
        let children = level.children.compactMap { child in
            allowance.children[child.relation.name].map { inner in
                ChildRows(relation: child.relation, rows: [widest(name, child.level, inner)])
            }
        }
        return RowData(given: sent(name, level.table, allowance), defaults: level.defaults, children: children)
    }
}
