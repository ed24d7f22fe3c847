import SchemaModel

/// Compares a schema with a database.
///
/// | the schema has | the database has | |
/// | --- | --- | --- |
/// | table, enum, index, unique, foreign key | nothing | created |
/// | enum value | not the value | added in position |
/// | optional column, or one with a default in SQL | no column | added |
/// | required column without such a default | no column | refused: existing rows have no value |
/// | optional column | NOT NULL | made nullable |
/// | required column | nullable | refused: existing rows may have null |
/// | another type, another key | | refused |
/// | foreign key | same name, different `ON DELETE` | changed |
/// | foreign key | other name, different `ON DELETE` | created in addition, listed as drift |
/// | search or vector index | same name, other fields or distance | listed as drift; rebuilt concurrently |
/// | foreign key | the same, NOT VALID | listed as drift; validated concurrently |
/// | index or constraint | same name, otherwise different | refused |
/// | nothing | anything | kept, listed as drift |
///
/// `Permissions.rewrites` allows what is refused, except for keys and sequences; `Permissions.drops` drops what is
/// kept.
struct MigrationPlanner {
    let schema: Schema
    let existing: DatabaseDescription
    let sql: DefinitionSQL
    let permissions: Migration.Permissions
    var result = MigrationPlan()
    /// `table.column` of columns that are missing or have another type: nothing can be built on them.
    private var unusable: Set<String> = []
    /// By the name of the index.
    var replacements: [String: IndexReplacement] = [:]
    /// Indexes that replace others. They come after all other indexes, so that these take over what the replaced ones
    /// enforced.
    var exchanges: [SQLStatement] = []
    /// Run after the indexes that take over the uniqueness of those dropped with columns.
    private var columnDrops: [SQLStatement] = []
    /// Validations of foreign keys. They run last, since rows that were kept on purpose may violate them.
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
                    "\"\(table.name)\" is a view or foreign table; its columns and indexes are not compared")
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
        // Indexes of materialized views are not described, and other views cannot have any.
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

    /// Reports a missing pgvector before anything is changed.
    private mutating func compareVectorExtension() {
        switch existing.extensions["vector"] {
        case .installed: break
        case .available: result.steps.append(sql.createVectorExtension)
        case nil:
            refuse(
                "vector", nil,
                "the schema has columns of type Vector, but the extension pgvector is not available",
                suggestion: "install pgvector on the database server, or remove the Vector fields from the schema")
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
                "enum value \"\(value)\" is not in the schema; rows with it cannot be read")
        }
        let common = (existing.enums[type.name] ?? []).filter(type.values.contains)
        if common != type.values.filter(common.contains) {
            drift(type.name, nil, "the enum's values have another order in the database, which Postgres sorts by")
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
            message: "loses nothing; a required column without a default can only be added to an empty table",
            countSQL: count(table))
        if allow(.rewrites, [sql.addColumn(column, to: table)], loss) { return }
        unusable.insert("\(table.name).\(column.name)")
        refuse(
            table.name, column.name,
            "column \"\(column.name)\" is new and required, but existing rows have no value for it",
            suggestion: "make it optional, or give it @default(value: …) or @default(sql: …)", permission: .rewrites)
    }

    /// - Returns: whether the column's type is changed, together with its default.
    private mutating func compareType(
        _ column: Column, _ present: DatabaseDescription.Column, _ table: Table
    ) -> Bool {
        // The description has enum names without quotes and schema.
        var desired = schema.sqlType(of: column)
        if case .enumeration(let typeName) = column.type.scalar, column.sqlTypeOverride == nil {
            desired = (schema.enums[typeName]?.name ?? typeName) + (column.type.isList ? "[]" : "")
        }
        guard desired != present.type else { return false }
        let alter = "ALTER COLUMN \(SQLName.quoted(column.name))"
        let type = schema.sqlType(of: column, enumSchema: sql.namespace)
        if !["identity", "generated"].contains(present.defaultSQL) {
            // The default has the former type.
            var changes = present.defaultSQL == nil ? [] : ["\(alter) DROP DEFAULT"]
            changes.append("\(alter) TYPE \(type) USING \(SQLName.quoted(column.name))::\(type)")
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
                suggestion: require.sql, permission: .rewrites)
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
        result.steps.append(
            SQLStatement(
                "ALTER TABLE \(sql.qualified(table.name)) ALTER COLUMN \(SQLName.quoted(column.name))"
                    + " SET DEFAULT \(desired)",
                summary: "set default of \(table.name).\(column.name)"))
    }

    private mutating func compareKey(_ table: Table, _ found: DatabaseDescription.Table) {
        let desired = sql.names(table.key, of: table)
        guard desired != found.key else { return }
        // The order of a key's columns only affects its index.
        if Set(desired) == Set(found.key) { return }
        refuse(
            table.name, nil,
            "the key is (\(found.key.joined(separator: ", "))),"
                + " but the schema requires (\(desired.joined(separator: ", ")))"
        )
    }

    func isUsable(_ fields: [String], of table: Table) -> Bool {
        sql.names(fields, of: table).allSatisfy { !unusable.contains("\(table.name).\($0)") }
    }

    /// - Returns: whether the steps were added.
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
