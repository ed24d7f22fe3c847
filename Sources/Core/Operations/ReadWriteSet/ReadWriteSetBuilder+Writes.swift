package import SchemaModel

extension SQLWrites.Table {
    package var hasUpdates: Bool { updates != .none }

    /// The fields that updates may set; nil if they may be any. A column that is none of the type's may be a field of a
    /// later version of the project.
    package func fieldsSet(of table: Table) -> Set<String>? {
        guard case .columns(let names) = updates else { return nil }
        let fields = names.map { name in table.columns.first { $0.name == name }?.field }
        return fields.contains(nil) ? nil : Set(fields.compactMap { $0 })
    }
}

extension ReadWriteSetBuilder {
    mutating func add(_ fields: [MutationField]) {
        for field in fields { add(field.kind) }
    }

    private mutating func add(_ kind: MutationField.Kind) {
        switch kind {
        case .insert(let insert): add(insert.row, insert.table, isUpsert: insert.isUpsert, enclosing: [:])
        case .insertTrees(let insert):
            for row in insert.rows { add(row, insert.table, isUpsert: insert.isUpsert, enclosing: [:]) }
        case .insertMany(let insert):
            switch insert.rows {
            case .literal(let rows):
                for row in rows { add(row, insert.table, isUpsert: insert.isUpsert, enclosing: [:]) }
            case .variable:
                write(insert.table, [:], fields: nil)
                if insert.isUpsert { follow(insert.table, Set(insert.table.columns.map(\.field))) }
            }
        case .dynamic(let dynamic): add(dynamic.widest)
        case .update(let table, let target, let assignments, _):
            write(table, unchanged(known(table, target), by: assignments), fields: fields(assignments))
            follow(table, fields(assignments))
        case .updateMany(let table, let filter, let assignments, _):
            write(table, unchanged(names(equal(filter)), by: assignments), fields: fields(assignments))
            follow(table, fields(assignments))
            add(filter, of: table)
        case .delete(let table, let target, _):
            delete(table, known(table, target))
        case .deleteMany(let table, let filter, _):
            delete(table, names(equal(filter)))
            add(filter, of: table)
        case .native(let native):
            result.sqlWriteTexts.insert(native.textWithNulls)
            guard let found = native.writes else {
                result.isPartial = true
                result.mayWriteAnything = true
                return
            }
            for table in found.tables { write(table) }
        case .remote: result.isPartial = true
        case .read(let fields):
            add(fields)
            if fields.hasNativeSQL { result.mayWriteAnything = true }
        case .typeName: break
        }
    }

    private mutating func write(_ written: SQLWrites.Table) {
        let table = schema.tables.first { $0.name == written.name }
        let isUpdate = !written.inserts && !written.deletes
        let fields = isUpdate ? table.flatMap { written.fieldsSet(of: $0) } : nil
        result.writes.append(
            ReadWriteSet.Write(table: written.name, known: [:], fields: fields, isCascade: false))
    }

    private mutating func write(
        _ table: Table, _ known: [String: String], fields: Set<String>?, isCascade: Bool = false
    ) {
        result.writes.append(
            ReadWriteSet.Write(table: table.name, known: known, fields: fields, isCascade: isCascade))
    }

    private mutating func follow(_ table: Table, _ fields: Set<String>) {
        result.tablesFollowing.formUnion(schema.followers(of: table, fields).map(\.table.name))
    }

    private func fields(_ assignments: [Assignment]) -> Set<String> { Set(assignments.map(\.column.field)) }

    /// - Parameter enclosing: fields that the enclosing row of a nested one determines.
    private mutating func add(
        _ row: RowData, _ table: Table, isUpsert: Bool, enclosing: [String: String]
    ) {
        // An upsert may update a row with other values, except for its key.
        func isKnown(_ field: String) -> Bool { !isUpsert || table.key.contains(field) }
        var known = enclosing.filter { isKnown($0.key) }
        for (field, assignment) in row.given {
            guard case .set(let operand) = assignment.value, let source = source(operand) else { continue }
            if isKnown(field) { known[field] = source }
        }
        write(table, known, fields: nil)
        if isUpsert { follow(table, Set(table.columns.map(\.field)).subtracting(table.key)) }
        for children in row.children {
            let reference = children.relation.reference
            var filled: [String: String] = [:]
            for (local, target) in zip(reference.localFields, reference.targetFields) { filled[local] = known[target] }
            for child in children.rows { add(child, children.relation.child, isUpsert: isUpsert, enclosing: filled) }
        }
    }

    private func known(_ table: Table, _ target: RowTarget) -> [String: String] {
        switch target {
        case .key(let operands):
            var known: [String: String] = [:]
            for (field, operand) in zip(table.key, operands) { known[field] = source(operand, isOptional: true) }
            return known
        case .first(let filter, _): return names(equal(filter))
        case .variable: return [:]
        }
    }

    private func names(_ fixed: [String: FixedValue]) -> [String: String] { fixed.compactMapValues(\.name) }

    private func unchanged(_ known: [String: String], by assignments: [Assignment]) -> [String: String] {
        let changed = fields(assignments)
        return known.filter { !changed.contains($0.key) }
    }

    /// Records the deleted rows, and those that Postgres deletes or changes with them.
    private mutating func delete(_ table: Table, _ known: [String: String]) {
        write(table, known, fields: nil)
        var seen: Set<String> = [table.name]
        cascade(table, known, &seen)
    }

    private mutating func cascade(_ table: Table, _ known: [String: String], _ seen: inout Set<String>) {
        for child in schema.tables {
            for reference in child.references where reference.targetType == table.typeName {
                var filled: [String: String] = [:]
                // A column that is set to null has a different value afterwards.
                if reference.deleteRule == .cascade {
                    for (local, target) in zip(reference.localFields, reference.targetFields) {
                        filled[local] = known[target]
                    }
                }
                let fields = reference.deleteRule == .cascade ? nil : Set(reference.localFields)
                write(child, filled, fields: fields, isCascade: true)
                if reference.deleteRule == .cascade, seen.insert(child.name).inserted { cascade(child, filled, &seen) }
            }
        }
    }
}
