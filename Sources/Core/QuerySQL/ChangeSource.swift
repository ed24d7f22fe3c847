import Operations
import SchemaModel

/// A change of rows that a field makes, with the sources of the values that it knows. An image that is nil does not
/// exist.
struct ChangeSource: Sendable {
    struct Field: Sendable {
        let field: String
        let value: MutationPlan.KeySource.Part
    }

    let table: String
    let before: [Field]?
    let after: [Field]?
    /// A field that is set if all conditions hold.
    struct SetField: Sendable {
        let field: String
        let required: [Condition]

        init(_ assignment: Assignment) { (field, required) = (assignment.column.field, assignment.required) }
        init(_ field: String) { (self.field, required) = (field, []) }
    }

    /// The fields that may differ; nil if all may.
    let changed: [SetField]?
    /// The conditions under which the rows change.
    var required: [Condition] = []
    /// See `RowChange`.
    var isOfFollowers = false

    private typealias Part = MutationPlan.KeySource.Part

    // MARK: Inserts

    /// Returns the changes of a row and of all rows nested in it. An upsert may find a row with the same key and leaves
    /// there what is not given.
    static func inserted(
        _ row: RowData, _ table: Table, isUpsert: Bool, _ schema: Schema, _ builder: inout TemplateBuilder
    ) -> [ChangeSource] {
        inserted(row, table, isUpsert: isUpsert, enclosing: [:], schema, &builder)
    }

    private static func inserted(
        _ row: RowData, _ table: Table, isUpsert: Bool, enclosing: [String: Part], _ schema: Schema,
        _ builder: inout TemplateBuilder
    ) -> [ChangeSource] {
        var parts = enclosing
        for field in Set(row.given.keys).union(row.defaults.keys).sorted() where parts[field] == nil {
            guard var part = MutationPlan.part(field, of: row, &builder) else { continue }
            if isUpsert, !table.key.contains(field) { part = Part(given: part.given, fallback: nil) }
            parts[field] = part
        }
        let key = parts.filter { table.key.contains($0.key) }
        var changes = [
            ChangeSource(
                table: table.name, before: isUpsert ? image(key, table) : nil, after: image(parts, table), changed: nil)
        ]
        if isUpsert {
            let set = row.given.values.filter { !table.key.contains($0.column.field) }
            changes += following(table, set.map(SetField.init), schema)
        }
        for children in row.children {
            let reference = children.relation.reference
            var filled: [String: Part] = [:]
            for (local, target) in zip(reference.localFields, reference.targetFields) { filled[local] = parts[target] }
            for child in children.rows {
                changes += inserted(
                    child, children.relation.child, isUpsert: isUpsert, enclosing: filled, schema, &builder)
            }
        }
        return changes
    }

    // MARK: Updates

    /// - Parameter target: nil for any rows.
    static func updated(
        _ table: Table, _ target: RowTarget?, _ assignments: [Assignment], _ schema: Schema,
        _ builder: inout TemplateBuilder
    ) -> [ChangeSource] {
        let before = key(table, target, &builder)
        let assigned = Set(assignments.map(\.column.field))
        var after = before.filter { !assigned.contains($0.key) }
        for assignment in assignments {
            guard case .set(let operand) = assignment.value else { continue }
            let field = assignment.column.field
            after[field] = Part(
                given: (builder.index(of: operand), assignment.required), fallback: before[field]?.fallback)
        }
        let update = ChangeSource(
            table: table.name, before: image(before, table), after: image(after, table),
            changed: assignments.map(SetField.init))
        return [update] + following(table, assignments.map(SetField.init), schema)
    }

    private static func following(_ table: Table, _ fields: [SetField], _ schema: Schema) -> [ChangeSource] {
        fields.flatMap { set in
            schema.followers(of: table, [set.field]).map { child, fields in
                ChangeSource(
                    table: child.name, before: [], after: [], changed: fields.map(SetField.init),
                    required: set.required, isOfFollowers: true)
            }
        }
    }

    // MARK: Deletes

    /// Returns the changes of the deleted rows, and of those that Postgres deletes or changes with them.
    /// - Parameter target: nil for any rows.
    static func deleted(
        _ table: Table, _ target: RowTarget?, _ schema: Schema, _ builder: inout TemplateBuilder
    ) -> [ChangeSource] {
        let key = key(table, target, &builder)
        var changes = [ChangeSource(table: table.name, before: image(key, table), after: nil, changed: nil)]
        // Rows that follow deleted ones are known by their references, those that follow these are not.
        var reached: [Table] = []
        func follow(_ table: Table, _ known: [String: Part]) {
            for (child, reference) in schema.references(to: table) {
                var filled: [String: Part] = [:]
                for (local, target) in zip(reference.localFields, reference.targetFields) {
                    filled[local] = known[target]
                }
                let isDeleted = reference.deleteRule == .cascade
                changes.append(
                    ChangeSource(
                        table: child.name, before: image(filled, child), after: isDeleted ? nil : [],
                        changed: isDeleted ? nil : reference.localFields.map(SetField.init), isOfFollowers: true))
                if isDeleted, !reached.contains(where: { $0.name == child.name }) { reached.append(child) }
            }
        }
        follow(table, key)
        var next = 0
        while next < reached.count {
            follow(reached[next], [:])
            next += 1
        }
        return changes
    }

    // MARK: Native SQL

    /// Returns the changes of the rows that native SQL writes, and of those that follow them.
    static func written(_ found: SQLWrites.Finding, _ schema: Schema) -> [ChangeSource] {
        found.tables.flatMap { written -> [ChangeSource] in
            guard let table = schema.tables.first(where: { $0.name == written.name }) else {
                // Queries of which it is not known what they read may read it.
                return [ChangeSource(table: written.name, before: [], after: [], changed: nil, isOfFollowers: true)]
            }
            var changes: [ChangeSource] = []
            if written.inserts {
                changes.append(
                    ChangeSource(table: table.name, before: nil, after: [], changed: nil, isOfFollowers: true))
            }
            if written.deletes {
                changes.append(
                    ChangeSource(table: table.name, before: [], after: nil, changed: nil, isOfFollowers: true))
            }
            if written.hasUpdates {
                changes.append(
                    ChangeSource(
                        table: table.name, before: [], after: [],
                        changed: written.fieldsSet(of: table)?.sorted().map { SetField($0) }, isOfFollowers: true))
            }
            return changes
        }
    }

    // MARK: Parts

    private static func key(
        _ table: Table, _ target: RowTarget?, _ builder: inout TemplateBuilder
    ) -> [String: Part] {
        guard case .key(let operands) = target else { return [:] }
        var parts: [String: Part] = [:]
        for (field, operand) in zip(table.key, operands) {
            parts[field] = Part(given: nil, fallback: builder.index(of: operand))
        }
        return parts
    }

    /// Returns the parts whose values events can record, in order of field.
    private static func image(_ parts: [String: Part], _ table: Table) -> [Field] {
        parts.filter { table.column(ofField: $0.key)?.isRecordable == true }
            .sorted { $0.key < $1.key }.map { Field(field: $0.key, value: $0.value) }
    }
}
