import Operations
import SchemaModel

/// Renders inserts and upserts with nested rows. Every row is a part of one statement, and gets its reference's columns
/// from the part of its enclosing row. Postgres checks foreign keys after all parts.
///
///     WITH w1 AS (INSERT INTO "novel" AS t1 ("id", "title") VALUES ($1::uuid, $2::text) RETURNING t1.*),
///         w2 AS (INSERT INTO "remark" AS t2 ("novel_id", "text") SELECT w1."id", $3::text FROM w1 RETURNING t2.*)
///     SELECT (SELECT concat('{"id":', …, '}') FROM w1 t1)
extension TemplateBuilder {
    mutating func insert(_ insert: InsertTrees) -> [Piece] {
        var parts: [[Piece]] = []
        var results: [[Piece]] = []
        for row in insert.rows {
            let alias = alias()
            let part = "w\(parts.count + 1)"
            let list = values(row, insert.table)
            parts.append(
                .text("\(part) AS (INSERT INTO \(SQLName.quoted(insert.table.name)) AS \(alias)")
                    + [
                        .joined(
                            [
                                [
                                    .wrapped(" (", [.joined(list.names, separator: ", ", empty: [])], ")"),
                                    .wrapped(" VALUES (", [.joined(list.values, separator: ", ", empty: [])], ")"),
                                ]
                            ], separator: "", empty: .text(" DEFAULT VALUES"))
                    ] + conflict(insert, row, insert.table, alias, filled: []) + .text(" RETURNING \(alias).*)"))
            children(insert, of: row, insert.table, part: part, &parts)
            results.append(
                .text("(SELECT ") + returned(insert.returning, alias)
                    + .text(" FROM \(part) \(alias))"))
        }
        let with = [Piece].text("WITH ") + [.joined(parts, separator: ", ", empty: [])]
        guard insert.isMany else { return with + [.result] + .text(" SELECT ") + (results.first ?? []) }
        return with + [.result] + .text(" SELECT '[' || concat_ws(',', ")
            + [.joined(results, separator: ", ", empty: [])] + .text(") || ']'")
    }

    private mutating func children(
        _ insert: InsertTrees, of row: RowData, _ table: Table, part: String, _ parts: inout [[Piece]]
    ) {
        for children in row.children {
            let child = children.relation.child
            let reference = children.relation.reference
            for childRow in children.rows {
                let alias = alias()
                let childPart = "w\(parts.count + 1)"
                var names: [[Piece]] = []
                var values: [[Piece]] = []
                for (local, target) in zip(reference.localFields, reference.targetFields) {
                    guard let column = child.column(ofField: local), let source = table.column(ofField: target) else {
                        continue
                    }
                    names.append(.text(SQLName.quoted(column.name)))
                    values.append(.text(ColumnSQL.reference(source, of: part)))
                }
                let list = self.values(childRow, child)
                parts.append(
                    .text("\(childPart) AS (INSERT INTO \(SQLName.quoted(child.name)) AS \(alias) (")
                        + [.joined(names + list.names, separator: ", ", empty: [])] + .text(") SELECT ")
                        + [.joined(values + list.values, separator: ", ", empty: [])]
                        + .text(" FROM \(part)")
                        + conflict(insert, childRow, child, alias, filled: reference.localFields)
                        + .text(" RETURNING \(alias).*)"))
                self.children(insert, of: childRow, child, part: childPart, &parts)
            }
        }
    }

    /// Renders the assignments of an upsert for an existing row.
    private mutating func conflict(
        _ insert: InsertTrees, _ row: RowData, _ table: Table, _ alias: String, filled: [String]
    ) -> [Piece] {
        guard insert.isUpsert else { return [] }
        var replaced: [[Piece]] = []
        for column in table.columns where !table.key.contains(column.field) {
            let name = SQLName.quoted(column.name)
            if filled.contains(column.field) {
                replaced.append(.text("\(name) = EXCLUDED.\(name)"))
            } else if let given = row.given[column.field] {
                replaced.append(replacement(given, alias))
            }
        }
        return .text(Self.conflict(table))
            + [.joined(replaced, separator: ", ", empty: .text(Self.untouched(table, "EXCLUDED")))]
    }

    private mutating func values(_ row: RowData, _ table: Table) -> (names: [[Piece]], values: [[Piece]]) {
        var names: [[Piece]] = []
        var values: [[Piece]] = []
        for column in table.columns {
            guard let item = item(column, row) else { continue }
            names.append(item.name)
            values.append(item.value)
        }
        return (names, values)
    }
}

extension TemplateBuilder {
    /// Renders `old + make_interval(days => 7)`, in UTC, as relative times are computed.
    mutating func shifted(
        _ old: [Piece], _ column: Column, isForward: Bool, _ shifts: [Assignment.Shift]
    ) -> [Piece] {
        var seconds: [[Piece]] = []
        var items: [[Piece]] = []
        for shift in shifts {
            let count = [Piece].text("coalesce(") + [value(shift.count)] + .text(", 0)")
            switch shift.unit {
            case .milliseconds: seconds.append(count + .text(" / 1000.0"))
            case .seconds: seconds.append(count)
            case .minutes: items.append(.text("mins => ") + count)
            case .hours, .days, .weeks, .months, .years: items.append(.text("\(shift.unit.rawValue) => ") + count)
            }
        }
        if !seconds.isEmpty {
            items.append(
                .text("secs => (") + [.joined(seconds, separator: " + ", empty: [])] + .text(")::double precision"))
        }
        let interval =
            [Piece].text(isForward ? " + make_interval(" : " - make_interval(")
            + [.joined(items, separator: ", ", empty: [])] + .text(")")
        return column.type.scalar == .date
            ? .text("(") + old + interval + .text(")::date")
            : .text("((") + old + .text(" AT TIME ZONE 'UTC')") + interval + .text(") AT TIME ZONE 'UTC'")
    }
}
