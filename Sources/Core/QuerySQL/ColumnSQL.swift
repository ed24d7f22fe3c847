import Operations
import SchemaModel

/// Columns in the form in which they travel. Source: docs/reference/sql-connect.md §5.3.
enum ColumnSQL {
    /// The value as `row_to_json` should see it.
    static func wireForm(_ column: Column, of alias: String) -> String {
        wireForm("\(alias).\(SQLName.quoted(column.name))", type: column.type)
    }

    static func wireForm(_ sql: String, type: ColumnType) -> String {
        switch (type.scalar, type.isList) {
        case (.uuid, false): "replace(\(sql)::text, '-', '')"
        // The text of an array of UUIDs holds dashes nowhere else.
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

    private static func timestamp(_ sql: String) -> String {
        "to_char(\(sql) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"
    }

    static func reference(_ column: Column, of alias: String) -> String {
        "\(alias).\(SQLName.quoted(column.name))"
    }

    /// As filters compare it. Postgres compares arrays of one type only, so a list with a data type of its own,
    /// `varchar(3)[]`, is cast to that of its scalar.
    static func compared(_ column: Column, of alias: String) -> String {
        let reference = reference(column, of: alias)
        guard column.type.isList, let own = column.sqlTypeOverride, let usual = column.type.scalar.sqlTypeName,
            own != usual
        else { return reference }
        // By its text, a real 0.1 is the 0.1 that a request says.
        return "\(reference)\(own == "real" ? "::text[]" : "")::\(usual)[]"
    }

    /// `_id`: the type and the key, `Movie["0a…"]`.
    static func globalID(_ table: Table, _ alias: String) -> String {
        let parts = table.keyColumns.map { wireForm($0, of: alias) }.joined(separator: ", ")
        return "\(SQLName.literal(table.typeName)) || json_build_array(\(parts))::text"
    }

    /// The id of a row in the normalised caches of SQL Connect clients: the same in every query, different in every
    /// table. A digest, because a query may show a row without its key.
    static func entityID(_ table: Table, _ alias: String) -> String {
        "encode(substr(sha256(convert_to(\(globalID(table, alias)), 'UTF8')), 1, 16), 'hex')"
    }

    /// What stands in `FROM` for a table or a view.
    static func from(_ table: Table) -> String {
        switch table.view {
        case nil, .named: SQLName.quoted(table.name)
        case .sql(let text): "(\(text))"
        }
    }
}

/// Aggregates over the rows of an alias.
enum AggregateSQL {
    static func wireForm(_ aggregate: Aggregate, _ alias: String) -> String {
        let call = value(aggregate, alias)
        guard case .function(let function, let column, _) = aggregate else { return call }
        return switch function {
        case .count: call
        case .avg: "\(call)::double precision"
        case .sum: column.type.scalar == .int64 ? "\(call)::text" : call
        case .min, .max: ColumnSQL.wireForm(call, type: column.type)
        }
    }

    /// To be compared and ordered by.
    static func value(_ aggregate: Aggregate, _ alias: String) -> String {
        switch aggregate {
        case .countRows: "count(*)"
        case .function(let function, let column, let distinct):
            "\(function.rawValue)(\(distinct ? "DISTINCT " : "")\(ColumnSQL.reference(column, of: alias)))"
        }
    }
}
