/// The compiled schema: what the SDL says, with every name and default resolved.
///
/// Built once by `SchemaCompiler`; every later stage (operations, SQL, migrations) reads it and never the SDL.
/// Source: docs/reference/sql-connect.md §5.2, §5.3.
package struct Schema: Sendable {
    /// Tables in the order of the SDL.
    package var tables: [Table]
    /// Views in the order of the SDL: read like tables, never written, without a key.
    package var views: [Table] = []
    /// Enum types by GraphQL name.
    package var enums: [String: EnumType]

    package init(tables: [Table] = [], enums: [String: EnumType] = [:]) {
        self.tables = tables
        self.enums = enums
    }

    /// The table of a GraphQL type name (`Movie`).
    package func table(ofType typeName: String) -> Table? {
        tables.first { $0.typeName == typeName } ?? views.first { $0.typeName == typeName }
    }

    /// Whether a column needs the Postgres extension `vector`.
    package var usesVectors: Bool {
        (tables + views).contains { $0.columns.contains { $0.type.scalar == .vector } }
    }

    /// The SQL type of a column as `format_type` prints it, `uuid`, `text[]`; an enum's name is quoted, and qualified when
    /// `enumSchema` names the Postgres schema it is in.
    package func sqlType(of column: Column, enumSchema: String? = nil) -> String {
        let element: String
        if let override = column.sqlTypeOverride {
            element = override
        } else if case .enumeration(let typeName) = column.type.scalar {
            let name = SQLName.quoted(enums[typeName]?.name ?? typeName)
            element = enumSchema.map { "\(SQLName.quoted($0)).\(name)" } ?? name
        } else {
            element = column.type.scalar.sqlTypeName ?? "text"
        }
        return column.type.isList ? element + "[]" : element
    }
}

/// One `@table` or `@view` type.
package struct Table: Sendable {
    /// GraphQL type name, `Movie`.
    package var typeName: String
    /// SQL table name, unquoted: `movie`.
    package var name: String
    /// Root field of a single lookup, `movie`; also the prefix of its mutations (`movie_insert`).
    package var singular: String
    /// Root field of a list, `movies`.
    package var plural: String
    /// Columns in SDL order; the foreign-key columns of a relation stand where its field stands.
    package var columns: [Column]
    /// Field names of the primary key, in the order of `@table(key:)`; at least one.
    package var key: [String]
    /// Fields of a table type: references from this table to another.
    package var references: [Reference]
    /// Uniqueness beyond the primary key.
    package var uniques: [UniqueConstraint]
    package var indexes: [TableIndex]
    /// Nil for a table.
    package var view: View?

    /// Where the rows of a view come from.
    package enum View: Sendable {
        /// A view of the database, `Table.name`.
        case named
        /// `@view(sql:)`: a SELECT that stands in place of the table's name.
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

/// One column of a table.
package struct Column: Sendable {
    /// GraphQL field name, `releaseYear`; for a foreign key `movieId`.
    package var field: String
    /// SQL column name, unquoted: `release_year`.
    package var name: String
    package var type: ColumnType
    package var isNullable: Bool
    package var defaultValue: ColumnDefault?
    /// The default comes from the language, not from the schema: what a database has instead is as good.
    package var isDefaultImplied = false
    /// The SQL type when `@col(dataType:)` names one, as `format_type` prints it: `character varying(40)`, and `integer`
    /// for a `serial`. Usable in casts.
    package var sqlTypeOverride: String?
    /// `@col(dataType: "serial")`: Postgres numbers the rows itself. `defaultValue` is then `.sql`.
    package var isSerial: Bool
    /// `@searchable`: the text search configuration of Postgres for this column, `english`.
    package var searchLanguage: String?

    package init(
        field: String, name: String, type: ColumnType, isNullable: Bool, defaultValue: ColumnDefault? = nil,
        sqlTypeOverride: String? = nil, isSerial: Bool = false, searchLanguage: String? = nil
    ) {
        self.field = field
        self.name = name
        self.type = type
        self.isNullable = isNullable
        self.defaultValue = defaultValue
        self.sqlTypeOverride = sqlTypeOverride
        self.isSerial = isSerial
        self.searchLanguage = searchLanguage
    }
}

/// Where a column's value comes from when a mutation does not give one.
package enum ColumnDefault: Sendable {
    /// `@default(value:)`: the constant as canonical JSON text. UUIDs are 32 lower-case digits, `Int64` a JSON number,
    /// enum values strings.
    case constant(json: String)
    /// `@default(expr:)`: CEL over `auth`, `request.time`, `uuidV4()`, …: evaluated by the node that runs the mutation.
    case expression(String)
    /// `@default(sql:)`: left to Postgres (`DEFAULT`).
    case sql(String)
}

/// Element type plus list-ness.
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
    /// A list of numbers of a fixed length, of the Postgres extension `vector`.
    case vector
    /// A GraphQL enum by type name.
    case enumeration(String)
}

/// A field of a table type: `movie: Movie!` in `Review`.
package struct Reference: Sendable {
    /// GraphQL field name, `movie`.
    package var field: String
    /// GraphQL type it points to.
    package var targetType: String
    /// Fields (columns) of this table, in the order of `targetFields`: `["movieId"]`.
    package var localFields: [String]
    /// Fields (columns) of the target: usually its key.
    package var targetFields: [String]
    package var isNullable: Bool
    /// True when the columns are unique together: one-to-one, the other side is a single row.
    package var isUnique: Bool
    package var constraintName: String
    /// Required references delete the row with its target, optional ones become null.
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

package enum DeleteRule: String, Sendable {
    case cascade = "CASCADE"
    case setNull = "SET NULL"
}

package struct UniqueConstraint: Sendable {
    package var name: String
    package var fields: [String]

    package init(name: String, fields: [String]) {
        self.name = name
        self.fields = fields
    }
}

package struct TableIndex: Sendable {
    package var name: String
    package var fields: [String]
    /// One per field; empty means all ascending.
    package var order: [SortOrder]
    /// `btree`, `gin`, `hnsw`, `ivfflat`
    package var method: String
    /// For vectors: how distances are measured, `vector_cosine_ops`.
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

package enum SortOrder: String, Sendable {
    case ascending = "ASC"
    case descending = "DESC"
}

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
