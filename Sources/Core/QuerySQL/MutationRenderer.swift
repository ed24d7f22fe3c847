import JSON
import LiveModel
import Operations
import SchemaModel

/// Renders mutations that write one row, or many rows by a filter. Each is one statement whose first column is the JSON
/// of the field's result:
///
///     UPDATE "novel" t1 SET "title" = $2::text WHERE t1."id" = $1::uuid
///         RETURNING concat('{"id":', coalesce('"' || replace(t1."id"::text, '-', '') || '"', 'null'), '}')
extension TemplateBuilder {
    private static let resultCount = " SELECT count(*)::text FROM w"

    mutating func insert(_ insert: Insert, _ images: RowImages? = nil) -> [Piece] {
        let table = insert.table
        let alias = alias()
        var columns: [[Piece]] = []
        var values: [[Piece]] = []
        var replaced: [[Piece]] = []
        for column in table.columns {
            guard let item = item(column, insert.row) else { continue }
            columns.append(item.name)
            values.append(item.value)
            if let given = insert.row.given[column.field], !table.key.contains(column.field) {
                replaced.append(replacement(given, alias))
            }
        }
        var former: [Piece]?
        var changed: [Piece] = []
        if insert.isUpsert, let images {
            former = self.former(images, insert.row)
            changed = self.changed(insert.row.given.values.filter { !table.key.contains($0.column.field) })
        }
        var pieces: [Piece] = (former ?? []) + .text("INSERT INTO \(SQLName.quoted(table.name)) AS \(alias)")
        let valueList = [Piece.joined(values, separator: ", ", empty: [])]
        let rows: Piece =
            former == nil
            ? .wrapped(" VALUES (", valueList, ")")
            // The row before is read first.
            : .wrapped(" SELECT ", valueList, " FROM (SELECT) v LEFT JOIN \(RowImages.former) ON TRUE WHERE TRUE")
        let list: [Piece] = [
            .wrapped(" (", [.joined(columns, separator: ", ", empty: [])], ")"),
            rows,
        ]
        pieces.append(.joined([list], separator: "", empty: .text(" DEFAULT VALUES")))
        if insert.isUpsert {
            pieces += .text(Self.conflict(table))
            pieces.append(.joined(replaced, separator: ", ", empty: .text(Self.untouched(table, "EXCLUDED"))))
        }
        return one(
            pieces, returning: insert.returning, alias,
            storing: images.map { images in
                guard insert.isUpsert else { return images.change(before: nil, after: alias, changed: nil) }
                return images.upserted(after: alias, changed: changed)
            })
    }

    /// Returns a statement that writes one row, with the JSON of the field as its first column.
    /// - Parameters:
    ///   - key: the second column.
    ///   - change: the change of the row to store, in the last column.
    private mutating func one(
        _ statement: [Piece], returning fields: [ReturnedField], _ alias: String, key: String? = nil,
        storing change: [Piece]?
    ) -> [Piece] {
        let columns = [
            returned(fields, alias), key.map { .text($0) }, change.map(RowImages.storing),
        ].compactMap { $0 }
        return statement + .text(" RETURNING ") + [.joined(columns, separator: ", ", empty: [])]
    }

    /// Returns a column of an inserted row with its value. Both render to nothing if no value is given; nil if none can
    /// be.
    mutating func item(_ column: Column, _ row: RowData) -> (name: [Piece], value: [Piece])? {
        let name = [Piece].text(SQLName.quoted(column.name))
        let fallback = row.defaults[column.field]
        guard let given = row.given[column.field],
            let set = firstValue(given, fallback).map({ ColumnSQL.stored($0, column) })
        else {
            guard let fallback else { return nil }
            return (name, ColumnSQL.stored([value(fallback)], column))
        }
        if let fallback {
            return (name, when(given.required, set, otherwise: ColumnSQL.stored([value(fallback)], column)))
        }
        return (when(given.required, name), when(given.required, set))
    }

