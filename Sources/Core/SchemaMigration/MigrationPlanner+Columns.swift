import SchemaModel

extension MigrationPlanner {
    mutating func compareColumns(_ table: Table, _ found: DatabaseDescription.Table) {
        for column in table.columns {
            guard let present = found.columns.first(where: { $0.name == column.name }) else {
                addColumn(column, to: table, found)
                continue
            }
            let isRetyped = compareType(column, present, table)
            compareNullability(column, present, table)
            if !isRetyped { compareDefault(column, present, table) }
        }
        let names = Set(table.columns.map(\.name))
        for extra in found.columns where !names.contains(extra.name) {
            if keepForKey(extra, table, found) { continue }
            let blocks = !extra.isNullable && extra.defaultSQL == nil
            let alter = "ALTER TABLE \(sql.qualified(table.name))"
            let drop = SQLStatement(
                "\(alter) DROP COLUMN IF EXISTS \(SQLName.quoted(extra.name))",
                summary: "drop column \(table.name).\(extra.name)")
            let loss = MigrationPlan.Loss(
                object: "\(table.name).\(extra.name)",
                message: "drops the column with all its values" + lostIndexes(by: extra, table, found),
                countSQL: count(table, "\(SQLName.quoted(extra.name)) IS NOT NULL"))
            if allow(.drops, [], loss) {
                columnDrops.append(drop)
                continue
            }
            drift(
                table.name, extra.name,
                "column \"\(extra.name)\" is not in the schema"
                    + (blocks ? "; it is required without a default, so inserts will fail" : ""),
                suggestion: renaming(extra, of: table, found)
                    ?? (blocks ? "\(alter) ALTER COLUMN \(SQLName.quoted(extra.name)) DROP NOT NULL" : nil),
                hasLeftSchema: true, isHarmful: blocks)
        }
    }

    private mutating func addColumn(_ column: Column, to table: Table, _ found: DatabaseDescription.Table) {
        result.missing.append("column \"\(table.name).\(column.name)\"")
        if column.isNullable || column.isSerial || sql.defaultSQL(column) != nil {
            result.steps.append(sql.addColumn(column, to: table))
            return
        }
        let loss = MigrationPlan.Loss(
            object: "\(table.name).\(column.name)",
            message: "loses nothing; a required column without a default can only be added to an empty table",
            countSQL: count(table))
        if allow(.rewrites, [sql.addColumn(column, to: table)], loss) { return }
        unusable.insert("\(table.name).\(column.name)")
        refuse(
            table.name, column.name,
            "column \"\(column.name)\" is new and required, but existing rows have no value for it",
            suggestion: former(of: column, of: table, found).map { renaming($0, to: column, of: table) }
                ?? "make it optional, or give it @default(value: …) or @default(sql: …)", permission: .rewrites)
    }

    /// - Returns: whether the column's type is changed, together with its default.
    private mutating func compareType(
        _ column: Column, _ present: DatabaseDescription.Column, _ table: Table
    ) -> Bool {
        let desired = describedType(of: column)
        guard desired != present.type, !isSpelling(of: present.type, column) else { return false }
        let alter = "ALTER COLUMN \(SQLName.quoted(column.name))"
        let type = schema.sqlType(of: column, enumSchema: sql.namespace)
        if !["identity", "generated"].contains(present.defaultSQL) {
            // The default has the former type.
            var changes = present.defaultSQL == nil ? [] : ["\(alter) DROP DEFAULT"]
            let isList = column.dataType?.conversion == .jsonArray && present.type.hasSuffix("[]")
            let name = SQLName.quoted(column.name)
            changes.append("\(alter) TYPE \(type) USING \(isList ? "to_jsonb(\(name))" : name)::\(type)")
            if let value = sql.defaultSQL(column) { changes.append("\(alter) SET DEFAULT \(value)") }
            let retype = SQLStatement(
                "ALTER TABLE \(sql.qualified(table.name)) \(changes.joined(separator: ", "))",
                summary: "change type of \(table.name).\(column.name) from \(present.type) to \(desired)")
            let loss = MigrationPlan.Loss(
                object: "\(table.name).\(column.name)",
                message: "changes \(present.type) to \(desired): values that do not fit exactly are lost, or fail;"
                    + " locks the table while rewriting it",
                countSQL: count(table, "\(SQLName.quoted(column.name)) IS NOT NULL"))
            if allow(.rewrites, [retype], loss) { return true }
        }
        unusable.insert("\(table.name).\(column.name)")
        refuse(
            table.name, column.name,
            "column \"\(column.name)\" is \(present.type), but the schema requires \(desired)",
            suggestion: "ALTER TABLE \(sql.qualified(table.name)) \(alter) TYPE \(type) USING …",
            permission: .rewrites)
        return false
    }

