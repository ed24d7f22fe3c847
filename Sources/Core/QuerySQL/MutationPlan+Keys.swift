import Operations
import SchemaModel

/// The keys that a field writes, from the values that the request gives.
extension MutationPlan {
    /// - Parameter enclosing: columns that the enclosing row supplies, with their values where known.
    static func key(
        of row: RowData, _ table: Table, _ enclosing: [String: KeySource.Part], _ builder: inout TemplateBuilder
    ) -> KeySource? {
        var parts: [KeySource.Part] = []
        for field in table.key {
            // A key that Postgres generates is new, so no live query can depend on it.
            guard let part = enclosing[field] ?? Self.part(field, of: row, &builder) else { return nil }
            parts.append(part)
        }
        return KeySource(table: table.name, parts: parts, masks: KeyMasks(table))
    }

    static func part(
        _ field: String, of row: RowData, _ builder: inout TemplateBuilder
    ) -> KeySource.Part? {
        var given: (operand: Int, required: [Condition])?
        if let assignment = row.given[field], case .set(let operand) = assignment.value {
            given = (builder.index(of: operand), assignment.required)
        }
        let fallback = row.defaults[field].map { builder.index(of: $0) }
        return given == nil && fallback == nil ? nil : KeySource.Part(given: given, fallback: fallback)
    }

    /// Returns the keys of a row and of all rows nested in it.
    static func keys(
        of row: RowData, _ table: Table, _ enclosing: [String: KeySource.Part], _ builder: inout TemplateBuilder
    ) -> [KeySource] {
        var keys = key(of: row, table, enclosing, &builder).map { [$0] } ?? []
        for children in row.children {
            let reference = children.relation.reference
            var filled: [String: KeySource.Part] = [:]
            for (local, target) in zip(reference.localFields, reference.targetFields) {
                filled[local] = enclosing[target] ?? part(target, of: row, &builder)
            }
            for child in children.rows { keys += Self.keys(of: child, children.relation.child, filled, &builder) }
        }
        return keys
    }

    /// Returns whether an update changes the selected row's key to a value that the request does not contain.
    static func changesKey(of table: Table, _ target: RowTarget, _ assignments: [Assignment]) -> Bool {
        guard case .key = target else { return false }
        return assignments.contains { assignment in
            guard table.key.contains(assignment.column.field) else { return false }
            return switch assignment.value {
            case .set: false
            case .change, .shift, .dynamic: true
            }
        }
    }

    /// Returns the key of the selected row and, if the update sets another key, the new one.
    static func keys(
        of table: Table, _ target: RowTarget, _ assignments: [Assignment], _ builder: inout TemplateBuilder
    ) -> [KeySource] {
        guard case .key(let operands) = target else { return [] }
        let addressed = operands.map { KeySource.Part(given: nil, fallback: builder.index(of: $0)) }
        var parts = addressed
        var setsKey = false
        for (index, field) in table.key.enumerated() {
            guard let assignment = assignments.first(where: { $0.column.field == field }),
                case .set(let operand) = assignment.value
            else { continue }
            setsKey = true
            parts[index] = KeySource.Part(
                given: (builder.index(of: operand), assignment.required), fallback: addressed[index].fallback)
        }
        let keys = [KeySource(table: table.name, parts: addressed, masks: KeyMasks(table))]
        return setsKey ? keys + [KeySource(table: table.name, parts: parts, masks: KeyMasks(table))] : keys
    }
}