    /// Returns the value of a new row: an update starts from the column's default, or else from an empty value. Nil if
    /// it is unknown until the request.
    private mutating func firstValue(_ given: Assignment, _ fallback: Operand?) -> [Piece]? {
        switch given.value {
        case .set(let operand): return [value(operand)]
        case .dynamic: return nil
        case .change, .shift: return newValue(given, from: start(of: given.column, fallback))
        }
    }

    private mutating func start(of column: Column, _ fallback: Operand?) -> [Piece] {
        let type = schema.sqlType(of: column.type).text
        let nothing = "\(Self.changeStart(column.type) ?? "NULL")::\(type)"
        if let fallback {
            if fallback.isNullConstant { return .text(nothing) }
            if fallback.constantSQL != nil { return [value(fallback)] }
            return .text("coalesce(") + [value(fallback)] + .text(", \(nothing))")
        }
        if case .sql(let text)? = column.defaultValue, !column.isSerial {
            let stored = "(\(text))::\(schema.sqlType(of: column))"
            let value = column.dataType?.conversion == nil ? "(\(text))::\(type)" : changed(stored, column)
            return .text("coalesce(\(value), \(nothing))")
        }
        return .text(nothing)
    }

    /// Returns a literal that adapts to the type of its operand, since a column's type may differ from its scalar's.
    static func changeStart(_ type: ColumnType) -> String? {
        type.changeStart.map { SQLName.literal(SQLInput.text($0, of: type)) }
    }

    /// Renders an upsert's assignment to a column of an existing row.
    mutating func replacement(_ given: Assignment, _ alias: String) -> [Piece] {
        let name = SQLName.quoted(given.column.name)
        guard given.isChange else { return when(given.required, .text("\(name) = EXCLUDED.\(name)")) }
        var old = changed(ColumnSQL.reference(given.column, of: alias), given.column)
        // Otherwise, a row that was inserted without the update could never be counted up from null.
        if case .change = given.value, given.column.isNullable, !given.column.type.isList {
            old = Self.changeStart(given.column.type).map { "coalesce(\(old), \($0))" } ?? old
        }
        let value = ColumnSQL.stored(newValue(given, from: .text(old)), given.column)
        return when(given.required, .text("\(name) = ") + value)
    }

    static func conflict(_ table: Table) -> String {
        let key = table.keyColumns.map { SQLName.quoted($0.name) }.joined(separator: ", ")
        return " ON CONFLICT (\(key)) DO UPDATE SET "
    }

    /// Returns an assignment without effect, where SQL requires at least one.
    static func untouched(_ table: Table, _ source: String) -> String {
        guard let column = table.keyColumns.first else { return "" }
        let name = SQLName.quoted(column.name)
        return "\(name) = \(source).\(name)"
    }

    /// - Parameter withKey: whether the result has a second column, a JSON array with the row's new key.
    mutating func update(
        _ table: Table, _ target: RowTarget, _ assignments: [Assignment], _ returned: [ReturnedField],
        withKey: Bool = false, _ images: RowImages? = nil
    ) -> [Piece] {
        let alias = alias()
        let update = update(table, alias, assignments, images) { $0.oneRow(target, table, $1) }
        let key = table.keyColumns.map { ColumnSQL.wireForm($0, of: alias) }.joined(separator: ", ")
        return one(
            update.pieces, returning: returned, alias, key: withKey ? "json_build_array(\(key))::text" : nil,
            storing: update.change)
    }

    mutating func updateMany(
        _ table: Table, _ filter: Filter, _ assignments: [Assignment], _ requirement: FilterRequirement,
        _ images: RowImages? = nil
    ) -> [Piece] {
        let alias = alias()
        let update = update(table, alias, assignments, images) { $0.rows(filter, requirement, table, $1) }
        let changed = self.changed(assignments)
        return many(
            update.pieces, update.change, images?.hasDetails(.update) == true ? update.common : nil,
            storing: images?.storingAll(.update, changed: changed))
    }

