/// The compiled schema, with every name and default resolved.
///
/// `SchemaCompiler` builds it; all later stages (operations, SQL, migrations) read it instead of the SDL. Source:
/// docs/reference/sql-connect.md §5.2, §5.3.
package struct Schema: Sendable {
    /// Tables in SDL order.
    package var tables: [Table]
    /// Views in SDL order. They are read like tables, never written, and have no key.
    package var views: [Table] = []
    /// Enum types by GraphQL name.
    package var enums: [String: EnumType]

    package init(tables: [Table] = [], enums: [String: EnumType] = [:]) {
        self.tables = tables
        self.enums = enums
    }

    /// Returns the table or view with a GraphQL type name (`Novel`).
    package func table(ofType typeName: String) -> Table? {
        tables.first { $0.typeName == typeName } ?? views.first { $0.typeName == typeName }
    }

    /// The Postgres extensions that the columns' types need: `vector`, `citext`.
    package var extensions: Set<String> {
        Set(
            (tables + views).flatMap(\.columns).compactMap { column in
                column.type.scalar == .vector ? "vector" : column.dataType?.extensionName
            })
    }

    /// Returns a column's SQL type as `format_type` prints it: `uuid`, `text[]`. An enum's name is quoted, and
    /// qualified if `enumSchema` gives its Postgres schema.
    package func sqlType(of column: Column, enumSchema: String? = nil) -> String {
        let element: String
        if let dataType = column.dataType {
            if dataType.conversion == .jsonArray { return dataType.name }
            element = dataType.name
        } else if case .enumeration(let typeName) = column.type.scalar {
            let name = SQLName.quoted(enums[typeName]?.name ?? typeName)
            element = enumSchema.map { "\(SQLName.quoted($0)).\(name)" } ?? name
        } else {
            element = column.type.scalar.sqlTypeName ?? "text"
        }
        return column.type.isList ? element + "[]" : element
    }
}

/// A `@table` or `@view` type.
package struct Table: Sendable {
    /// GraphQL type name, `Novel`.
    package var typeName: String
    /// SQL table name, unquoted: `novel`.
    package var name: String
    /// Root field of a single-row lookup, `novel`; also the prefix of its mutations (`novel_insert`).
    package var singular: String
    /// Root field of a list, `novels`.
    package var plural: String
    /// Columns in SDL order; a reference's foreign-key columns take the position of its field.
    package var columns: [Column]
    /// Field names of the primary key, in the order of `@table(key:)`; never empty for a table.
    package var key: [String]
    /// Fields of a table type: references from this table to another.
    package var references: [Reference]
    /// Unique constraints other than the primary key.
    package var uniques: [UniqueConstraint]
    package var indexes: [TableIndex]
    /// Nil for a table.
    package var view: View?

    /// The source of a view's rows.
    package enum View: Sendable {
        /// A view in the database, `Table.name`.
        case named
        /// `@view(sql:)`: a SELECT that replaces the table's name in queries.
        case sql(String)
    }

    package init(
        typeName: String, name: String, singular: String, plural: String, columns: [Column], key: [String],
        references: [Reference] = [], uniques: [UniqueConstraint] = [], indexes: [TableIndex] = []
    ) {
        self.typeName = typeName
        self.name = name
        self.singular = singular
        self.plural = plural
        self.columns = columns
        self.key = key
        self.references = references
        self.uniques = uniques
        self.indexes = indexes
    }

    package func column(ofField field: String) -> Column? {
        columns.first { $0.field == field }
    }

    package func reference(ofField field: String) -> Reference? {
        references.first { $0.field == field }
    }

    /// The key's columns, in key order.
    package var keyColumns: [Column] {
        key.compactMap { column(ofField: $0) }
    }
}

/// A column of a table.
package struct Column: Sendable {
    /// GraphQL field name, `printedYear`; `novelId` for a foreign key.
    package var field: String
    /// SQL column name, unquoted: `release_year`.
    package var name: String
    package var type: ColumnType
    package var isNullable: Bool
    package var defaultValue: ColumnDefault?
    /// Whether the default comes from the language rather than the schema: a different default in the database is
    /// accepted.
    package var isDefaultImplied = false
    /// The SQL type given by `@col(dataType:)` or `@col(size:)`; nil if the column has the standard type of its scalar.
    package var dataType: ColumnDataType?
    /// Whether Postgres numbers the rows: `@col(dataType: "serial")`. `defaultValue` is then `.sql`.
    package var isSerial: Bool
    /// The Postgres text search configuration of a `@searchable` column: `english`.
    package var searchLanguage: String?

    package init(
        field: String, name: String, type: ColumnType, isNullable: Bool, defaultValue: ColumnDefault? = nil,
        dataType: ColumnDataType? = nil, isSerial: Bool = false, searchLanguage: String? = nil
    ) {
        self.field = field
        self.name = name
        self.type = type
        self.isNullable = isNullable
        self.defaultValue = defaultValue
        self.dataType = dataType
        self.isSerial = isSerial
        self.searchLanguage = searchLanguage
    }
}

