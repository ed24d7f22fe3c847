import SchemaModel

/// Probable renames: what the schema lacks and what the database lacks are alike. They are suggested, never made.
extension MigrationPlanner {
    /// Returns the column's type as a description of the database has it: enum names without quotes and schema.
    func describedType(of column: Column) -> String {
        guard case .enumeration(let typeName) = column.type.scalar, column.dataType == nil else {
            return schema.sqlType(of: column)
        }
        return (schema.enums[typeName]?.name ?? typeName) + (column.type.isList ? "[]" : "")
    }

    /// Returns the column of the database that a new column of the schema probably was: the only one of its type that
    /// the schema lacks.
    func former(
        of column: Column, of table: Table, _ found: DatabaseDescription.Table
    ) -> DatabaseDescription.Column? {
        let names = Set(table.columns.map(\.name))
        let type = describedType(of: column)
        let former = found.columns.filter { !names.contains($0.name) && $0.type == type }
        let new = table.columns.filter { column in
            !found.columns.contains { $0.name == column.name } && describedType(of: column) == type
        }
        return former.count == 1 && new.count == 1 ? former[0] : nil
    }

    func renaming(_ former: DatabaseDescription.Column, to column: Column, of table: Table) -> String {
        "if it was renamed to \"\(column.name)\", before migrating: ALTER TABLE \(sql.qualified(table.name))"
            + " RENAME COLUMN \(SQLName.quoted(former.name)) TO \(SQLName.quoted(column.name))"
    }

    /// Returns how to rename a column that the schema lacks; nil if no new column is like it.
    func renaming(
        _ extra: DatabaseDescription.Column, of table: Table, _ found: DatabaseDescription.Table
    ) -> String? {
        table.columns.first { column in
            !found.columns.contains { $0.name == column.name }
                && former(of: column, of: table, found)?.name == extra.name
        }.map { renaming(extra, to: $0, of: table) }
    }

    /// Returns how to rename an enum value that the schema lacks; nil unless there is exactly one new one.
    func renaming(_ value: String, of type: EnumType) -> String? {
        let values = existing.enums[type.name] ?? []
        let new = type.values.filter { !values.contains($0) }
        guard new.count == 1, values.filter({ !type.values.contains($0) }) == [value] else { return nil }
        return "if it was renamed to \"\(new[0])\", before migrating: ALTER TYPE \(sql.qualified(type.name))"
            + " RENAME VALUE \(SQLName.literal(value)) TO \(SQLName.literal(new[0]))"
    }

    /// Returns how to rename a table that the schema lacks; nil unless exactly one new table has its columns.
    func renaming(_ extra: DatabaseDescription.Table) -> String? {
        let columns = Set(extra.columns.map(\.name))
        let known = Set(existing.views + existing.tables.map(\.name))
        let new = schema.tables.filter { !known.contains($0.name) && Set($0.columns.map(\.name)) == columns }
        guard new.count == 1 else { return nil }
        return "if it was renamed to \"\(new[0].name)\", before migrating: ALTER TABLE \(sql.qualified(extra.name))"
            + " RENAME TO \(SQLName.quoted(new[0].name))"
    }
}
