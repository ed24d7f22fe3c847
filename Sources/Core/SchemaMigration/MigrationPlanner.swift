import SchemaModel

/// Compares a schema with a database.
///
/// | the schema has | the database has | |
/// | --- | --- | --- |
/// | table, enum, index, unique, foreign key | nothing | created |
/// | enum value | not the value | added at its place |
/// | optional column, or one with a default in SQL | no column | added |
/// | required column without such a default | no column | refused: what would old rows hold? |
/// | optional column | NOT NULL | loosened |
/// | required column | nullable | refused: old rows may hold null |
/// | another type, another key | | refused |
/// | foreign key | one of its name that differs in `ON DELETE` only | changed |
/// | foreign key | one of another name that differs in `ON DELETE` only | created beside it, listed as drift |
/// | search index, or index of vectors | one of that name, of other fields or another measure | listed as drift; built anew concurrently |
/// | foreign key | the same, NOT VALID | listed as drift; validated concurrently |
/// | index or constraint | otherwise one of that name, defined differently | refused |
/// | nothing | anything | left alone, listed as drift |
///
/// What is refused is done with `Permissions.rewrites`, but for keys and sequences; what is left alone is dropped with
/// `Permissions.drops`.
struct MigrationPlanner {
    let schema: Schema
    let existing: DatabaseDescription
    let sql: DefinitionSQL
    let permissions: Migration.Permissions
    var result = MigrationPlan()
    /// `table.column` of what is absent or of another type: nothing can be built on it.
    private var unusable: Set<String> = []
    /// By the name of the index.
    var replacements: [String: IndexReplacement] = [:]
    /// Indexes that take the place of others: after all others, so that what they end goes on in those.
    var exchanges: [SQLStatement] = []
    /// After the indexes that go on with what theirs kept unique.
    private var columnDrops: [SQLStatement] = []
    /// Of foreign keys: they may fail on rows that were left on purpose, when all else is done.
    var checks: [SQLStatement] = []

    init(
        schema: Schema, existing: DatabaseDescription, namespace: String, permissions: Migration.Permissions = []
    ) {
        self.permissions = permissions
        self.schema = schema
        self.existing = existing
        sql = DefinitionSQL(schema: schema, namespace: namespace)
    }

    mutating func plan() -> MigrationPlan {
        if schema.usesVectors { compareVectorExtension() }
        for type in schema.enums.values.sorted(by: { $0.name < $1.name }) { compare(type) }
        for table in schema.tables {
            if let found = existing.table(named: table.name) {
                compareColumns(table, found)
                compareKey(table, found)
            } else if existing.views.contains(table.name) {
                drift(
                    table.name, nil,
                    "\"\(table.name)\" is a view or a foreign table; its columns and indexes are not compared")
            } else {
                result.steps.append(sql.createTable(table))
                result.missing.append("table \"\(table.name)\"")
            }
        }
        for table in schema.tables {
            if let found = existing.table(named: table.name) {
                result.steps += sql.dropLeftovers(of: table, found)
            }
        }
        // A materialized view has indexes, but they are not described, and Postgres allows the others none.
        let tables = schema.tables.filter { !existing.views.contains($0.name) }
        for table in tables { compareIndexes(table, existing.table(named: table.name)) }
        for table in tables { compareSearchIndex(table, existing.table(named: table.name)) }
        result.steps += exchanges
        for table in tables { existing.table(named: table.name).map { dropReplacements(of: table, $0) } }
        for table in tables { compareForeignKeys(table, existing.table(named: table.name)) }
        result.steps += columnDrops
        listExtras()
        result.steps += checks
        return result
    }

    /// Without pgvector there are no Vector columns: better said before anything is changed.
    private mutating func compareVectorExtension() {
        switch existing.extensions["vector"] {
        case .installed: break
        case .available: result.steps.append(sql.createVectorExtension)
        case nil:
            refuse(
                "vector", nil,
                "the schema has columns of type Vector, and Postgres does not have the extension pgvector",
                suggestion: "install pgvector on the database server, or take the Vector fields out of the schema")
        }
    }

