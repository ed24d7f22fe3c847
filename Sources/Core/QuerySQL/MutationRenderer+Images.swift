import JSON
import LiveModel
import Operations
import SchemaModel

/// Renders the reading of rows before they are changed, for `RowImages`.
extension TemplateBuilder {
    /// Returns `WITH o AS (…)`, the row that an upsert finds, locked as the update that follows locks it: references to
    /// the row do not wait for that.
    mutating func former(_ images: RowImages, _ row: RowData) -> [Piece] {
        let (table, alias) = (images.table, alias())
        var tests: [[Piece]] = []
        for column in table.keyColumns {
            guard let item = item(column, row) else { preconditionFailure("an upsert of \(table.name) without a key") }
            let test = .text("\(ColumnSQL.reference(column, of: alias)) = ") + item.value
            // Without a value the row is new, or there is none.
            let required = row.defaults[column.field] == nil ? row.given[column.field]?.required ?? [] : []
            tests.append(when(required, test, otherwise: .text("FALSE")))
        }
        return .text(
            "WITH \(RowImages.former) AS MATERIALIZED (SELECT \(images.formerColumns(alias))"
                + " FROM \(SQLName.quoted(table.name)) \(alias) WHERE ")
            + [.joined(tests, separator: " AND ", empty: [])] + .text(" FOR NO KEY UPDATE) ")
    }

    /// Returns the JSON texts of the fields that are set, for `RowImages`.
    mutating func changed(_ assignments: [Assignment]) -> [Piece] {
        let names = assignments.sorted { $0.column.field < $1.column.field }.map {
            when($0.required, .text(JSONValue.string($0.column.field).text))
        }
        return [.joined(names, separator: ",", empty: [])]
    }

    /// Returns `UPDATE … WHERE …` and the change of each row, in full and in common with other rows. Where a field is
    /// set that is recorded of rows before, these are read and locked first; otherwise the row after has their values.
    /// - Parameter condition: renders ` WHERE …` for an alias.
    mutating func update(
        _ table: Table, _ alias: String, _ assignments: [Assignment], _ images: RowImages?,
        _ condition: (inout TemplateBuilder, String) -> [Piece]
    ) -> (pieces: [Piece], change: [Piece]?, common: [Piece]?) {
        let update = [Piece].text("UPDATE \(SQLName.quoted(table.name)) \(alias) SET ") + set(assignments, table, alias)
        guard let images else { return (update + condition(&self, alias), nil, nil) }
        let changed = self.changed(assignments)
        let set = Set(assignments.map(\.column.field))
        let isKept = !images.hasFields(among: set)
        func change(_ before: String, _ detail: RowImages.Detail) -> [Piece] {
            images.change(before: before, after: alias, isKept: isKept, changed: changed, detail)
        }
        guard images.hasFormerFields(among: set) else {
            return (update + condition(&self, alias), change(alias, .all), change(alias, .compared))
        }
        let before = self.alias()
        let former =
            [Piece].text(" FROM (SELECT \(images.formerColumns(before)) FROM \(SQLName.quoted(table.name)) \(before)")
            + condition(&self, before)
            + .text(" FOR NO KEY UPDATE) \(RowImages.former) WHERE \(images.isFormer(alias))")
        return (update + former, change(RowImages.former, .all), change(RowImages.former, .compared))
    }
}
