import SchemaModel

/// Compares foreign keys.
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
            let desired = Dictionary(
                zip(sql.names(reference.localFields, of: table), sql.names(reference.targetFields, of: target)),
                uniquingKeysWith: { first, _ in first })
            let present = (found?.foreignKeys ?? []).filter { !ConcurrentBuild.isTemporary($0.name) }
            let same = present.filter {
                $0.targetTable == target.name
                    && Dictionary(zip($0.columns, $0.targetColumns), uniquingKeysWith: { first, _ in first }) == desired
            }
            let fitting = same.filter { $0.deleteRule == reference.deleteRule.rawValue }
            let named = present.first { $0.name == reference.constraintName }
            for other in same where !fitting.contains(other) && (!fitting.isEmpty || other != named) {
                report(other, besides: reference, of: table)
            }
            if !fitting.isEmpty {
                if let named, fitting.contains(named) { check(named, reference, of: table) }
            } else if let named, same.contains(named) {
                // Changes no row, only what happens when a target is deleted.
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
                    message: "loses no rows; drops the foreign key (\(named.columns.joined(separator: ", "))) to"
                        + " \"\(named.targetTable)\", and fails to create the new one while rows refer"
                        + " to missing rows", countSQL: nil)
                if allow(.rewrites, [replace].compactMap { $0 }, loss) { continue }
                refuse(
                    table.name, named.name, "constraint \"\(named.name)\" exists with another definition",
                    permission: .rewrites)
            } else {
                result.steps.append(add)
            }
        }
    }

    /// Handles a NOT VALID foreign key. Existing rows may violate it on purpose, so it is validated only with
    /// `--concurrently`.
    private mutating func check(_ key: DatabaseDescription.ForeignKey, _ reference: Reference, of table: Table) {
        guard key.isUnchecked else { return }
        if permissions.contains(.concurrent) {
            checks.append(sql.validateForeignKey(reference, of: table))
        } else {
            drift(
                table.name, key.name,
                "foreign key \"\(key.name)\" is NOT VALID: existing rows were never checked;"
                    + " freshet migrate --concurrently validates it", permission: .concurrent)
        }
    }

    /// Reports a second foreign key on the same columns with a different ON DELETE rule; Postgres enforces both.
    private mutating func report(_ other: DatabaseDescription.ForeignKey, besides reference: Reference, of table: Table)
    {
        let effect =
            switch other.deleteRule {
            case "RESTRICT": ", so deletes fail"
            case "NO ACTION": ", so deletes may fail"
            default: ""
            }
        drift(
            table.name, other.name,
            "foreign key \"\(other.name)\" on the same columns is ON DELETE \(other.deleteRule),"
                + " but the schema requires"
                + " \(reference.deleteRule.rawValue); Postgres enforces both"
                + effect,
            suggestion: "ALTER TABLE \(sql.qualified(table.name)) DROP CONSTRAINT \(SQLName.quoted(other.name))")
    }
}
