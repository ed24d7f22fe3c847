import JSON
import SchemaModel

/// Rows supplied by a variable of a `_Data` type that contain more than column values: nested rows, updates or relative
/// times. Their form is known only with the request. A statement is rendered and cached per form (see `DynamicPlans`).
/// Source: docs/reference/sql-connect.md §5.6.
struct DynamicRows: Sendable {
    /// A row of a table: its defaults and the rows that may be nested in it.
    struct Level: Sendable {
        let table: Table
        /// Defaults by column field.
        let defaults: [String: Operand]
        let children: [Child]
        /// The fields that the variable may supply besides a column's own, by the column's field.
        let changes: [String: [(name: String, plan: CoercionPlan)]]
    }

    struct Child: Sendable {
        let relation: InverseRelation
        let level: Level
    }

    let variable: String
    let level: Level
    let schema: Schema
    /// The number that distinguishes the generated keys of these rows from all others of the operation.
    let number: Int

    /// Returns the fields of `T_Data` for a column that a variable may supply besides the column's own. A name that is
    /// also a field of the table denotes that field.
    static func plans(of column: Column, in table: Table) -> [(name: String, plan: CoercionPlan)] {
        FieldForm.allCases.compactMap { form in
            let name = form.name(of: column.field)
            guard form.applies(to: column.type), let plan = form.plan(of: column.type),
                table.column(ofField: name) == nil, table.reference(ofField: name) == nil
            else { return nil }
            return (name, plan)
        }
    }

    // MARK: Interpretation

    /// Returns the rows of one request, with each value read from its path in the variable.
    func rows(in values: Variables) -> [RowData] {
        var count = 0
        switch values.value(variable, path: []) {
        case .array(let rows)?:
            return rows.enumerated().map { row($0.element, [String($0.offset)], level, below: [], &count) }
        case .object(let object)?: return [row(.object(object), [], level, below: [], &count)]
        default: return []
        }
    }

    /// - Parameter filled: columns that the enclosing row supplies.
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
            // Numbers in the operation's own text are positive.
            let number = (self.number * InputAllowlist.dynamicRowsMax + count) * TableBuilder.columnsMax + position
            defaults[column.field]?.source = .freshUUID(index: -number)
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

/// An update supplied by a variable of type `[Int_Update!]`: `f_update: $changes`. Which update is known only with the
/// request.
package struct DynamicChange: Sendable {
    let variable: String
    let schema: Schema

    /// Returns nil if no update is requested.
    func assignment(of column: Column, in values: Variables) -> Assignment? {
        values.value(variable, path: []).flatMap {
            InputInterpreter(schema: schema).change(column, $0, variable, [])
        }
    }
}

/// A field of a mutation whose rows or updates come from a variable.
package struct DynamicField: Sendable {
    /// The field with everything that the variable may supply, for deriving what the field may write.
    package let widest: MutationField.Kind
    /// Returns the field with what the variable supplies in one request.
    package let make: @Sendable (Variables) -> MutationField.Kind
}

extension Assignment {
    fileprivate var dynamic: DynamicChange? {
        if case .dynamic(let change) = value { change } else { nil }
    }

    /// Whether the assignment updates the existing value, or the initial value of a new row.
    package var isChange: Bool {
        switch value {
        case .set: false
        case .change, .shift, .dynamic: true
        }
    }
}

extension RowData {
    /// Whether any of its data come from dynamic variables.
    var isDynamic: Bool {
        dynamic != nil || given.values.contains { $0.dynamic != nil }
            || children.contains { $0.dynamic != nil || $0.rows.contains(where: \.isDynamic) }
    }

