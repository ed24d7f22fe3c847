import JSON
import SchemaModel

/// Renders the DDL that both creation and comparison use. All names are quoted and qualified.
struct DefinitionSQL {
    let schema: Schema
    /// The Postgres schema of the tables.
    let namespace: String

    func qualified(_ name: String) -> String {
        "\(SQLName.quoted(namespace)).\(SQLName.quoted(name))"
    }

    func columnList(_ fields: [String], of table: Table) -> String {
        names(fields, of: table).map(SQLName.quoted).joined(separator: ", ")
    }

    func names(_ fields: [String], of table: Table) -> [String] {
        fields.compactMap { table.column(ofField: $0)?.name }
    }

    // MARK: Enums

    func createEnum(_ type: EnumType) -> SQLStatement {
        let values = type.values.map(SQLName.literal).joined(separator: ", ")
        return SQLStatement(
            guarded(
                "SELECT FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace"
                    + " WHERE n.nspname = \(SQLName.literal(namespace)) AND t.typname = \(SQLName.literal(type.name))",
                then: "CREATE TYPE \(qualified(type.name)) AS ENUM (\(values))"),
            summary: "create enum \(type.name)")
    }

    /// Adds the value at its position in the schema, next to an existing neighbour.
    func addEnumValue(_ value: String, to type: EnumType, existing: [String]) -> SQLStatement {
        let index = type.values.firstIndex(of: value) ?? 0
        var position = ""
        if let before = type.values[..<index].last(where: existing.contains) {
            position = " AFTER \(SQLName.literal(before))"
        } else if let after = type.values[index...].dropFirst().first(where: existing.contains) {
            position = " BEFORE \(SQLName.literal(after))"
        }
        return SQLStatement(
            "ALTER TYPE \(qualified(type.name)) ADD VALUE IF NOT EXISTS \(SQLName.literal(value))\(position)",
            summary: "add value \(value) to enum \(type.name)", needsOwnTransaction: true)
    }

    // MARK: Tables and columns

    func createTable(_ table: Table) -> SQLStatement {
        let lines = table.columns.map(columnDefinition) + ["PRIMARY KEY (\(columnList(table.key, of: table)))"]
        return SQLStatement(
            "CREATE TABLE IF NOT EXISTS \(qualified(table.name)) (\n    \(lines.joined(separator: ",\n    "))\n)",
            summary: "create table \(table.name)")
    }

    func addColumn(_ column: Column, to table: Table) -> SQLStatement {
        SQLStatement(
            "ALTER TABLE \(qualified(table.name)) ADD COLUMN IF NOT EXISTS \(columnDefinition(column))",
            summary: "add column \(table.name).\(column.name)")
    }

    func columnDefinition(_ column: Column) -> String {
        var text = "\(SQLName.quoted(column.name)) \(definitionType(column))"
        if !column.isNullable { text += " NOT NULL" }
        if let value = defaultSQL(column) { text += " DEFAULT \(value)" }
        return text
    }

    private func definitionType(_ column: Column) -> String {
        guard column.isSerial else { return schema.sqlType(of: column, enumSchema: namespace) }
        switch column.dataType?.name {
        case "smallint": return "smallserial"
        case "bigint": return "bigserial"
        default: return "serial"
        }
    }

    /// Returns the `DEFAULT` of a column. The node that runs a mutation evaluates expressions; those that Postgres
    /// supports too are also set there, for rows that others write.
    func defaultSQL(_ column: Column) -> String? {
        guard !column.isSerial else { return nil }
        switch column.defaultValue {
        case nil: return nil
        case .sql(let text): return "(\(text))"
        case .constant(let json):
            guard let value = try? JSONParser.parse(json) else { return nil }
            let text = column.dataType?.conversion == .jsonArray ? json : SQLInput.text(value, of: column.type)
            return "\(SQLName.literal(text))::"
                + schema.sqlType(of: column, enumSchema: namespace)
        case .expression(let text):
            switch (text.filter { !$0.isWhitespace }, column.type) {
            case ("uuidV4()", ColumnType(.uuid)): return "gen_random_uuid()"
            case ("request.time", ColumnType(.timestamp)): return "now()"
            case ("request.time", ColumnType(.date)): return "CURRENT_DATE"
            default: return nil
            }
        }
    }

    // MARK: Constraints and indexes

    func desired(_ unique: UniqueConstraint, of table: Table) -> DatabaseDescription.Index {
        let columns = names(unique.fields, of: table)
        return DatabaseDescription.Index(
            name: unique.name, columns: columns, descending: columns.map { _ in false }, method: "btree",
            isUnique: true)
    }

