internal import JSON

/// Rendering of filters. A filter without a test renders to nothing, and what surrounds it leaves it out.
extension TemplateBuilder {
    mutating func predicate(_ filter: Filter, _ table: Table, _ alias: String) -> [Piece] {
        switch filter {
        case .all(let filters): return group(filters, " AND ", table, alias)
        case .any(let filters): return group(filters, " OR ", table, alias)
        case .not(let inner):
            let around = isNegated
            isNegated = true
            defer { isNegated = around }
            return [.wrapped("NOT (", predicate(inner, table, alias), ")")]
        case .column(let column, let test): return self.test(test, .text(ColumnSQL.compared(column, of: alias)))
        case .referenced(let reference, let target, let inner):
            let other = self.alias()
            let before = unknownTests.count
            let condition = predicate(inner, target, other)
            let join = join(reference, columnsOf: table, to: target, target: other, local: alias)
            return decided(
                [
                    .wrapped(
                        "EXISTS (SELECT 1 FROM \(ColumnSQL.from(target)) \(other) WHERE \(join) AND ", condition,
                        ")")
                ], since: before, isExact: !isNegated)
        case .exists(let rows, let inner):
            let before = unknownTests.count
            let exists = .text("EXISTS (SELECT 1") + matching(rows, inner, alias) + .text(")")
            return decided(exists, since: before, isExact: !isNegated)
        case .count(let rows, let inner, let tests):
            let before = unknownTests.count
            let matching = matching(rows, inner, alias)
            let items = tests.map { test($0, .text("(SELECT count(*)") + matching + .text(")")) }
            let exists: [Piece] = .text("EXISTS (SELECT 1") + matching + .text(")")
            let all = [Piece.joined(items, separator: " AND ", empty: exists)]
            return decided(
                items.count > 1 ? [.wrapped("(", all, ")")] : all, since: before, isExact: tests.isEmpty && !isNegated)
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
            return tested([.notNull(name, path: [])], column + isTrue)
        case .compare(let symbol, let operand):
            let comparison = column + .text(" \(symbol) ") + [value(operand)]
            guard case .variable = operand.source else { return tested(operand.presence, comparison) }
            switch symbol {
            case "=": return tested(operand.presence, comparison, null: column + .text(" IS NULL"))
            case "<>": return tested(operand.presence, comparison, null: column + .text(" IS NOT NULL"))
            default: return tested(operand.presence, comparison)
            }
        case .member(let operand, let isNegated):
            let comparison = isNegated ? " <> ALL (" : " = ANY ("
            return tested(operand.presence, column + .text(comparison) + [value(operand)] + .text(")"))
        case .match(let symbol, let operand, let isNegated):
            let comparison = .text(isNegated ? "NOT " : "") + column + .text(" \(symbol) ")
            return tested(operand.presence, comparison + [value(operand)])
        case .list(let symbol, let operand, let isNegated):
            let list = operand.type.isList ? [value(operand)] : .text("ARRAY[") + [value(operand)] + .text("]")
            let test = column + .text(" \(symbol) ") + list
            // A list that is null includes nothing.
            let negated = .text("NOT coalesce(") + test + .text(", FALSE)")
            return tested(operand.presence, isNegated ? negated : test)
        case .null:
            guard nullOperands == .compared else { return [] }
            unknownTests.append([])
            return Self.unknown
        case .variable(let name, let input):
            guard let value = bindings?.value(name, path: []) else { return [] }
            var items: [[Piece]] = []
            for test in GeneratedInputs(schema: schema).tests(value, input, name) {
                items.append(self.test(test, column))
            }
            return [.joined(items, separator: " AND ", empty: [])]
        }
    }
    /// Neither true nor false, so that `_not` makes no row of it either.
    private static let unknown = [Piece].text("NULL::boolean")

    /// A test whose operand comes from variables.
    /// - Parameters:
    ///   - present: what holds when the operand is not null.
    ///   - null: the test where a null that was sent is compared; nil where the outcome is unknown.
    private mutating func tested(
        _ present: [Condition], _ pieces: [Piece], null: [Piece]? = nil
    ) -> [Piece] {
        guard nullOperands == .compared, !present.isEmpty else { return when(present, pieces) }
        if null == nil {
            unknownTests.append(
                present.flatMap { condition in
                    [
                        Guard.Test(condition: index(of: condition.sent), expected: true),
                        Guard.Test(condition: index(of: condition), expected: false),
                    ]
                })
        }
        return when(present, pieces, otherwise: when(present.map(\.sent), null ?? Self.unknown))
    }

    /// Whether there are such rows, and how many, Postgres always knows: what is unknown of them counts as no row. Where
    /// no row would make the filter match, the whole is made unknown instead.
    /// - Parameters:
    ///   - before: how many tests were unknown before those of the rows.
    ///   - isExact: no row is no match.
    private mutating func decided(_ pieces: [Piece], since before: Int, isExact: Bool) -> [Piece] {
        let alternatives = Array(unknownTests[before...])
        if isExact || alternatives.isEmpty { return pieces }
        return [.when(Guard(alternatives: alternatives), then: Self.unknown, otherwise: pieces)]
    }
}
