import SchemaModel

/// Foreign keys of the tables.
extension MigrationPlanner {
    mutating func compareForeignKeys(_ table: Table, _ found: DatabaseDescription.Table?) {
        for key in found?.foreignKeys ?? [] where ConcurrentBuild.isTemporary(key.name) {
            result.steps.append(sql.dropLeftover(key, of: table))
        }
        for reference in table.references where isUsable(reference.localFields, of: table) {
            guard let target = schema.table(ofType: reference.targetType),
                isUsable(reference.targetFields, of: target),
                let add = sql.addForeignKey(reference, of: table, found)
            else { continue }
            let wanted = Dictionary(
                zip(sql.names(reference.localFields, of: table), sql.names(reference.targetFields, of: target)),
                uniquingKeysWith: { first, _ in first })
            let present = (found?.foreignKeys ?? []).filter { !ConcurrentBuild.isTemporary($0.name) }
            let same = present.filter {
                $0.targetTable == target.name
                    && Dictionary(zip($0.columns, $0.targetColumns), uniquingKeysWith: { first, _ in first }) == wanted
            }
            let fitting = same.filter { $0.deleteRule == reference.deleteRule.rawValue }
            let named = present.first { $0.name == reference.constraintName }
            for other in same where !fitting.contains(other) && (!fitting.isEmpty || other != named) {
                tell(other, beside: reference, of: table)
            }
            if !fitting.isEmpty {
                if let named, fitting.contains(named) { check(named, reference, of: table) }
            } else if let named, same.contains(named) {
                // No row changes: only what happens when a target is deleted.
                let change = sql.replaceForeignKey(
                    reference, of: table, found, keeping: named,
                    summary: "change foreign key \(named.name) to ON DELETE \(reference.deleteRule.rawValue)")
                change.map { result.steps.append($0) }
                check(named, reference, of: table)
            } else if let named {
                let replace = sql.replaceForeignKey(
                    reference, of: table, found, summary: "replace foreign key \(named.name)")
                let loss = MigrationPlan.Loss(
                    object: "\(table.name).\(named.name)",
                    message: "no row is lost; the foreign key (\(named.columns.joined(separator: ", "))) to"
                        + " \"\(named.targetTable)\" is dropped, and the one that takes its place fails while rows refer"
                        + " to what does not exist", countSQL: nil)
                if allow(.rewrites, [replace].compactMap { $0 }, loss) { continue }
                refuse(
                    table.name, named.name, "constraint \"\(named.name)\" exists with another definition",
                    permission: .rewrites)
            } else {
                result.steps.append(add)
            }
        }
    }

    /// Of one that is NOT VALID, maybe because somebody left rows on purpose that it would not let in.
    private mutating func check(_ key: DatabaseDescription.ForeignKey, _ reference: Reference, of table: Table) {
        guard key.isUnchecked else { return }
        if permissions.contains(.concurrent) {
            checks.append(sql.validateForeignKey(reference, of: table))
        } else {
            drift(
                table.name, key.name,
                "foreign key \"\(key.name)\" is not checked for rows from before; freshet migrate --concurrently checks"
                    + " them", permission: .concurrent)
        }
    }

    /// Of a foreign key of another name that says otherwise what becomes of a row: both hold.
    private mutating func tell(_ other: DatabaseDescription.ForeignKey, beside reference: Reference, of table: Table) {
        let effect =
            switch other.deleteRule {
            case "RESTRICT": ", so deletes fail"
            case "NO ACTION": ", so deletes may fail"
            default: ""
            }
        drift(
            table.name, other.name,
            "foreign key \"\(other.name)\" of the same columns is ON DELETE \(other.deleteRule), the schema wants"
                + " \(reference.deleteRule.rawValue); both hold"
                + effect,
            suggestion: "ALTER TABLE \(sql.qualified(table.name)) DROP CONSTRAINT \(SQLName.quoted(other.name))")
    }
}
