import GraphQLLanguage
import JSON
import SchemaModel

extension OperationScope {
    static let listArgumentNames = ["where", "orderBy", "limit", "offset", "distinct", "having"]

    /// Resolves `where`, `limit`, `offset` and `distinct`. What `orderBy` and `having` may name depends on the
    /// selection, so they are resolved with it.
    func listArguments(_ arguments: [String: Value], _ table: Table, in file: SourceFile) -> ListArguments {
        var list = ListArguments()
        if let value = arguments["where"] { list.filter = filter(value, table, in: file) }
        if let value = arguments["limit"] {
            list.limit = bound(value, whenAbsent: ListArguments.limitDefault, in: file)
        }
        if let value = arguments["offset"] { list.offset = bound(value, whenAbsent: 0, in: file) }
        list.isPaged = ["limit", "offset"].contains { arguments[$0].map { !$0.isNull } ?? false }
        if let value = arguments["distinct"] { list.isDistinct = flag(value, in: file) }
        return list
    }

    private func flag(_ value: Value, in file: SourceFile) -> BooleanArgument {
        if let flag = value.boolValue { return .constant(flag) }
        guard !value.isNull, let operand = operand(value, type: ColumnType(.boolean), in: file),
            case .variable(let name, _) = operand.source
        else { return .constant(false) }
        return .variable(name)
    }

    private func bound(_ value: Value, whenAbsent: Int64, in file: SourceFile) -> Bound {
        if let number = value.intValue {
            if number >= 0, number <= Int64(Int32.max) { return .constant(number) }
            error(
                .valueType, at: FileRange(range: value.range, file: file), "expected a number from 0 to \(Int32.max)")
            return .constant(whenAbsent)
        }
        if value.isNull { return .constant(whenAbsent) }
        guard let operand = operand(value, type: ColumnType(.int), in: file) else { return .constant(whenAbsent) }
        if case .variable(let name, _) = operand.source {
            findings.countedVariables.insert(name)
            if let number = variables[name]?.defaultValue?.intValue, number < 0 {
                error(
                    .defaultValue, at: FileRange(range: value.range, file: file),
                    "the default of \"$\(name)\" is negative, but \"limit\" and \"offset\" cannot be")
            }
        }
        return .operand(operand, whenAbsent: whenAbsent)
    }

    // MARK: Order

    /// Resolves `[{title: ASC}, {releaseYear: $direction}]`, a single such object, or a variable.
    /// - Parameter grouped: for lists with aggregates, the columns that they are grouped by; only these and aggregates
    ///   may be used for ordering.
    func orderTerms(
        _ value: Value, _ table: Table, in file: SourceFile, grouped: Set<String>? = nil
    ) -> [OrderTerm] {
        if value.isNull { return [] }
        if let name = value.variableName {
            return orderVariable(name, table, at: FileRange(range: value.range, file: file), grouped)
        }
        return (value.listValue ?? [value]).flatMap { item -> [OrderTerm] in
            if let name = item.variableName {
                return orderVariable(name, table, at: FileRange(range: item.range, file: file), grouped)
            }
            return orderKeys(item, table, in: file, grouped: grouped).map { OrderTerm.key($0.key, $0.direction) }
        }
    }

    private func orderVariable(
        _ name: String, _ table: Table, at range: FileRange, _ grouped: Set<String>?
    ) -> [OrderTerm] {
        guard let variable = use(variable: name, at: range) else { return [] }
        let order = InputType.generated(.order(table.typeName))
        var element = variable.type.nullable
        if case .list(let inner) = element { element = inner.nullable }
        guard element == order else {
            mismatch(variable, expected: "[\(order.text)!]", at: range)
            return []
        }
        guard grouped == nil else {
            error(.aggregateGrouping, at: range, "the order of groups must be a literal")
            return []
        }
        return [.variable(name)]
    }

    private func orderKeys(
        _ item: Value, _ table: Table, in file: SourceFile, grouped: Set<String>?
    ) -> [(key: OrderKey, direction: OrderTerm.Direction)] {
        let singles = schema.inverseRelations(ofType: table.typeName).filter(\.isSingle)
        let offered =
            table.columns.filter { $0.type.scalar != .vector }.map(\.field) + table.references.map(\.field)
            + singles.map(\.name) + aggregateNames(table)
        guard let fields = inputFields(item, of: "\(table.typeName)_Order", offered: offered, in: file) else {
            return []
        }
        return fields.flatMap { name, value -> [(key: OrderKey, direction: OrderTerm.Direction)] in
            let range = FileRange(range: name.range, file: file)
            if let column = table.column(ofField: name.value) {
                if let grouped, !grouped.contains(column.field) {
                    error(
                        .aggregateGrouping, at: range,
                        "groups can only be ordered by fields that they are grouped by,"
                            + " and \"\(name.value)\" is not selected"
                    )
                }
                return direction(value, in: file).map { [(.column(column), $0)] } ?? []
            }
            if let reference = table.reference(ofField: name.value),
                let target = schema.table(ofType: reference.targetType)
            {
                if let grouped, !grouped.isSuperset(of: reference.localFields) {
                    error(
                        .aggregateGrouping, at: range,
                        "groups can only be ordered by fields that they are grouped by,"
                            + " and \"\(name.value)\" is not selected"
                    )
                }
                return orderKeys(value, target, in: file, grouped: nil).map {
                    (.referenced(reference, target, $0.key), $0.direction)
                }
            }
            if let relation = singles.first(where: { $0.name == name.value }) {
                if grouped != nil {
                    error(.aggregateGrouping, at: range, "groups cannot be ordered by \"\(name.value)\"")
                }
                return orderKeys(value, relation.child, in: file, grouped: nil).map {
                    (.single(relation, $0.key), $0.direction)
                }
            }
            guard let aggregate = namedAggregate(name, table, in: file) else { return [] }
            guard grouped != nil else {
                error(
                    .aggregateGrouping, at: range, "only groups can be ordered by \"\(name.value)\"",
                    help: "select an aggregate next to the fields to group by")
                return []
            }
            return direction(value, in: file).map { [(.aggregate(aggregate), $0)] } ?? []
        }
    }

    private func direction(_ value: Value, in file: SourceFile) -> OrderTerm.Direction? {
        let range = FileRange(range: value.range, file: file)
        if let name = value.variableName {
            guard let variable = use(variable: name, at: range) else { return nil }
            guard variable.type.accepts(in: .orderDirection, hasDefault: variable.defaultValue != nil) else {
                mismatch(variable, expected: "OrderDirection", at: range)
                return nil
            }
            return .variable(name)
        }
        guard let order = value.enumValue.flatMap(SortOrder.init(rawValue:)) else {
            error(.valueType, at: range, "expected ASC or DESC")
            return nil
        }
        return .constant(order)
    }
}
