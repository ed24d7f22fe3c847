import JSON

/// The parts of DDL that creating from nothing and changing what exists share. All names are quoted and qualified.
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

    /// Placed as in the schema, next to a neighbour that exists.
    func addEnumValue(_ value: String, to type: EnumType, existing: [String]) -> SQLStatement {
        let index = type.values.firstIndex(of: value) ?? 0
        var place = ""
        if let before = type.values[..<index].last(where: existing.contains) {
            place = " AFTER \(SQLName.literal(before))"
        } else if let after = type.values[index...].dropFirst().first(where: existing.contains) {
            place = " BEFORE \(SQLName.literal(after))"
        }
        return SQLStatement(
            "ALTER TYPE \(qualified(type.name)) ADD VALUE IF NOT EXISTS \(SQLName.literal(value))\(place)",
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
        switch column.sqlTypeOverride {
        case "smallint": return "smallserial"
        case "bigint": return "bigserial"
        default: return "serial"
        }
    }

    /// The `DEFAULT` of a column. Expressions are evaluated by the node that runs a mutation; those that Postgres knows
    /// too are given to it as well, for rows that others write.
    func defaultSQL(_ column: Column) -> String? {
        guard !column.isSerial else { return nil }
        switch column.defaultValue {
        case nil: return nil
        case .sql(let text): return "(\(text))"
        case .constant(let json):
            guard let value = try? JSONParser.parse(json) else { return nil }
            return "\(SQLName.literal(Self.text(value, of: column.type)))::"
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

    /// A JSON value as Postgres input text of a type.
    static func text(_ value: JSONValue, of type: ColumnType) -> String {
        if type.isList {
            let items = (value.arrayValue ?? []).map { item -> String in
                if item.isNull { return "NULL" }
                let text = text(item, of: ColumnType(type.scalar))
                let escaped = text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined()
                return "\"\(escaped)\""
            }
            return "{\(items.joined(separator: ","))}"
        }
        if type.scalar != .any, case .string(let text) = value { return text }
        return value.description
    }

    // MARK: Constraints and indexes

    /// - Parameter replaces: takes the place of an index of that name.
    func createUnique(
        _ unique: UniqueConstraint, of table: Table, _ partitioning: Partitioning? = nil, replaces: Bool = false
    ) -> SQLStatement {
        index(
            "UNIQUE INDEX", unique.name, on: table, " (\(columnList(unique.fields, of: table)))",
            summary: "unique index \(unique.name)", partitioning, replaces: replaces)
    }

    func createIndex(
        _ index: TableIndex, of table: Table, _ partitioning: Partitioning? = nil, replaces: Bool = false
    ) -> SQLStatement {
        let columns = names(index.fields, of: table).enumerated().map { position, name in
            let isDescending = index.order.indices.contains(position) && index.order[position] == .descending
            let operatorClass = index.operatorClass.map { " \($0)" } ?? ""
            return SQLName.quoted(name) + operatorClass + (isDescending ? " DESC" : "")
        }
        return self.index(
            "INDEX", index.name, on: table, " USING \(index.method) (\(columns.joined(separator: ", ")))",
            summary: "index \(index.name)", partitioning, replaces: replaces)
    }

    private func index(
        _ what: String, _ name: String, on table: Table, _ definition: String, summary: String,
        _ partitioning: Partitioning?, replaces: Bool
    ) -> SQLStatement {
        let create =
            "CREATE \(what) IF NOT EXISTS \(SQLName.quoted(name)) ON \(qualified(table.name))\(definition)"
        let build = ConcurrentBuild(
            what: what, index: QualifiedName(namespace: namespace, name: name),
            table: QualifiedName(namespace: namespace, name: table.name), definition: definition, replaces: replaces,
            partitions: partitioning?.partitions ?? [])
        guard replaces else {
            return SQLStatement(create, summary: "create \(summary)", concurrent: .build(build))
        }
        return SQLStatement(
            "DROP INDEX IF EXISTS \(build.index.quoted), \(build.built.quoted);\n\(create)",
            summary: "replace \(summary)", concurrent: .build(build))
    }

    /// Names of the indexes that the schema gives a table.
    func indexNames(of table: Table) -> [String] {
        table.indexes.map(\.name) + table.uniques.map(\.name) + [SearchSQL.indexName(table)]
    }

    /// What concurrent builds of a table's indexes left behind.
    func dropLeftovers(of table: Table, _ found: DatabaseDescription.Table) -> [SQLStatement] {
        let names = indexNames(of: table)
        let ours = names + names.map(ConcurrentBuild.temporaryName)
        let whole = found.invalidIndexes.filter(ours.contains).map {
            drop(QualifiedName(namespace: namespace, name: $0), isDivided: found.partitioning != nil)
        }
        // Finished parts of what is not whole yet are for its next build to take or drop.
        let finished = Set(found.indexes.map(\.name) + found.expressionIndexes)
        let parts = (found.partitioning?.partitions ?? []).flatMap { partition in
            ours.compactMap { index -> SQLStatement? in
                let name = ConcurrentBuild.partName(index, of: partition.name)
                guard
                    partition.invalidIndexes.contains(name.name)
                        || finished.contains(index) && partition.looseIndexes.contains(name.name)
                else { return nil }
                return drop(name, isDivided: partition.kind == .partitioned)
            }
        }
        return whole + parts
    }

    /// Of a replacement that was built and did not take its place.
    func dropIndex(_ name: String, of found: DatabaseDescription.Table?) -> SQLStatement {
        drop(QualifiedName(namespace: namespace, name: name), isDivided: found?.partitioning != nil)
    }

    /// - Parameter isDivided: of a table with partitions, of which Postgres drops no index concurrently.
    private func drop(_ name: QualifiedName, isDivided: Bool) -> SQLStatement {
        SQLStatement(
            "DROP INDEX IF EXISTS \(name.quoted)", summary: "drop index \(name.name), which was left unfinished",
            concurrent: isDivided ? nil : .alone("DROP INDEX CONCURRENTLY IF EXISTS \(name.quoted)"))
    }

    /// Of the `@searchable` fields; nil for a table without.
    func createSearchIndex(
        of table: Table, _ partitioning: Partitioning? = nil, replaces: Bool = false
    ) -> SQLStatement? {
        guard table.columns.contains(where: { $0.searchLanguage != nil }) else { return nil }
        let name = SearchSQL.indexName(table)
        return index(
            "INDEX", name, on: table, " USING gin (\(SearchSQL.document(table, nil)))",
            summary: "search index \(name)", partitioning, replaces: replaces)
    }

    /// The extension that columns of type Vector need.
    var createVectorExtension: SQLStatement {
        SQLStatement("CREATE EXTENSION IF NOT EXISTS vector", summary: "create extension vector")
    }

    /// Nil when the target table did not compile.
    func addForeignKey(_ reference: Reference, of table: Table) -> SQLStatement? {
        guard let definition = foreignKeyDefinition(reference, of: table) else { return nil }
        let exists =
            "SELECT FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid"
            + " JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace"
            + " WHERE n.nspname = \(SQLName.literal(namespace)) AND r.relname = \(SQLName.literal(table.name))"
            + " AND c.conname = \(SQLName.literal(reference.constraintName))"
        return SQLStatement(
            guarded(exists, then: "ALTER TABLE \(qualified(table.name)) ADD \(definition)"),
            summary: "add foreign key \(reference.constraintName)")
    }

    func foreignKeyDefinition(_ reference: Reference, of table: Table) -> String? {
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
        return "CONSTRAINT \(SQLName.quoted(reference.constraintName))"
            + " FOREIGN KEY (\(columnList(reference.localFields, of: table)))"
            + " REFERENCES \(qualified(target.name)) (\(columnList(reference.targetFields, of: target)))"
            + " ON DELETE \(rule)"
    }

    /// A statement without an `IF NOT EXISTS` of its own.
    private func guarded(_ exists: String, then statement: String) -> String {
        let body = "BEGIN\n    IF NOT EXISTS (\(exists)) THEN\n        \(statement);\n    END IF;\nEND"
        var tag = "$freshet$"
        while body.contains(tag) { tag = "$f" + tag.dropFirst() }
        return "DO \(tag)\n\(body)\n\(tag)"
    }
}