    /// Whether a data type that is not known to this version is another spelling of the type in the database, which
    /// names neither schemas in the search path nor, for enums, quotes.
    private func isSpelling(of present: String, _ column: Column) -> Bool {
        guard let dataType = column.dataType, !dataType.isKnown else { return false }
        func plain(_ text: String) -> String {
            let name = text.filter { $0 != "\"" }.lowercased()
            return name.split(separator: ".").last.map(String.init) ?? name
        }
        return plain(describedType(of: column)) == plain(present)
    }

    private mutating func compareNullability(
        _ column: Column, _ present: DatabaseDescription.Column, _ table: Table
    ) {
        let alter = "ALTER TABLE \(sql.qualified(table.name)) ALTER COLUMN \(SQLName.quoted(column.name))"
        if column.isNullable, !present.isNullable {
            result.steps.append(
                SQLStatement(alter + " DROP NOT NULL", summary: "make column \(table.name).\(column.name) optional"))
        } else if !column.isNullable, present.isNullable {
            let require = SQLStatement(
                alter + " SET NOT NULL", summary: "make column \(table.name).\(column.name) required")
            let loss = MigrationPlan.Loss(
                object: "\(table.name).\(column.name)",
                message: "loses nothing; fails if rows have null, and locks the table while scanning it",
                countSQL: count(table, "\(SQLName.quoted(column.name)) IS NULL"))
            if allow(.rewrites, [require], loss) { return }
            refuse(
                table.name, column.name,
                "column \"\(column.name)\" is required in the schema, but rows may have null",
                suggestion: require.sql, permission: .rewrites, mayHaveNulls: true)
        }
    }

    private mutating func compareDefault(
        _ column: Column, _ present: DatabaseDescription.Column, _ table: Table
    ) {
        if column.isSerial, present.defaultSQL == nil {
            refuse(
                table.name, column.name, "column \"\(column.name)\" is a serial in the schema but has no sequence",
                suggestion: "ALTER TABLE \(sql.qualified(table.name)) ALTER COLUMN \(SQLName.quoted(column.name))"
                    + " ADD GENERATED BY DEFAULT AS IDENTITY")
        }
        guard !column.isDefaultImplied, let desired = sql.defaultSQL(column) else {
            // Nodes supply all values that have defaults; a default in the database does not matter.
            return
        }
        if let found = present.defaultSQL, ["identity", "generated"].contains(found) {
            drift(table.name, column.name, "column \"\(column.name)\" is numbered or computed by Postgres")
            return
        }
        if let found = present.defaultSQL, DefaultText.mayBeSame(desired, found, as: column.type) { return }
        // Postgres has folded the casts.
        if present.defaultSQL != nil, case .constant = column.defaultValue, sql.defaultIsConverted(column) { return }
        result.steps.append(
            SQLStatement(
                "ALTER TABLE \(sql.qualified(table.name)) ALTER COLUMN \(SQLName.quoted(column.name))"
                    + " SET DEFAULT \(desired)",
                summary: "set default of \(table.name).\(column.name)"))
    }
}
