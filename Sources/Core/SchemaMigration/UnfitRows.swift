package import SchemaModel

/// Statements that name existing rows which a migration's constraint excludes, one text a row.
package enum UnfitRows {
    package static let rowsMax = 5

    /// Names rows by their key; nil for an unknown column.
    package static func withNull(in column: String, of tableName: String, _ schema: Schema) -> String? {
        guard let table = schema.tables.first(where: { $0.name == tableName }),
            table.columns.contains(where: { $0.name == column })
        else { return nil }
        let key = table.keyColumns.map(\.name)
        return "SELECT \(text(of: key)) FROM \(SQLName.quoted(tableName)) WHERE \(SQLName.quoted(column)) IS NULL"
            + " ORDER BY \(key.map(SQLName.quoted).joined(separator: ", ")) LIMIT \(rowsMax)"
    }

    /// Names values that several rows have; nil for an unknown constraint.
    package static func alike(by constraint: String, of tableName: String, _ schema: Schema) -> String? {
        guard let table = schema.tables.first(where: { $0.name == tableName }),
            let unique = table.uniques.first(where: { $0.name == constraint })
        else { return nil }
        let columns = unique.fields.compactMap { table.column(ofField: $0)?.name }
        let list = columns.map(SQLName.quoted).joined(separator: ", ")
        return "SELECT \(text(of: columns)) || ' in ' || count(*) || ' rows' FROM \(SQLName.quoted(tableName))"
            + " WHERE (\(list)) IS NOT NULL GROUP BY \(list) HAVING count(*) > 1"
            + " ORDER BY count(*) DESC, \(list) LIMIT \(rowsMax)"
    }

    private static func text(of columns: [String]) -> String {
        "concat_ws(', ', "
            + columns.map { "\(SQLName.literal($0 + " ")) || \(SQLName.quoted($0))::text" }.joined(separator: ", ")
            + ")"
    }
}
