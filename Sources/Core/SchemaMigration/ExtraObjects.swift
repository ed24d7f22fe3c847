import SchemaModel

/// Objects in the database that the schema lacks: reported and kept, or dropped if that is allowed.
extension MigrationPlanner {
    mutating func listExtras() {
        let known = Set(existing.views + existing.tables.map(\.name))
        for case (let view, .named?) in schema.views.map({ ($0, $0.view) }) where !known.contains(view.name) {
            result.missing.append("view \"\(view.name)\"")
            drift(
                view.name, nil, "view \"\(view.name)\" of type \(view.typeName) does not exist; its queries will fail",
                suggestion: "CREATE VIEW \(sql.qualified(view.name)) AS SELECT …", isHarmful: true)
        }
        let tables = Set((schema.tables + schema.views).map(\.name))
        // Partitions belong to their table.
        let partitions = existing.partitions(in: sql.namespace)
        let extraTables = existing.tables.filter { !tables.contains($0.name) && !partitions.contains($0.name) }
        let names = extraTables.map { sql.qualified($0.name) }.joined(separator: ", ")
        // In one statement, since they may refer to each other.
        let drop = SQLStatement(
            "DROP TABLE IF EXISTS \(names)",
            summary: "drop \(extraTables.count == 1 ? "table" : "tables") "
                + extraTables.map(\.name).joined(separator: ", "))
        let losses = extraTables.map { table in
            MigrationPlan.Loss(
                object: table.name, message: "drops the table with all its rows",
                countSQL: "SELECT count(*) FROM \(sql.qualified(table.name))")
        }
        if losses.isEmpty || !allow(.drops, [drop], losses) {
            for table in extraTables {
                let renaming = renaming(table)
                drift(
                    table.name, nil, "table \"\(table.name)\" is not in the schema", suggestion: renaming,
                    hasLeftSchema: renaming != nil)
            }
        }
        let enums = Set(schema.enums.values.map(\.name))
        for name in existing.enums.keys.sorted() where !enums.contains(name) {
            let drop = SQLStatement("DROP TYPE IF EXISTS \(sql.qualified(name))", summary: "drop enum \(name)")
            let loss = MigrationPlan.Loss(
                object: name, message: "drops the enum; fails while a column uses it", countSQL: nil)
            if allow(.drops, [drop], loss) { continue }
            drift(name, nil, "enum \"\(name)\" is not in the schema")
        }
    }
}