    /// Returns the row for one request.
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
    /// Resolves a variable as rows of a table. Returns the widest possible row and how to read the actual ones; nil
    /// after a diagnostic.
    func dynamicRows(
        _ variable: VariableSpec, _ table: Table, _ use: DataUse, below reference: Reference? = nil, at range: FileRange
    ) -> (widest: RowData, rows: DynamicRows)? {
        let allowlist = variable.allowlist ?? InputAllowlist()
        guard checkUse(allowlist, variable, use, at: range), mayChange(table, allowlist, use, at: range) else {
            return nil
        }
        if let reference {
            findings.dynamicRowVariables.insert(variable.name)
            let filled = reference.localFields + [reference.field]
            guard let fields = allowlist.fields else {
                error(
                    .nestedData, at: range,
                    "\"$\(variable.name)\" may set every column, but for a nested row"
                        + " \"\(reference.field)\" is set from the enclosing row",
                    help: "name the intended fields: @allow(fields: \"…\")")
                return nil
            }
            if let field = filled.first(where: fields.contains) {
                error(.nestedData, at: range, "\"\(field)\" of a nested row is set from the enclosing row")
                return nil
            }
        }
        let level = level(table, allowlist, use, at: range)
        return (
            widest(variable.name, level, allowlist),
            DynamicRows(variable: variable.name, level: level, schema: schema, number: nextUUIDIndex())
        )
    }

    private func checkUse(
        _ allowlist: InputAllowlist, _ variable: VariableSpec, _ use: DataUse, at range: FileRange
    ) -> Bool {
        if use == .update {
            guard let name = allowlist.children.keys.min() else { return true }
            error(
                .nestedData, at: range,
                "\"$\(variable.name)\" may contain \"\(name)\","
                    + " but nested rows are only allowed in an insert or upsert",
                help: "write them in a separate field")
            return false
        }
        if use == .insert, let name = allowlist.changes.sorted().first(where: { FieldForm.split($0)?.form == .update })
        {
            error(
                .dataUpdate, at: range,
                "\"$\(variable.name)\" may contain \"\(name)\", which is only allowed in an update or upsert"
            )
            return false
        }
        return allowlist.children.values.allSatisfy { checkUse($0, variable, use, at: range) }
    }

    /// Returns whether the updates that a variable may contain are possible in its rows, including nested ones.
    private func mayChange(_ table: Table, _ allowlist: InputAllowlist, _ use: DataUse, at range: FileRange) -> Bool {
        for column in table.columns {
            let name = FieldForm.update.name(of: column.field)
            guard allowlist.changes.contains(name) else { continue }
            guard mayChange(column, table, use, name, at: range) else { return false }
        }
        return schema.inverseRelations(ofType: table.typeName).allSatisfy { relation in
            allowlist.children[relation.name].map { mayChange(relation.child, $0, use, at: range) } ?? true
        }
    }

    private func level(_ table: Table, _ allowlist: InputAllowlist, _ use: DataUse, at range: FileRange)
        -> DynamicRows.Level
    {
        let children = schema.inverseRelations(ofType: table.typeName).compactMap { relation in
            allowlist.children[relation.name].map {
                DynamicRows.Child(relation: relation, level: level(relation.child, $0, use, at: range))
            }
        }
        let changeable = table.columns.map(\.field).filter { allowlist.changes.contains(FieldForm.update.name(of: $0)) }
        let defaults =
            use == .update ? [:] : defaults(of: table, given: [:], changeable: Set(changeable), at: range)
        var changes: [String: [(name: String, plan: CoercionPlan)]] = [:]
        for column in table.columns {
            let plans = DynamicRows.plans(of: column, in: table).filter { allowlist.changes.contains($0.name) }
            if !plans.isEmpty { changes[column.field] = plans }
        }
        return DynamicRows.Level(table: table, defaults: defaults, children: children, changes: changes)
    }

    private func widest(_ name: String, _ level: DynamicRows.Level, _ allowlist: InputAllowlist) -> RowData {
        let children = level.children.compactMap { child in
            allowlist.children[child.relation.name].map { inner in
                ChildRows(relation: child.relation, rows: [widest(name, child.level, inner)])
            }
        }
        return RowData(given: sent(name, level.table, allowlist), defaults: level.defaults, children: children)
    }
}