    private mutating func compare(_ type: EnumType) {
        guard var values = existing.enums[type.name] else {
            result.steps.append(sql.createEnum(type))
            return
        }
        for value in type.values where !values.contains(value) {
            result.steps.append(sql.addEnumValue(value, to: type, existing: values))
            values.append(value)
        }
        for value in values where !type.values.contains(value) {
            drift(
                type.name, value,
                "enum value \"\(value)\" is not in the schema; rows that hold it cannot be read as one")
        }
        let common = (existing.enums[type.name] ?? []).filter(type.values.contains)
        if common != type.values.filter(common.contains) {
            drift(type.name, nil, "the enum's values are ordered differently; Postgres sorts by its own order")
        }
    }

    private mutating func compareColumns(_ table: Table, _ found: DatabaseDescription.Table) {
        for column in table.columns {
            guard let present = found.columns.first(where: { $0.name == column.name }) else {
                addColumn(column, to: table)
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
                message: "the column is dropped with all its values" + lostIndexes(by: extra, table, found),
                countSQL: count(table, "\(SQLName.quoted(extra.name)) IS NOT NULL"))
            if allow(.drops, [], loss) {
                columnDrops.append(drop)
                continue
            }
            drift(
                table.name, extra.name,
                "column \"\(extra.name)\" is not in the schema"
                    + (blocks ? "; it is required and has no default, so inserts will fail" : ""),
                suggestion: blocks ? "\(alter) ALTER COLUMN \(SQLName.quoted(extra.name)) DROP NOT NULL" : nil,
                isHarmful: blocks)
        }
    }

    private mutating func addColumn(_ column: Column, to table: Table) {
        result.missing.append("column \"\(table.name).\(column.name)\"")
        if column.isNullable || column.isSerial || sql.defaultSQL(column) != nil {
            result.steps.append(sql.addColumn(column, to: table))
            return
        }
        let loss = MigrationPlan.Loss(
            object: "\(table.name).\(column.name)",
            message: "nothing is lost; a required column without a default can be added to an empty table only",
            countSQL: count(table))
        if allow(.rewrites, [sql.addColumn(column, to: table)], loss) { return }
        unusable.insert("\(table.name).\(column.name)")
        refuse(
            table.name, column.name,
            "column \"\(column.name)\" is new and required, and there is no value for the rows that exist",
            suggestion: "make it optional, or give it @default(value: …) or @default(sql: …)", permission: .rewrites)
    }

