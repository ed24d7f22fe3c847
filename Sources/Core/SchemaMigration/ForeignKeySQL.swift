import SchemaModel

/// Renders the DDL of foreign keys. Functions return nil if the target table failed to compile.
extension DefinitionSQL {
    /// - Parameter found: the existing table; nil if it will be created.
    func addForeignKey(
        _ reference: Reference, of table: Table, _ found: DatabaseDescription.Table? = nil
    ) -> SQLStatement? {
        guard let definition = foreignKeyDefinition(reference, of: table) else { return nil }
        let exists =
            "SELECT FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid"
            + " JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace"
            + " WHERE n.nspname = \(SQLName.literal(namespace)) AND r.relname = \(SQLName.literal(table.name))"
            + " AND c.conname = \(SQLName.literal(reference.constraintName))"
        let name = reference.constraintName
        let add = "ALTER TABLE \(qualified(table.name)) ADD CONSTRAINT \(SQLName.quoted(name)) \(definition)"
        let apart = SQLStatement.Concurrent.apart(
            [guarded(exists, then: add + " NOT VALID"), validate(reference, of: table)], unfit: unfit(reference))
        return SQLStatement(
            guarded(exists, then: add), summary: "add foreign key \(name)", concurrent: isApart(found) ? apart : nil)
    }

    /// - Parameter former: the foreign key with the same name and columns, whose other properties are kept.
    func replaceForeignKey(
        _ reference: Reference, of table: Table, _ found: DatabaseDescription.Table?,
        keeping former: DatabaseDescription.ForeignKey? = nil, summary: String
    ) -> SQLStatement? {
        guard let definition = foreignKeyDefinition(reference, of: table, keeping: former) else { return nil }
        let alter = "ALTER TABLE \(qualified(table.name))"
        let name = SQLName.quoted(reference.constraintName)
        let replace = "\(alter) DROP CONSTRAINT IF EXISTS \(name), ADD CONSTRAINT \(name) \(definition)"
        // Stays NOT VALID.
        if former?.isUnchecked == true { return SQLStatement(replace + " NOT VALID", summary: summary) }
        // The former key stays in force until the new one is validated.
        let temporary = SQLName.quoted(ConcurrentBuild.temporaryName(reference.constraintName))
        let apart = SQLStatement.Concurrent.apart(
            [
                "\(alter) ADD CONSTRAINT \(temporary) \(definition) NOT VALID",
                "\(alter) VALIDATE CONSTRAINT \(temporary)",
                "\(alter) DROP CONSTRAINT IF EXISTS \(name);\n\(alter) RENAME CONSTRAINT \(temporary) TO \(name)",
            ],
            unfit:
                "foreign key \(reference.constraintName) is unchanged, and its replacement exists"
                + " and is enforced for new rows; \(Self.repairHint)")
        return SQLStatement(replace, summary: summary, concurrent: isApart(found) ? apart : nil)
    }

    /// Validates a foreign key for existing rows, without blocking writers.
    func validateForeignKey(_ reference: Reference, of table: Table) -> SQLStatement {
        let sql = validate(reference, of: table)
        return SQLStatement(
            sql, summary: "validate foreign key \(reference.constraintName)",
            concurrent: .apart([sql], unfit: unfit(reference)))
    }

    /// Drops a foreign key that was meant to replace another one.
    func dropLeftover(_ key: DatabaseDescription.ForeignKey, of table: Table) -> SQLStatement {
        SQLStatement(
            "ALTER TABLE \(qualified(table.name)) DROP CONSTRAINT IF EXISTS \(SQLName.quoted(key.name))",
            summary: "drop foreign key \(key.name), left by an interrupted migration")
    }

    private func validate(_ reference: Reference, of table: Table) -> String {
        "ALTER TABLE \(qualified(table.name)) VALIDATE CONSTRAINT \(SQLName.quoted(reference.constraintName))"
    }

    private static let repairHint = "correct the rows that Postgres names and run it again"

    private func unfit(_ reference: Reference) -> String {
        "foreign key \(reference.constraintName) exists and is enforced for new rows; \(Self.repairHint)"
    }

    /// Returns whether to validate separately: a new table has no rows to validate, and partitioned tables do not
    /// support NOT VALID before PostgreSQL 18.
    private func isApart(_ found: DatabaseDescription.Table?) -> Bool { found.map { $0.partitioning == nil } ?? false }

    /// Returns the text after the name.
    private func foreignKeyDefinition(
        _ reference: Reference, of table: Table, keeping former: DatabaseDescription.ForeignKey? = nil
    ) -> String? {
        guard let target = schema.table(ofType: reference.targetType) else { return nil }
        var rule = reference.deleteRule.rawValue
        if reference.deleteRule == .setNull {
            let local = reference.localFields.compactMap { table.column(ofField: $0) }
            let nullable = local.filter(\.isNullable)
            // Only nullable columns: for example the parent's id but not the tenant's.
            if nullable.count < local.count {
                rule += " (\(nullable.map { SQLName.quoted($0.name) }.joined(separator: ", ")))"
            }
        }
        var text =
            "FOREIGN KEY (\(columnList(reference.localFields, of: table)))"
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
