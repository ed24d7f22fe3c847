/// DDL of foreign keys. Each is nil when the target table did not compile.
extension DefinitionSQL {
    /// - Parameter found: the table as it is; nil for one that is to be created.
    func addForeignKey(
        _ reference: Reference, of table: Table, _ found: DatabaseDescription.Table? = nil
    ) -> SQLStatement? {
        guard let definition = foreignKeyDefinition(reference, of: table) else { return nil }
        let exists =
            "SELECT FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid"
            + " JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace"
            + " WHERE n.nspname = \(SQLName.literal(namespace)) AND r.relname = \(SQLName.literal(table.name))"
            + " AND c.conname = \(SQLName.literal(reference.constraintName))"
        return foreignKey(reference, of: table, found, summary: "add foreign key \(reference.constraintName)") {
            guarded(exists, then: "ALTER TABLE \(qualified(table.name)) ADD \(definition)\($0)")
        }
    }

    /// - Parameter former: has the name and the columns, and what the schema does not speak of is as it has it.
    func replaceForeignKey(
        _ reference: Reference, of table: Table, _ found: DatabaseDescription.Table?,
        keeping former: DatabaseDescription.ForeignKey? = nil, summary: String
    ) -> SQLStatement? {
        guard let definition = foreignKeyDefinition(reference, of: table, keeping: former) else { return nil }
        return foreignKey(reference, of: table, found, summary: summary) {
            "ALTER TABLE \(qualified(table.name)) DROP CONSTRAINT IF EXISTS"
                + " \(SQLName.quoted(reference.constraintName)), ADD \(definition)\($0)"
        }
    }

    /// Checks the rows from before a foreign key, for which nobody waits who writes.
    func validateForeignKey(_ reference: Reference, of table: Table) -> SQLStatement {
        let sql = validate(reference, of: table)
        return SQLStatement(
            sql, summary: "validate foreign key \(reference.constraintName)", concurrent: .apart([sql]))
    }

    private func validate(_ reference: Reference, of table: Table) -> String {
        "ALTER TABLE \(qualified(table.name)) VALIDATE CONSTRAINT \(SQLName.quoted(reference.constraintName))"
    }

    /// - Parameter text: what ends in the definition of the foreign key, and the parameter.
    private func foreignKey(
        _ reference: Reference, of table: Table, _ found: DatabaseDescription.Table?, summary: String,
        _ text: (String) -> String
    ) -> SQLStatement {
        // A new table has no rows to be checked; one with partitions has no NOT VALID before PostgreSQL 18.
        let isApart = found.map { $0.partitioning == nil } ?? false
        return SQLStatement(
            text(""), summary: summary,
            concurrent: isApart ? .apart([text(" NOT VALID"), validate(reference, of: table)]) : nil)
    }

    private func foreignKeyDefinition(
        _ reference: Reference, of table: Table, keeping former: DatabaseDescription.ForeignKey? = nil
    ) -> String? {
        guard let target = schema.table(ofType: reference.targetType) else { return nil }
        var rule = reference.deleteRule.rawValue
        if reference.deleteRule == .setNull {
            let local = reference.localFields.compactMap { table.column(ofField: $0) }
            let nullable = local.filter(\.isNullable)
            // Only what may be null, say the parent but not the tenant.
            if nullable.count < local.count {
                rule += " (\(nullable.map { SQLName.quoted($0.name) }.joined(separator: ", ")))"
            }
        }
        var text =
            "CONSTRAINT \(SQLName.quoted(reference.constraintName))"
            + " FOREIGN KEY (\(columnList(reference.localFields, of: table)))"
            + " REFERENCES \(qualified(target.name)) (\(columnList(reference.targetFields, of: target)))"
        if former?.isFullMatch == true { text += " MATCH FULL" }
        text += " ON DELETE \(rule)"
        if let former, former.updateRule != "NO ACTION" { text += " ON UPDATE \(former.updateRule)" }
        if let former, former.isDeferrable {
            text += former.isDeferred ? " DEFERRABLE INITIALLY DEFERRED" : " DEFERRABLE"
        }
        return text
    }
}