    /// - Returns: whether the column gets another type, and its default with it.
    private mutating func compareType(
        _ column: Column, _ present: DatabaseDescription.Column, _ table: Table
    ) -> Bool {
        // The description names enums without quotes and schema.
        var wanted = schema.sqlType(of: column)
        if case .enumeration(let typeName) = column.type.scalar, column.sqlTypeOverride == nil {
            wanted = (schema.enums[typeName]?.name ?? typeName) + (column.type.isList ? "[]" : "")
        }
        guard wanted != present.type else { return false }
        let alter = "ALTER COLUMN \(SQLName.quoted(column.name))"
        let type = schema.sqlType(of: column, enumSchema: sql.namespace)
        if !["identity", "generated"].contains(present.defaultSQL) {
            // The default has the former type.
            var changes = present.defaultSQL == nil ? [] : ["\(alter) DROP DEFAULT"]
            changes.append("\(alter) TYPE \(type) USING \(SQLName.quoted(column.name))::\(type)")
            if let value = sql.defaultSQL(column) { changes.append("\(alter) SET DEFAULT \(value)") }
            let retype = SQLStatement(
                "ALTER TABLE \(sql.qualified(table.name)) \(changes.joined(separator: ", "))",
                summary: "change type of \(table.name).\(column.name) from \(present.type) to \(wanted)")
            let loss = MigrationPlan.Loss(
                object: "\(table.name).\(column.name)",
                message: "\(present.type) becomes \(wanted): what the new type cannot hold exactly is lost, or fails;"
                    + " the table is locked while it is rewritten",
                countSQL: count(table, "\(SQLName.quoted(column.name)) IS NOT NULL"))
            if allow(.rewrites, [retype], loss) { return true }
        }
        unusable.insert("\(table.name).\(column.name)")
        refuse(
            table.name, column.name,
            "column \"\(column.name)\" is \(present.type), the schema wants \(wanted)",
            suggestion: "ALTER TABLE \(sql.qualified(table.name)) \(alter) TYPE \(type) USING …",
            permission: .rewrites)
        return false
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
                message: "nothing is lost; it fails while rows hold null, and the table is locked while it is read",
                countSQL: count(table, "\(SQLName.quoted(column.name)) IS NULL"))
            if allow(.rewrites, [require], loss) { return }
            refuse(
                table.name, column.name,
                "column \"\(column.name)\" is required in the schema, but rows may hold null",
                suggestion: require.sql, permission: .rewrites)
        }
    }

    private mutating func compareDefault(
        _ column: Column, _ present: DatabaseDescription.Column, _ table: Table
    ) {
        if column.isSerial, present.defaultSQL == nil {
            refuse(
                table.name, column.name, "column \"\(column.name)\" is a serial in the schema and has no sequence",
                suggestion: "ALTER TABLE \(sql.qualified(table.name)) ALTER COLUMN \(SQLName.quoted(column.name))"
                    + " ADD GENERATED BY DEFAULT AS IDENTITY")
        }
        guard !column.isDefaultImplied, let wanted = sql.defaultSQL(column) else {
            // The nodes give every value that has a default; one left in the database does not disturb them.
            return
        }
        if let found = present.defaultSQL, ["identity", "generated"].contains(found) {
            drift(table.name, column.name, "column \"\(column.name)\" is numbered or computed by Postgres")
            return
        }
        if let found = present.defaultSQL, DefaultText.mayBeSame(wanted, found, as: column.type) { return }
        result.steps.append(
            SQLStatement(
                "ALTER TABLE \(sql.qualified(table.name)) ALTER COLUMN \(SQLName.quoted(column.name))"
                    + " SET DEFAULT \(wanted)",
                summary: "set default of \(table.name).\(column.name)"))
    }

    private mutating func compareKey(_ table: Table, _ found: DatabaseDescription.Table) {
        let wanted = sql.names(table.key, of: table)
        guard wanted != found.key else { return }
        // The order of a key's columns matters to its index only.
        if Set(wanted) == Set(found.key) { return }
        refuse(
            table.name, nil,
            "the key is (\(found.key.joined(separator: ", "))), the schema wants (\(wanted.joined(separator: ", ")))")
    }

    func isUsable(_ fields: [String], of table: Table) -> Bool {
        sql.names(fields, of: table).allSatisfy { !unusable.contains("\(table.name).\($0)") }
    }

    /// - Returns: whether the steps are taken.
    mutating func allow(
        _ permission: Migration.Permissions, _ steps: [SQLStatement], _ losses: [MigrationPlan.Loss]
    ) -> Bool {
        guard permissions.contains(permission) else { return false }
        result.steps += steps
        result.losses += losses
        return true
    }

    mutating func allow(
        _ permission: Migration.Permissions, _ steps: [SQLStatement], _ loss: MigrationPlan.Loss
    ) -> Bool {
        allow(permission, steps, [loss])
    }

    private func count(_ table: Table, _ condition: String? = nil) -> String {
        "SELECT count(*) FROM \(sql.qualified(table.name))" + (condition.map { " WHERE \($0)" } ?? "")
    }

    mutating func refuse(
        _ object: String, _ part: String?, _ message: String, suggestion: String? = nil,
        permission: Migration.Permissions = [], isBuilt: Bool = false
    ) {
        result.refused.append(
            MigrationPlan.Finding(
                object: object, part: part, message: message, suggestion: suggestion, permission: permission,
                isBuilt: isBuilt))
    }

    mutating func drift(
        _ object: String, _ part: String?, _ message: String, suggestion: String? = nil, isHarmful: Bool = false,
        permission: Migration.Permissions = []
    ) {
        result.drift.append(
            MigrationPlan.Finding(
                object: object, part: part, message: message, suggestion: suggestion, isHarmful: isHarmful,
                permission: permission))
    }
}
