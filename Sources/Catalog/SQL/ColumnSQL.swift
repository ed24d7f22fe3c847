/// Columns in the form in which they travel. Source: SQL Connect language §5.3.
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
        case (.string, _), (.int, _), (.float, _), (.boolean, _), (.date, _), (.any, _), (.enumeration, _): sql
        }
    }

    private static func timestamp(_ sql: String) -> String {
        "to_char(\(sql) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"
    }

    static func reference(_ column: Column, of alias: String) -> String {
        "\(alias).\(SQLName.quoted(column.name))"
    }
}