/// The source of a column's value if a mutation does not give one.
package enum ColumnDefault: Sendable {
    /// `@default(value:)`: the constant as canonical JSON text. UUIDs are 32 lower-case digits, `Int64` values JSON
    /// numbers, enum values strings.
    case constant(json: String)
    /// `@default(expr:)`: a CEL expression over `auth`, `request.time`, `uuidV4()`, …, evaluated by the node that runs
    /// the mutation.
    case expression(String)
    /// `@default(sql:)`: evaluated by Postgres (`DEFAULT`).
    case sql(String)
}

/// A scalar type, or a list of it.
package struct ColumnType: Sendable, Hashable {
    package var scalar: ScalarType
    package var isList: Bool

    package init(_ scalar: ScalarType, isList: Bool = false) {
        self.scalar = scalar
        self.isList = isList
    }
}

/// The scalars of the language. Source: docs/reference/sql-connect.md §5.3.
package enum ScalarType: Sendable, Hashable {
    case uuid, string, int, int64, float, boolean, date, timestamp, any
    /// A fixed-length list of numbers: the type of the Postgres extension `vector`.
    case vector
    /// A GraphQL enum, by type name.
    case enumeration(String)
}

/// A field of a table type: `novel: Novel!` in `Remark`.
package struct Reference: Sendable {
    /// GraphQL field name, `novel`.
    package var field: String
    /// GraphQL type that it refers to.
    package var targetType: String
    /// Fields (columns) of this table, in the order of `targetFields`: `["novelId"]`.
    package var localFields: [String]
    /// Fields (columns) of the target, usually its key.
    package var targetFields: [String]
    package var isNullable: Bool
    /// Whether the columns are unique together, which makes the relation one-to-one.
    package var isUnique: Bool
    package var constraintName: String
    /// Deleting the target deletes rows with a required reference; an optional reference becomes null.
    package var deleteRule: DeleteRule

    package init(
        field: String, targetType: String, localFields: [String], targetFields: [String], isNullable: Bool,
        isUnique: Bool, constraintName: String, deleteRule: DeleteRule
    ) {
        self.field = field
        self.targetType = targetType
        self.localFields = localFields
        self.targetFields = targetFields
        self.isNullable = isNullable
        self.isUnique = isUnique
        self.constraintName = constraintName
        self.deleteRule = deleteRule
    }
}

/// The ON DELETE rule of a foreign key.
package enum DeleteRule: String, Sendable {
    case cascade = "CASCADE"
    case setNull = "SET NULL"
}

/// A unique constraint over some fields.
package struct UniqueConstraint: Sendable {
    package var name: String
    package var fields: [String]

    package init(name: String, fields: [String]) {
        self.name = name
        self.fields = fields
    }
}

/// An index of a table.
package struct TableIndex: Sendable {
    package var name: String
    package var fields: [String]
    /// One per field; empty if all are ascending.
    package var order: [SortOrder]
    /// `btree`, `gin`, `hnsw`, `ivfflat`
    package var method: String
    /// The distance of a vector index: `vector_cosine_ops`; nil for other indexes.
    package var operatorClass: String?

    package init(
        name: String, fields: [String], order: [SortOrder] = [], method: String = "btree",
        operatorClass: String? = nil
    ) {
        self.name = name
        self.fields = fields
        self.order = order
        self.method = method
        self.operatorClass = operatorClass
    }
}

/// The direction of an index column.
package enum SortOrder: String, Sendable {
    case ascending = "ASC"
    case descending = "DESC"
}

/// A GraphQL enum and its Postgres type.
package struct EnumType: Sendable {
    /// GraphQL type name.
    package var typeName: String
    /// SQL type name, unquoted snake_case.
    package var name: String
    package var values: [String]

    package init(typeName: String, name: String, values: [String]) {
        self.typeName = typeName
        self.name = name
        self.values = values
    }
}
