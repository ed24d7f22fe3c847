import JSON
import Operations
import SchemaModel

/// Renders filters. A filter without tests renders to nothing and is omitted from its context.
extension TemplateBuilder {
    mutating func predicate(_ filter: Filter, _ table: Table, _ alias: String) -> [Piece] {
        switch filter {
        case .all(let filters): return group(filters, " AND ", table, alias)
        case .any(let filters): return group(filters, " OR ", table, alias)
        case .not(let inner):
            let outer = isNegated
            isNegated = true
            defer { isNegated = outer }
            return [.wrapped("NOT (", predicate(inner, table, alias), ")")]
        case .column(let column, let test):
            return self.test(test, ColumnSQL.compared(column, of: alias), canBeNull: column.isNullable)
        case .referenced(let reference, let target, let inner):
            let other = self.alias()
            let before = unknown
            let condition = predicate(inner, target, other)
            let join = join(reference, columnsOf: table, to: target, target: other, local: alias)
            return definite(
                [
                    .wrapped(
                        "EXISTS (SELECT 1 FROM \(ColumnSQL.from(target)) \(other) WHERE \(join) AND ", condition,
                        ")")
                ], since: before, isExact: !isNegated)
        case .exists(let rows, let inner):
            let before = unknown
            let exists = .text("EXISTS (SELECT 1") + matching(rows, inner, alias) + .text(")")
            return definite(exists, since: before, isExact: !isNegated)
        case .count(let rows, let inner, let tests):
            let before = unknown
            let matching = matching(rows, inner, alias)
            let items = tests.map {
                test($0, ComparedSQL(.text("(SELECT count(*)") + matching + .text(")")), canBeNull: false)
            }
            let exists: [Piece] = .text("EXISTS (SELECT 1") + matching + .text(")")
            let all = [Piece.joined(items, separator: " AND ", empty: exists)]
            return definite(
                items.count > 1 ? [.wrapped("(", all, ")")] : all, since: before, isExact: tests.isEmpty && !isNegated)
        case .aggregate(let aggregate, let test):
            return self.test(test, ComparedSQL(AggregateSQL.value(aggregate, alias)))
        case .variable(let variable):
            guard let value = bindings?.value(variable.name, path: variable.path), !value.isNull else { return [] }
            return predicate(InputInterpreter(schema: schema).filter(variable, value), table, alias)
        }
    }

