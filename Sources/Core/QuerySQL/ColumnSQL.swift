import Operations
import SchemaModel

/// Renders columns, in particular in wire form. Source: docs/reference/sql-connect.md §5.3.
enum ColumnSQL {
    /// Returns the expression of the value as `row_to_json` should encode it.
    static func wireForm(_ column: Column, of alias: String) -> String {
        wireForm("\(alias).\(SQLName.quoted(column.name))", column)
    }

    /// Returns the JSON text of a column's value.
    static func jsonText(_ column: Column, of alias: String) -> JSONText {
        .sql(.text("coalesce(\(knownText(column, of: alias)), 'null')"))
    }

    /// Returns the JSON text of a column's value; null for null.
    static func knownText(_ column: Column, of alias: String) -> String {
        let value = wireForm(column, of: alias)
        guard column.isRecordable else { return "to_json(\(value))::text" }
        // Digits, hexadecimal digits and names need no escapes.
        return switch column.type.scalar {
        case .int, .boolean: "\(value)::text"
        case .int64, .uuid: "'\"' || \(value) || '\"'"
        case .enumeration: "'\"' || \(value)::text || '\"'"
        case .string, .date, .timestamp, .float, .any, .vector: "to_json(\(value))::text"
        }
    }

    /// Returns the wire form of an expression that has a column's type. A `char(n)` comes without its padding, and
    /// a `bpchar` without blanks at its end, as comparisons and keys see them, so that the value just read finds its
    /// row.
    static func wireForm(_ sql: String, _ column: Column) -> String {
        guard let dataType = column.dataType, dataType.conversion == nil, dataType.ignoresTrailingBlanks else {
            return wireForm(standard(sql, column), type: column.type)
        }
        return column.type.isList ? "\(sql)::text[]" : "\(sql)::text"
    }

    /// Converts an expression of a column's type to the standard type of its scalar, `text` for an enum.
    static func standard(_ sql: String, _ column: Column) -> String {
        let type = (column.type.scalar.sqlTypeName ?? "text") + (column.type.isList ? "[]" : "")
        switch column.dataType?.conversion {
        case nil: return sql
        case .cast(_, throughText: false): return "\(sql)::\(type)"
        case .cast(_, throughText: true): return "\(sql)::text\(column.type.isList ? "[]" : "")::\(type)"
        case .jsonArray:
            let elements = column.type.scalar == .any ? "jsonb_array_elements" : "jsonb_array_elements_text"
            return "CASE WHEN jsonb_typeof(\(sql)::jsonb) = 'array'"
                + " THEN ARRAY(SELECT \(elements)(\(sql)::jsonb))::\(type) END"
        }
    }

    /// Converts an expression of the standard type of a column's scalar to the column's type.
    static func stored(_ value: [Piece], _ column: Column) -> [Piece] {
        guard let form = storedForm(of: column) else { return value }
        return .text(form.before) + value + .text(form.after)
    }

    static func stored(_ value: String, _ column: Column) -> String {
        guard let form = storedForm(of: column) else { return value }
        return form.before + value + form.after
    }

    private static func storedForm(of column: Column) -> (before: String, after: String)? {
        guard let dataType = column.dataType else { return nil }
        let list = column.type.isList ? "[]" : ""
        return switch dataType.conversion {
        case nil: nil
        case .cast(_, throughText: false): ("(", ")::\(dataType.castName)\(list)")
        case .cast(_, throughText: true): ("(", ")::text\(list)::\(dataType.castName)\(list)")
        case .jsonArray: ("to_jsonb(", dataType.name == "jsonb" ? ")" : ")::json")
        }
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

    /// Returns the column as `ORDER BY`, `GROUP BY` and similar use it: in a type that has an order.
    static func ordered(_ column: Column, of alias: String) -> String {
        let reference = reference(column, of: alias)
        return switch column.dataType?.conversion {
        case nil, .cast(.direct, _), .cast(.stored, _): reference
        case .cast(.standard, _), .jsonArray: "(\(standard(reference, column)))"
        }
    }

    /// Returns the column as filters compare it.
    static func compared(_ column: Column, of alias: String) -> ComparedSQL {
        let reference = reference(column, of: alias)
        guard let dataType = column.dataType else { return ComparedSQL(reference) }
        let isEnum = column.type.scalar.sqlTypeName == nil
        switch dataType.conversion {
        case nil:
            // Postgres only compares arrays of equal types, so a list with an explicit data type such as `varchar(3)[]`
            // is cast to that of its scalar.
            guard column.type.isList, let standard = column.type.scalar.sqlTypeName, dataType.name != standard else {
                return ComparedSQL(reference)
            }
            // Casting through text makes a real 0.1 equal to the 0.1 in a request.
            return ComparedSQL("\(reference)\(dataType.name == "real" ? "::text[]" : "")::\(standard)[]")
        case .cast(.direct, _) where !column.type.isList: return ComparedSQL(reference)
        case .cast(.stored, _) where !column.type.isList:
            return ComparedSQL(
                reference, matched: dataType.name == "citext" ? reference : "\(reference)::text",
                operandType: dataType.castName)
        case .cast, .jsonArray:
            return ComparedSQL("(\(standard(reference, column)))", operandType: isEnum ? "text" : nil)
        }
    }

    /// Returns the expression of `_id`: the type and the key, `Novel["0a…"]`.
    static func globalID(_ table: Table, _ alias: String) -> String {
        let parts = table.keyColumns.map { wireForm($0, of: alias) }.joined(separator: ", ")
        return "\(SQLName.literal(table.typeName)) || json_build_array(\(parts))::text"
    }

    /// Returns the text from which `EntityTree` makes a row's id: its key, or an array of the key's values.
    static func entityKey(_ table: Table, _ alias: String) -> JSONText {
        let columns = table.keyColumns
        if columns.count == 1 { return jsonText(columns[0], of: alias) }
        let parts = columns.map { wireForm($0, of: alias) }.joined(separator: ", ")
        return .sql(.text("json_build_array(\(parts))::text"))
    }

    /// Returns the table or view as it appears in `FROM`.
    static func from(_ table: Table) -> String {
        switch table.view {
        case nil, .named: SQLName.quoted(table.name)
        case .sql(let text): "(\(text))"
        }
    }
}

/// A column as filters compare it.
struct ComparedSQL {
    /// The value that equality, order and lists compare.
    let value: [Piece]
    /// The text that patterns match.
    let matched: [Piece]
    /// The type that operands are cast to, the element type for lists; nil for the standard type of the scalar.
    let operandType: String?

    init(_ value: String, matched: String? = nil, operandType: String? = nil) {
        self.value = .text(value)
        self.matched = .text(matched ?? value)
        self.operandType = operandType
    }

    init(_ value: [Piece]) {
        self.value = value
        matched = value
        operandType = nil
    }

    /// Returns the cast that follows an operand.
    func cast(isList: Bool) -> [Piece] {
        operandType.map { .text("::\($0)\(isList ? "[]" : "")") } ?? []
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
            "\(function.rawValue)(\(distinct ? "DISTINCT " : "")\(operand(function, column, alias)))"
        }
    }

    /// Rows are counted as they are grouped; other functions may not exist for a converted type.
    private static func operand(_ function: Aggregate.Function, _ column: Column, _ alias: String) -> String {
        let reference = ColumnSQL.reference(column, of: alias)
        return switch function {
        case .count: ColumnSQL.ordered(column, of: alias)
        case .sum, .avg, .min, .max: ColumnSQL.standard(reference, column)
        }
    }
}
