import Operations
import SchemaModel

/// Renders columns, in particular in wire form. Source: docs/reference/sql-connect.md §5.3.
enum ColumnSQL {
    /// Returns the expression of the value as `row_to_json` should encode it.
    static func wireForm(_ column: Column, of alias: String) -> String {
        wireForm("\(alias).\(SQLName.quoted(column.name))", column)
    }

    /// Returns the wire form of an expression that has a column's type. A `char(n)` comes without its padding, as
    /// comparisons and keys see it, so that the value just read finds its row.
    static func wireForm(_ sql: String, _ column: Column) -> String {
        guard column.sqlTypeOverride?.hasPrefix("character(") == true else { return wireForm(sql, type: column.type) }
        return column.type.isList ? "\(sql)::text[]" : "\(sql)::text"
    }

    static func wireForm(_ sql: String, type: ColumnType) -> String {
        switch (type.scalar, type.isList) {
        case (.uuid, false): "replace(\(sql)::text, '-', '')"
        // The text of a UUID array has dashes only within UUIDs.
        case (.uuid, true): "replace(\(sql)::text, '-', '')::text[]"
        case (.int64, false): "\(sql)::text"
        case (.int64, true): "\(sql)::text[]"
        case (.timestamp, false): timestamp(sql)
        case (.timestamp, true):
            "CASE WHEN \(sql) IS NOT NULL THEN ARRAY(SELECT \(timestamp("e")) FROM unnest(\(sql)) WITH ORDINALITY"
                + " AS u(e, o) ORDER BY o) END"
        // The text of a vector is a JSON array.
        case (.vector, _): "\(sql)::text::json"
        case (.string, _), (.int, _), (.float, _), (.boolean, _), (.date, _), (.any, _), (.enumeration, _): sql
        }
    }

    /// RFC 3339 in UTC. `infinity`, for which `to_char` is null, and years before 1, which RFC 3339 lacks, have the
    /// text of Postgres, as dates have: `-infinity`, `0044-03-15T12:00:00.000000Z BC`.
    private static func timestamp(_ sql: String) -> String {
        "coalesce(to_char(\(sql) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'"
            + " || CASE WHEN \(sql) < '0001-01-01Z' THEN ' BC' ELSE '' END), \(sql)::text)"
    }

    static func reference(_ column: Column, of alias: String) -> String {
        "\(alias).\(SQLName.quoted(column.name))"
    }

    /// Returns the column as filters compare it. Postgres only compares arrays of equal types, so a list with an
    /// explicit data type such as `varchar(3)[]` is cast to that of its scalar.
    static func compared(_ column: Column, of alias: String) -> String {
        let reference = reference(column, of: alias)
        guard column.type.isList, let own = column.sqlTypeOverride, let standard = column.type.scalar.sqlTypeName,
            own != standard
        else { return reference }
        // Casting through text makes a real 0.1 equal to the 0.1 in a request.
        return "\(reference)\(own == "real" ? "::text[]" : "")::\(standard)[]"
    }

    /// Returns the expression of `_id`: the type and the key, `Novel["0a…"]`.
    static func globalID(_ table: Table, _ alias: String) -> String {
        let parts = table.keyColumns.map { wireForm($0, of: alias) }.joined(separator: ", ")
        return "\(SQLName.literal(table.typeName)) || json_build_array(\(parts))::text"
    }

    /// Returns the expression of a row's id in the normalised caches of SQL Connect clients. It is the same in every
    /// query and unique across tables. It is a digest, because a query may return a row without revealing its key.
    static func entityID(_ table: Table, _ alias: String) -> String {
        "encode(substr(sha256(convert_to(\(globalID(table, alias)), 'UTF8')), 1, 16), 'hex')"
    }

    /// Returns the table or view as it appears in `FROM`.
    static func from(_ table: Table) -> String {
        switch table.view {
        case nil, .named: SQLName.quoted(table.name)
        case .sql(let text): "(\(text))"
        }
    }
}

/// Renders aggregates over the rows of an alias.
enum AggregateSQL {
    static func wireForm(_ aggregate: Aggregate, _ alias: String) -> String {
        let call = value(aggregate, alias)
        guard case .function(let function, let column, _) = aggregate else { return call }
        return switch function {
        case .count: call
        case .avg: "\(call)::double precision"
        case .sum: column.type.scalar == .int64 ? "\(call)::text" : call
        case .min, .max: ColumnSQL.wireForm(call, column)
        }
    }

    /// Returns the expression for comparing and ordering.
    static func value(_ aggregate: Aggregate, _ alias: String) -> String {
        switch aggregate {
        case .countRows: "count(*)"
        case .function(let function, let column, let distinct):
            "\(function.rawValue)(\(distinct ? "DISTINCT " : "")\(ColumnSQL.reference(column, of: alias)))"
        }
    }
}