    mutating func delete(
        _ table: Table, _ target: RowTarget, _ returned: [ReturnedField], _ images: RowImages? = nil
    ) -> [Piece] {
        let alias = alias()
        let delete = [Piece].text("DELETE FROM \(SQLName.quoted(table.name)) \(alias)") + oneRow(target, table, alias)
        return one(
            delete, returning: returned, alias,
            storing: images.map { images in
                // The request tells what follows a row that it names.
                if case .key = target { return images.change(before: alias, after: nil, changed: nil) }
                return images.deleted(alias)
            })
    }

    mutating func deleteMany(
        _ table: Table, _ filter: Filter, _ requirement: FilterRequirement, _ images: RowImages? = nil
    ) -> [Piece] {
        let alias = alias()
        let delete =
            [Piece].text("DELETE FROM \(SQLName.quoted(table.name)) \(alias)") + rows(filter, requirement, table, alias)
        return many(
            delete, images.map { $0.deleted(alias) },
            images.flatMap {
                $0.hasDetails(.delete) ? $0.change(before: alias, after: nil, changed: nil, .compared) : nil
            }, storing: images?.storingAll(.delete, changed: nil))
    }

    /// Returns a statement that writes rows and counts them.
    /// - Parameter common: the part of the change that many rows have in common.
    private func many(
        _ statement: [Piece], _ change: [Piece]?, _ common: [Piece]?, storing: [Piece]?
    ) -> [Piece] {
        guard let change, let storing else {
            return .text("WITH w AS (") + statement + .text(" RETURNING 1)") + [.result] + .text(Self.resultCount)
        }
        return .text("WITH w AS (") + statement + .text(" RETURNING ") + change + .text(" AS c")
            + (common.map { .text(", ") + $0 + .text(" AS k") } ?? []) + .text(")") + [.result]
            + .text(" SELECT count(*)::text, ") + storing + .text(" FROM w")
    }

    /// Renders native SQL.
    mutating func execute(_ native: NativeSQL) -> [Piece] {
        let text = text(of: native)
        switch native.result {
        case .affectedCount: return text
        case .rows:
            return .text("WITH w AS (") + text + .text(")") + [.result]
                + .text(" SELECT coalesce('[' || string_agg(row_to_json(w.*)::text, ',') || ']', '[]') FROM w")
        case .firstRow:
            return .text("WITH w AS (") + text + .text(")") + [.result]
                + .text(" SELECT row_to_json(w.*)::text FROM w LIMIT 1")
        }
    }

    /// Renders the read of `query { … }`.
    mutating func read(_ fields: [RootField]) -> [Piece] {
        root(fields)
    }

    // MARK: Parts

    mutating func rows(
        _ filter: Filter, _ requirement: FilterRequirement, _ table: Table, _ alias: String
    ) -> [Piece] {
        guard requirement == .someTest else { return [] }
        return .text(" WHERE ") + [.required(predicate(filter, table, alias))]
    }

    mutating func oneRow(_ target: RowTarget, _ table: Table, _ alias: String) -> [Piece] {
        let target = bound(target, table)
        guard case .first(let filter, let order) = target else { return row(target, table, alias) }
        let inner = self.alias()
        func key(_ alias: String) -> String {
            table.keyColumns.map { ColumnSQL.reference($0, of: alias) }.joined(separator: ", ")
        }
        var condition: [Piece] = []
        if !filter.isEmpty {
            // Without any variable of its filter, "the first row" would be an arbitrary one.
            condition = .text(" WHERE ") + [.required(predicate(filter, table, inner))]
        }
        return .text(" WHERE (\(key(alias))) = (SELECT \(key(inner)) FROM \(SQLName.quoted(table.name)) \(inner)")
            + condition + self.order(order, table, inner) + .text(" LIMIT 1 FOR UPDATE)")
    }

    /// Returns the JSON text of what a field returns of a row.
    mutating func returned(_ fields: [ReturnedField], _ alias: String) -> [Piece] {
        object(
            fields.map { field in
                let value: JSONText =
                    switch field.kind {
                    case .column(let column): ColumnSQL.jsonText(column, of: alias)
                    case .typeName(let name): .constant(JSONValue.string(name).text)
                    }
                return ObjectMember(key: field.responseKey, inclusion: field.inclusion, value: value)
            })
    }
}
