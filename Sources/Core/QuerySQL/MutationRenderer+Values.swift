import Operations
import SchemaModel

/// Renders the values that updates set, and changes such as `inc` and `append`.
extension TemplateBuilder {
    mutating func set(_ assignments: [Assignment], _ table: Table, _ alias: String) -> [Piece] {
        var items: [[Piece]] = []
        for assignment in assignments {
            let name = SQLName.quoted(assignment.column.name)
            items.append(
                when(
                    assignment.required, .text("\(name) = ") + newStored(assignment, alias)))
        }
        return [.joined(items, separator: ", ", empty: .text(Self.untouched(table, alias)))]
    }

    private mutating func newStored(_ assignment: Assignment, _ alias: String) -> [Piece] {
        let column = assignment.column
        // Unchanged if unknown until the request.
        if case .dynamic = assignment.value { return .text(ColumnSQL.reference(column, of: alias)) }
        let old = changed(ColumnSQL.reference(column, of: alias), column)
        return ColumnSQL.stored(newValue(assignment, from: .text(old)), column)
    }

    /// Returns a column's value as changes such as `append` take it: with the type of their operands.
    func changed(_ sql: String, _ column: Column) -> String {
        guard column.dataType?.conversion != nil else { return sql }
        return "(\(ColumnSQL.standard(sql, column)))::\(schema.sqlType(of: column.type).text)"
    }

    /// Returns a value of the standard type of the column's scalar.
    mutating func newValue(_ assignment: Assignment, from old: [Piece]) -> [Piece] {
        switch assignment.value {
        case .set(let operand): return [value(operand)]
        case .dynamic: return old
        case .shift(let isForward, let shifts):
            return shifted(old, assignment.column, isForward: isForward, shifts)
        case .change(let change, let operand):
            let amount = [value(operand)]
            let start = Self.changeStart(assignment.column.type) ?? "NULL"
            let list = .text("coalesce(") + old + .text(", \(start))")
            switch change {
            case .inc: return old + .text(" + ") + amount
            case .dec: return old + .text(" - ") + amount
            case .append: return list + .text(" || ") + amount
            case .prepend: return amount + .text(" || ") + list
            case .add:
                return list + .text(" || ARRAY(SELECT e FROM unnest(") + amount
                    + .text(") WITH ORDINALITY AS u(e, o) WHERE e <> ALL (") + list + .text(") ORDER BY o)")
            case .remove:
                return .text("ARRAY(SELECT e FROM unnest(") + list
                    + .text(") WITH ORDINALITY AS u(e, o) WHERE e <> ALL (") + amount + .text(") ORDER BY o)")
            }
        }
    }
}
