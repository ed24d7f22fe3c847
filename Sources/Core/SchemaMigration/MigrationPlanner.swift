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
    var unusable: Set<String> = []
    /// The replacements by the name of their index.
    var replacements: [String: IndexReplacement] = [:]
    /// Indexes that replace others. They come after all other indexes, so that these take over what the replaced ones
    /// enforced.
    var exchanges: [SQLStatement] = []
    /// Drops of columns. They run after the indexes that take over the uniqueness of those dropped with the columns.
    var columnDrops: [SQLStatement] = []
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
        for name in schema.extensions.sorted() { compareExtension(name) }
        for table in schema.tables { refuseUnknownTypes(table) }
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

    /// Reports a missing extension before anything is changed.
    private mutating func compareExtension(_ name: String) {
        switch existing.extensions[name] {
        case .installed: break
        case .available: result.steps.append(sql.createExtension(name))
        case nil where name == "vector":
            refuse(
                "vector", nil,
                "the schema has columns of type Vector, but the extension pgvector is not available",
                suggestion: "install pgvector on the database server, or remove the Vector fields from the schema")
        case nil:
            refuse(
                name, nil, "the schema has columns of the type \(name), but the extension \(name) is not available",
                suggestion: "install it on the database server (postgresql-contrib), or give @col another dataType")
        }
    }

    /// Reports the fields whose `@col(dataType:)` Postgres does not know, before anything is changed.
    private mutating func refuseUnknownTypes(_ table: Table) {
        for column in table.columns {
            guard let dataType = column.dataType, !dataType.isKnown,
                !existing.types.contains(dataType.name.prefix { $0 != "(" }.description)
            else { continue }
            refuse(
                table.name, column.name,
                "the field \"\(table.typeName).\(column.field)\" has the SQL type \"\(dataType.name)\","
                    + " which the database does not have",
                suggestion: "CREATE TYPE or CREATE EXTENSION for it, or give @col another dataType")
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
                "enum value \"\(value)\" is not in the schema; rows with it cannot be read",
                suggestion: renaming(value, of: type), hasLeftSchema: true)
        }
        let common = (existing.enums[type.name] ?? []).filter(type.values.contains)
        if common != type.values.filter(common.contains) {
            drift(type.name, nil, "the enum's values have another order in the database, which Postgres sorts by")
        }
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

    func count(_ table: Table, _ condition: String? = nil) -> String {
        "SELECT count(*) FROM \(sql.qualified(table.name))" + (condition.map { " WHERE \($0)" } ?? "")
    }

    mutating func refuse(
        _ object: String, _ part: String?, _ message: String, suggestion: String? = nil,
        permission: Migration.Permissions = [], isBuilt: Bool = false, mayHaveNulls: Bool = false
    ) {
        result.refused.append(
            MigrationPlan.Finding(
                object: object, part: part, message: message, suggestion: suggestion, mayHaveNulls: mayHaveNulls,
                permission: permission, isBuilt: isBuilt))
    }

    mutating func drift(
        _ object: String, _ part: String?, _ message: String, suggestion: String? = nil, hasLeftSchema: Bool = false,
        isHarmful: Bool = false, permission: Migration.Permissions = []
    ) {
        result.drift.append(
            MigrationPlan.Finding(
                object: object, part: part, message: message, suggestion: suggestion, hasLeftSchema: hasLeftSchema,
                isHarmful: isHarmful, permission: permission))
    }
}
