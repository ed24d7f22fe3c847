import JSON

/// The tables and enums of a Postgres schema, as far as migrations need them.
package struct DatabaseDescription: Sendable {
    package struct Column: Sendable, Hashable {
        package var name: String
        /// The type as `format_type` prints it; the plain name for an enum; with `[]` for an array.
        package var type: String
        package var isNullable: Bool
        /// The default as `pg_get_expr` prints it; `identity` or `generated` for such columns.
        package var defaultSQL: String?
    }

    /// A constraint that depends on an index: Postgres does not drop one without the other.
    package struct IndexConstraint: Sendable, Hashable {
        /// The `contype` of `pg_constraint`.
        package enum Kind: String, Sendable, Hashable {
            case primaryKey = "p"
            case unique = "u"
            case exclusion = "x"
            /// A foreign key of this table, or of another one that refers to it.
            case foreignKey = "f"
        }

        package var kind: Kind
        package var name: String
        /// The table that the constraint belongs to.
        package var table: String
    }

    package struct ForeignKey: Sendable, Hashable {
        package var name: String
        package var columns: [String]
        package var targetTable: String
        package var targetColumns: [String]
        /// `CASCADE`, `SET NULL`, `NO ACTION`, `RESTRICT` or `SET DEFAULT`.
        package var deleteRule: String
        /// The rule for updates, one of the same.
        package var updateRule = "NO ACTION"
        package var isFullMatch = false
        package var isDeferrable = false
        package var isDeferred = false
        /// Whether it is `NOT VALID`, so that existing rows may violate it.
        package var isUnchecked = false
    }

    package struct Table: Sendable, Hashable {
        package var name: String
        package var columns: [Column]
        package var key: [String]
        /// Columns that the key's index only includes.
        package var keyIncludes: [String] = []
        /// Valid indexes, except the key's.
        package var indexes: [Index]
        package var foreignKeys: [ForeignKey]
        /// The constraints by the name of their index.
        package var indexConstraints: [String: [IndexConstraint]] = [:]
        /// Indexes that interrupted `CREATE INDEX CONCURRENTLY` statements left: they occupy names but serve no query.
        package var invalidIndexes: [String] = []
        /// Indexes that are not yet valid, with the process that builds each.
        package var indexBuilders: [String: Int] = [:]
        /// The partitions of a table with `PARTITION BY`, even if it has none; nil for other tables.
        package var partitioning: Partitioning?
    }

    package var tables: [Table]
    /// Values in order, by type name.
    package var enums: [String: [String]]
    /// Views, materialized views and foreign tables.
    package var views: [String] = []
    /// The table of every relation in the schema, by name: the indexed table for an index, the relation itself
    /// otherwise. All relations share one namespace.
    package var relations: [String: String] = [:]
    /// Extensions that are installed in the database or available on the server.
    package var extensions: [String: ExtensionState] = [:]
    /// The names of the types in Postgres' search path as `format_type` prints them, and qualified by their schema, but
    /// for arrays and the row types of tables.
    package var types: Set<String> = []

    package enum ExtensionState: String, Sendable, Hashable {
        case installed, available
    }

    package init(tables: [Table] = [], enums: [String: [String]] = [:]) {
        self.tables = tables
        self.enums = enums
    }

    package func table(named name: String) -> Table? {
        tables.first { $0.name == name }
    }

    /// Returns the names of the partitions in a Postgres schema.
    func partitions(in namespace: String) -> Set<String> {
        let all = tables.compactMap(\.partitioning).flatMap(\.partitions).map(\.name)
        return Set(all.filter { $0.namespace == namespace }.map(\.name))
    }

    /// The error for a text that is not a result of `CatalogQuery`.
    package struct FormatError: Error, Sendable, Hashable {
        /// The path of the malformed value: `tables[3].columns`.
        package let path: String
    }

    /// Parses the result of `CatalogQuery`.
    package init(parsing text: String) throws(FormatError) {
        guard let root = try? JSONParser.parse(text) else { throw FormatError(path: "") }
        self.init()
        for (index, table) in try Self.array(root, "tables", "").enumerated() {
            tables.append(try Self.table(table, "tables[\(index)]"))
        }
        for (index, type) in try Self.array(root, "enums", "").enumerated() {
            enums[try Self.text(type, "name", "enums[\(index)]")] = try Self.texts(type, "values", "enums[\(index)]")
        }
        views = (root["views"]?.arrayValue ?? []).compactMap(\.stringValue)
        for entry in root["relations"]?.objectValue?.entries ?? [] { relations[entry.key] = entry.value.stringValue }
        types = Set((root["types"]?.arrayValue ?? []).compactMap(\.stringValue))
        for entry in root["extensions"]?.objectValue?.entries ?? [] {
            extensions[entry.key] = entry.value.stringValue.flatMap(ExtensionState.init(rawValue:))
        }
    }

    private static func table(_ json: JSONValue, _ path: String) throws(FormatError) -> Table {
        var table = Table(
            name: try text(json, "name", path), columns: [], key: try texts(json, "key", path), indexes: [],
            foreignKeys: [])
        for column in try array(json, "columns", path) {
            let path = path + ".columns"
            table.columns.append(
                Column(
                    name: try text(column, "name", path), type: try text(column, "type", path),
                    isNullable: try flag(column, "nullable", path), defaultSQL: column["default"]?.stringValue))
        }
        table.indexes = try indexes(json, path)
        for constraint in json["indexConstraints"]?.arrayValue ?? [] {
            let path = path + ".indexConstraints"
            guard let kind = IndexConstraint.Kind(rawValue: try text(constraint, "kind", path)) else {
                throw FormatError(path: path + ".kind")
            }
            table.indexConstraints[try text(constraint, "index", path), default: []].append(
                IndexConstraint(
                    kind: kind, name: try text(constraint, "name", path), table: try text(constraint, "table", path)))
        }
        for key in try array(json, "foreignKeys", path) {
            let path = path + ".foreignKeys"
            table.foreignKeys.append(
                ForeignKey(
                    name: try text(key, "name", path), columns: try texts(key, "columns", path),
                    targetTable: try text(key, "target", path),
                    targetColumns: try texts(key, "targetColumns", path), deleteRule: try text(key, "onDelete", path),
                    updateRule: try text(key, "onUpdate", path), isFullMatch: try flag(key, "fullMatch", path),
                    isDeferrable: try flag(key, "deferrable", path), isDeferred: try flag(key, "deferred", path),
                    isUnchecked: try flag(key, "unchecked", path)))
        }
        table.keyIncludes = (json["keyIncludes"]?.arrayValue ?? []).compactMap(\.stringValue)
        table.invalidIndexes = (json["invalidIndexes"]?.arrayValue ?? []).compactMap(\.stringValue)
        for entry in json["indexBuilders"]?.objectValue?.entries ?? [] {
            table.indexBuilders[entry.key] = entry.value.stringValue.flatMap { Int($0) }
        }
        if let json = json["partitioning"], !json.isNull {
            table.partitioning = try partitioning(json, path + ".partitioning")
        }
        return table
    }

    private static func indexes(_ json: JSONValue, _ path: String) throws(FormatError) -> [Index] {
        let path = path + ".indexes"
        var indexes: [Index] = []
        for index in try array(json, "indexes", path) {
            indexes.append(
                Index(
                    name: try text(index, "name", path), columns: try texts(index, "columns", path),
                    descending: try array(index, "descending", path).map { $0.boolValue ?? false },
                    method: try text(index, "method", path), isUnique: try flag(index, "unique", path),
                    operatorClasses: try texts(index, "operatorClasses", path),
                    expression: index["expression"]?.stringValue,
                    predicate: index["predicate"]?.stringValue, uses: try texts(index, "uses", path),
                    isReplicaIdentity: try flag(index, "replicaIdentity", path),
                    isClustered: try flag(index, "clustered", path)))
        }
        return indexes
    }

    private static func partitioning(_ json: JSONValue, _ path: String) throws(FormatError) -> Partitioning {
        var partitioning = Partitioning(
            columns: try texts(json, "columns", path), usesExpressions: try flag(json, "usesExpressions", path))
        for partition in try array(json, "partitions", path) {
            let path = path + ".partitions"
            guard let kind = Partition.Kind(rawValue: try text(partition, "kind", path)) else {
                throw FormatError(path: path + ".kind")
            }
            partitioning.partitions.append(
                Partition(
                    name: QualifiedName(
                        namespace: try text(partition, "namespace", path), name: try text(partition, "name", path)),
                    kind: kind, indexes: try indexes(partition, path),
                    looseIndexes: try texts(partition, "looseIndexes", path),
                    invalidIndexes: try texts(partition, "invalidIndexes", path)))
        }
        return partitioning
    }

    private static func array(_ json: JSONValue, _ key: String, _ path: String) throws(FormatError) -> [JSONValue] {
        guard let array = json[key]?.arrayValue else { throw FormatError(path: "\(path).\(key)") }
        return array
    }

    private static func texts(_ json: JSONValue, _ key: String, _ path: String) throws(FormatError) -> [String] {
        let array = try array(json, key, path)
        let texts = array.compactMap(\.stringValue)
        guard texts.count == array.count else { throw FormatError(path: "\(path).\(key)") }
        return texts
    }

    private static func text(_ json: JSONValue, _ key: String, _ path: String) throws(FormatError) -> String {
        guard let text = json[key]?.stringValue else { throw FormatError(path: "\(path).\(key)") }
        return text
    }

    private static func flag(_ json: JSONValue, _ key: String, _ path: String) throws(FormatError) -> Bool {
        guard let flag = json[key]?.boolValue else { throw FormatError(path: "\(path).\(key)") }
        return flag
    }
}