    /// Renders ` FROM … WHERE …` for the matching rows related to the outer row.
    private mutating func matching(_ rows: RelatedRows, _ inner: Filter, _ outer: String) -> [Piece] {
        let source: String
        let alias = self.alias()
        switch rows {
        case .inverse(let relation):
            source = "\(ColumnSQL.from(relation.child)) \(alias) WHERE \(join(relation, child: alias, outer: outer))"
        case .manyToMany(let relation):
            let joinAlias = self.alias()
            let far = join(
                relation.far, columnsOf: relation.join, to: relation.target, target: alias, local: joinAlias)
            source =
                "\(ColumnSQL.from(relation.join)) \(joinAlias) JOIN \(ColumnSQL.from(relation.target)) \(alias)"
                + " ON \(far) WHERE \(nearJoin(relation, join: joinAlias, outer: outer))"
        }
        let condition = predicate(inner, rows.table, alias)
        return .text(" FROM \(source)") + [.wrapped(" AND ", condition, "")]
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

    /// - Parameter canBeNull: whether the value may be null in a row.
    private mutating func test(_ test: ColumnTest, _ compared: ComparedSQL, canBeNull: Bool = true) -> [Piece] {
        let column = compared.value
        switch test {
        case .isNull(.sent) where nullOperands == .compared && !canBeNull: return unknownTest()
        case .isNull(.constant(let flag)), .isNull(.sent(let flag)):
            return column + .text(flag ? " IS NULL" : " IS NOT NULL")
        case .isNull(.variable(let name)):
            let isTrue = when([.isTrue(name)], .text(" IS NULL"), otherwise: .text(" IS NOT NULL"))
            return tested([.notNull(name, path: [])], column + isTrue)
        case .compare(let comparison, let operand):
            let test =
                column + .text(" \(comparison.rawValue) ") + [value(operand)]
                + compared.cast(isList: operand.type.isList)
            guard case .variable = operand.source, canBeNull else { return tested(operand, test) }
            switch comparison {
            case .equal: return tested(operand, test, null: column + .text(" IS NULL"))
            case .notEqual: return tested(operand, test, null: column + .text(" IS NOT NULL"))
            case .less, .lessOrEqual, .greater, .greaterOrEqual: return tested(operand, test)
            }
        case .member(let operand, let isNegated):
            let comparison = isNegated ? " <> ALL (" : " = ANY ("
            return tested(
                operand, column + .text(comparison) + [value(operand)] + compared.cast(isList: true) + .text(")"))
        case .match(let match, let operand, let isNegated):
            let comparison = .text(isNegated ? "NOT " : "") + compared.matched + .text(" \(match.rawValue) ")
            return tested(operand, comparison + [value(operand)])
        case .list(let comparison, let operand, let isNegated):
            let list = operand.type.isList ? [value(operand)] : .text("ARRAY[") + [value(operand)] + .text("]")
            let test = column + .text(" \(comparison.rawValue) ") + list + compared.cast(isList: true)
            guard isNegated else { return tested(operand, test) }
            // A list that is null contains nothing.
            let negated = .text("NOT coalesce(") + test + .text(", FALSE)")
            guard nullOperands == .compared, operand.isComputed else { return tested(operand, negated) }
            return tested(operand, .text("CASE WHEN ") + known(operand) + .text(" THEN ") + negated + .text(" END"))
        case .null:
            return nullOperands == .compared ? unknownTest() : []
        case .variable(let name, let input):
            guard let value = bindings?.value(name, path: []) else { return [] }
            var items: [[Piece]] = []
            for test in InputInterpreter(schema: schema).tests(value, input, name) {
                items.append(self.test(test, compared, canBeNull: canBeNull))
            }
            return [.joined(items, separator: " AND ", empty: [])]
        }
    }
    /// Neither true nor false, so that `_not` does not match either.
    private static let unknownBoolean = [Piece].text("NULL::boolean")

    private mutating func unknownTest() -> [Piece] {
        unknown.tests.append([])
        return Self.unknownBoolean
    }

    /// Returns a test that a computed operand and its elements are not null.
    private mutating func known(_ operand: Operand) -> [Piece] {
        let isNotNull = [value(operand)] + .text(" IS NOT NULL")
        guard operand.type.isList else { return isNotNull }
        return isNotNull + .text(" AND array_position(") + [value(operand)] + .text(", NULL) IS NULL")
    }

    /// - Parameter null: the test for a null variable; nil if the result is unknown then.
    private mutating func tested(_ operand: Operand, _ pieces: [Piece], null: [Piece]? = nil) -> [Piece] {
        let present = operand.presence
        guard nullOperands == .compared else { return when(present, pieces) }
        if operand.isComputed { unknown.values.append(known(operand)) }
        return tested(present, pieces, null: null)
    }

    /// Renders a test whose operand comes from variables.
    /// - Parameter present: the conditions under which the operand is not null.
    private mutating func tested(_ present: [Condition], _ pieces: [Piece], null: [Piece]? = nil) -> [Piece] {
        guard nullOperands == .compared, !present.isEmpty else { return when(present, pieces) }
        if null == nil {
            unknown.tests.append(
                present.flatMap { condition in
                    [
                        Guard.Test(condition: index(of: condition.sent), expected: true),
                        Guard.Test(condition: index(of: condition), expected: false),
                    ]
                })
        }
        return when(present, pieces, otherwise: when(present.map(\.sent), null ?? Self.unknownBoolean))
    }

    /// Makes a test of related rows unknown if a test of the rows is. Postgres always decides whether such rows exist,
    /// and how many, and counts unknown as no row. Where the absence of rows would make the filter match, the whole
    /// test must be unknown instead.
    /// - Parameters:
    ///   - before: what was unknown before the tests of the rows.
    ///   - isExact: whether the absence of rows means no match.
    private mutating func definite(_ pieces: [Piece], since before: Unknown, isExact: Bool) -> [Piece] {
        if isExact { return pieces }
        let values = unknown.values[before.values.count...]
        let known = Array(values.joined(separator: [Piece].text(" AND ")))
        let pieces = known.isEmpty ? pieces : .text("CASE WHEN ") + known + .text(" THEN ") + pieces + .text(" END")
        let alternatives = Array(unknown.tests[before.tests.count...])
        if alternatives.isEmpty { return pieces }
        return [.when(Guard(alternatives: alternatives), then: Self.unknownBoolean, otherwise: pieces)]
    }
}
