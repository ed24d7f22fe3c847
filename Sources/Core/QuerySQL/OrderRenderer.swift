import JSON
import Operations
import SchemaModel

/// Renders `orderBy`.
extension TemplateBuilder {
    /// Renders an order that always ends with the primary key, so that equal data yields equal text; for a view, with
    /// its columns.
    /// - Parameter first: the order if the request gives none.
    mutating func order(
        _ terms: [OrderTerm], _ table: Table, _ alias: String, default first: [[Piece]] = []
    ) -> [Piece] {
        var items: [[Piece]] = terms.isEmpty ? first : []
        for term in terms { items += order(term, table, alias) }
        let used = Set(terms.flatMap { columns(of: $0, table) })
        let last =
            table.view == nil ? table.keyColumns : table.columns.filter { ![.any, .vector].contains($0.type.scalar) }
        for column in last where !used.contains(column.field) {
            items.append(.text(ColumnSQL.ordered(column, of: alias)))
        }
        return [.wrapped(" ORDER BY ", [.joined(items, separator: ", ", empty: [])], "")]
    }

    mutating func order(_ term: OrderTerm, _ table: Table, _ alias: String) -> [[Piece]] {
        switch term {
        case .key(let key, let direction):
            let value = orderValue(key, table, alias)
            switch direction {
            case .constant(.ascending): return [.text(value)]
            case .constant(.descending): return [.text(value + " DESC")]
            case .variable(let name):
                let isDescending = Condition.equals(name, SortOrder.descending.rawValue)
                return [.text(value) + when([isDescending], .text(" DESC"))]
            }
        case .variable(let name):
            return expandedOrder(name, table).flatMap { order($0, table, alias) }
        }
    }

    /// Returns the terms in a variable of type `Novel_Order`.
    private func expandedOrder(_ name: String, _ table: Table) -> [OrderTerm] {
        guard let value = bindings?.value(name, path: []) else { return [] }
        return InputInterpreter(schema: schema).order(value, table)
    }

    /// Returns the fields of the table that a term orders by directly.
    private func columns(of term: OrderTerm, _ table: Table) -> [String] {
        switch term {
        case .key(.column(let column), _): [column.field]
        case .key: []
        case .variable(let name): expandedOrder(name, table).flatMap { columns(of: $0, table) }
        }
    }

    private mutating func orderValue(_ key: OrderKey, _ table: Table, _ alias: String) -> String {
        switch key {
        case .column(let column): return ColumnSQL.ordered(column, of: alias)
        case .aggregate(let aggregate): return AggregateSQL.value(aggregate, alias)
        case .referenced(let reference, let target, let inner):
            let other = self.alias()
            let value = orderValue(inner, target, other)
            let join = join(reference, columnsOf: table, to: target, target: other, local: alias)
            return "(SELECT \(value) FROM \(ColumnSQL.from(target)) \(other) WHERE \(join))"
        case .single(let relation, let inner):
            let other = self.alias()
            let value = orderValue(inner, relation.child, other)
            let join = join(relation, child: other, outer: alias)
            return "(SELECT \(value) FROM \(ColumnSQL.from(relation.child)) \(other) WHERE \(join) LIMIT 1)"
        }
    }
}
