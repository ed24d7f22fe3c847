internal import JSON

/// Rendering of filters. A filter without a test renders to nothing, and what surrounds it leaves it out.
extension TemplateBuilder {
    mutating func predicate(_ filter: Filter, _ table: Table, _ alias: String) -> [Piece] {
        switch filter {
        case .all(let filters): return group(filters, " AND ", table, alias)
        case .any(let filters): return group(filters, " OR ", table, alias)
        case .not(let inner): return [.wrapped("NOT (", predicate(inner, table, alias), ")")]
        case .column(let column, let test): return self.test(test, .text(ColumnSQL.reference(column, of: alias)))
        case .referenced(let reference, let target, let inner):
            let other = self.alias()
            let condition = predicate(inner, target, other)
            let join = join(reference, columnsOf: table, to: target, target: other, local: alias)
            return [
                .wrapped(
                    "EXISTS (SELECT 1 FROM \(ColumnSQL.from(target)) \(other) WHERE \(join) AND ", condition,
                    ")")
            ]
        case .exists(let rows, let inner):
            return .text("EXISTS (SELECT 1") + matching(rows, inner, alias) + .text(")")
        case .count(let rows, let inner, let tests):
            let matching = matching(rows, inner, alias)
            let items = tests.map { test($0, .text("(SELECT count(*)") + matching + .text(")")) }
            let exists: [Piece] = .text("EXISTS (SELECT 1") + matching + .text(")")
            let all = [Piece.joined(items, separator: " AND ", empty: exists)]
            return items.count > 1 ? [.wrapped("(", all, ")")] : all
        case .aggregate(let aggregate, let test):
            return self.test(test, .text(AggregateSQL.value(aggregate, alias)))
        case .variable(let variable):
            guard let value = bindings?.value(variable.name, path: variable.path), !value.isNull else { return [] }
            return predicate(GeneratedInputs(schema: schema).filter(variable, value), table, alias)
        }
    }

    /// ` FROM … WHERE …` of the rows that belong to the one around and match.
    private mutating func matching(_ rows: RelatedRows, _ inner: Filter, _ outer: String) -> [Piece] {
        let alias = self.alias()
        let condition = predicate(inner, rows.table, alias)
        let join =
            switch rows {
            case .inverse(let relation): self.join(relation, child: alias, outer: outer)
            case .manyToMany(let relation): nearJoin(relation, join: alias, outer: outer)
            }
        return .text(" FROM \(ColumnSQL.from(rows.table)) \(alias) WHERE \(join)") + [.wrapped(" AND ", condition, "")]
    }

    private mutating func group(
        _ filters: [Filter], _ separator: String, _ table: Table, _ alias: String
    ) -> [Piece] {
        var items: [[Piece]] = []
        for filter in filters where !filter.isEmpty {
            items.append(predicate(filter, table, alias))
        }
        if items.count == 1 { return items[0] }
        return [.wrapped("(", [.joined(items, separator: separator, empty: [])], ")")]
    }

    private mutating func test(_ test: ColumnTest, _ column: [Piece]) -> [Piece] {
        switch test {
        case .isNull(.constant(let flag)): return column + .text(flag ? " IS NULL" : " IS NOT NULL")
        case .isNull(.variable(let name)):
            let isTrue = when([.isTrue(name)], .text(" IS NULL"), otherwise: .text(" IS NOT NULL"))
            return when([.notNull(name, path: [])], column + isTrue)
        case .compare(let symbol, let operand):
            return when(operand.presence, column + .text(" \(symbol) ") + [value(operand)])
        case .member(let operand, let isNegated):
            let comparison = isNegated ? " <> ALL (" : " = ANY ("
            return when(operand.presence, column + .text(comparison) + [value(operand)] + .text(")"))
        case .match(let symbol, let operand, let isNegated):
            let comparison = .text(isNegated ? "NOT " : "") + column + .text(" \(symbol) ")
            return when(operand.presence, comparison + [value(operand)])
        case .list(let symbol, let operand, let isNegated):
            let list = operand.type.isList ? [value(operand)] : .text("ARRAY[") + [value(operand)] + .text("]")
            let test = column + .text(" \(symbol) ") + list
            // A list that is null includes nothing.
            let negated = .text("NOT coalesce(") + test + .text(", FALSE)")
            return when(operand.presence, isNegated ? negated : test)
        case .variable(let name, let input):
            guard let value = bindings?.value(name, path: []) else { return [] }
            var items: [[Piece]] = []
            for test in GeneratedInputs(schema: schema).tests(value, input, name) {
                items.append(self.test(test, column))
            }
            return [.joined(items, separator: " AND ", empty: [])]
        }
    }
}