    func desired(_ index: TableIndex, of table: Table) -> DatabaseDescription.Index {
        let columns = names(index.fields, of: table)
        return DatabaseDescription.Index(
            name: index.name, columns: columns,
            descending: columns.indices.map { index.order.indices.contains($0) && index.order[$0] == .descending },
            method: index.method, isUnique: false, operatorClasses: index.operatorClass.map { [$0] } ?? [])
    }

    /// Returns all indexes of the schema for a table, except the key's.
    func desiredIndexes(of table: Table) -> [DatabaseDescription.Index] {
        table.uniques.map { desired($0, of: table) } + table.indexes.map { desired($0, of: table) }
            + [desiredSearchIndex(of: table)].compactMap { $0 }
    }

    /// Returns nil for a table without `@searchable` fields.
    func desiredSearchIndex(of table: Table) -> DatabaseDescription.Index? {
        guard table.columns.contains(where: { $0.searchLanguage != nil }) else { return nil }
        return DatabaseDescription.Index(
            name: SearchDocument.indexName(table), columns: [], descending: [], method: "gin", isUnique: false,
            expression: SearchDocument.text(table, nil))
    }

    /// - Parameters:
    ///   - found: the existing table; nil if it will be created.
    ///   - replaces: the current holder of the name.
    func createUnique(
        _ unique: UniqueConstraint, of table: Table, _ found: DatabaseDescription.Table? = nil,
        replaces: ConcurrentBuild.Former? = nil
    ) -> SQLStatement {
        index(
            desired(unique, of: table), on: table, " (\(columnList(unique.fields, of: table)))",
            summary: "unique index \(unique.name)", found, replaces)
    }

    func createIndex(
        _ index: TableIndex, of table: Table, _ found: DatabaseDescription.Table? = nil,
        replaces: ConcurrentBuild.Former? = nil
    ) -> SQLStatement {
        let desired = desired(index, of: table)
        let columns = zip(desired.columns, desired.descending).map { name, isDescending in
            let operatorClass = index.operatorClass.map { " \($0)" } ?? ""
            return SQLName.quoted(name) + operatorClass + (isDescending ? " DESC" : "")
        }
        return self.index(
            desired, on: table, " USING \(index.method) (\(columns.joined(separator: ", ")))",
            summary: "index \(index.name)", found, replaces)
    }

    /// Returns the index of the `@searchable` fields; nil for a table without.
    func createSearchIndex(
        of table: Table, _ found: DatabaseDescription.Table? = nil, replaces: ConcurrentBuild.Former? = nil
    ) -> SQLStatement? {
        desiredSearchIndex(of: table).map {
            index(
                $0, on: table, " USING gin (\(SearchDocument.text(table, nil)))", summary: "search index \($0.name)",
                found, replaces)
        }
    }

    private func index(
        _ desired: DatabaseDescription.Index, on table: Table, _ definition: String, summary: String,
        _ found: DatabaseDescription.Table?, _ replaces: ConcurrentBuild.Former?
    ) -> SQLStatement {
        let what = desired.isUnique ? "UNIQUE INDEX" : "INDEX"
        let whole = QualifiedName(namespace: namespace, name: table.name)
        let former = replaces.map { _ in ConcurrentBuild.temporaryName(desired.name) }
        var present: [QualifiedName: String] = [:]
        if let former, found?.replacement(former, fits: desired) == true { present[whole] = former }
        for partition in found?.partitioning?.partitions ?? [] {
            let part = partition.indexes.first { $0.fits(desired, asPart: true) }
            if let part { present[partition.name] = part.name }
        }
        let create =
            "CREATE \(what) IF NOT EXISTS \(SQLName.quoted(desired.name)) ON \(qualified(table.name))\(definition)"
        let build = ConcurrentBuild(
            what: what, index: QualifiedName(namespace: namespace, name: desired.name), table: whole,
            definition: definition, replaces: replaces, partitions: found?.partitioning?.partitions ?? [],
            present: present)
        if replaces == nil { return SQLStatement(create, summary: "create \(summary)", concurrent: .build(build)) }
        return SQLStatement(
            build.atOnce.joined(separator: ";\n"), exchangeSQL: build.swap.joined(separator: ";\n"),
            summary: "replace \(summary)", concurrent: .build(build))
    }

    /// Creates an extension that has types of columns: `vector`.
    func createExtension(_ name: String) -> SQLStatement {
        SQLStatement("CREATE EXTENSION IF NOT EXISTS \(name)", summary: "create extension \(name)")
    }

    /// Wraps a statement that does not support `IF NOT EXISTS`.
    func guarded(_ exists: String, then statement: String) -> String {
        let body = "BEGIN\n    IF NOT EXISTS (\(exists)) THEN\n        \(statement);\n    END IF;\nEND"
        var tag = "$freshet$"
        while body.contains(tag) { tag = "$f" + tag.dropFirst() }
        return "DO \(tag)\n\(body)\n\(tag)"
    }
}
