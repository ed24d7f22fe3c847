internal import GraphQLLanguage

extension OperationScope {
    static let listArgumentNames = ["where", "orderBy", "limit", "offset"]

    /// `where`, `orderBy`, `limit` and `offset` over the rows of a table.
    func listArguments(_ arguments: [String: Value], _ table: Table, in file: SourceFile) -> ListArguments {
        var list = ListArguments()
        if let value = arguments["where"] { list.filter = filter(value, table, in: file) }
        if let value = arguments["orderBy"] { list.order = orderTerms(value, table, in: file) }
        if let value = arguments["limit"] {
            list.limit = bound(value, whenAbsent: ListArguments.limitDefault, in: file)
        }
        if let value = arguments["offset"] { list.offset = bound(value, whenAbsent: 0, in: file) }
        return list
    }

    private func bound(_ value: Value, whenAbsent: Int64, in file: SourceFile) -> Bound {
        if let number = value.intValue {
            if number >= 0, number <= Int64(Int32.max) { return .constant(number) }
            error("value-type", at: Place(range: value.range, file: file), "expected a number from 0 to \(Int32.max)")
            return .constant(whenAbsent)
        }
        if value.isNull { return .constant(whenAbsent) }
        guard let operand = operand(value, type: ColumnType(.int), in: file) else { return .constant(whenAbsent) }
        return .operand(operand, whenAbsent: whenAbsent)
    }

    /// `[{title: ASC}, {releaseYear: $direction}]`, or one such object.
    func orderTerms(_ value: Value, _ table: Table, in file: SourceFile) -> [OrderTerm] {
        if value.isNull { return [] }
        let typeName = "\(table.typeName)_Order"
        return (value.listValue ?? [value]).flatMap { item -> [OrderTerm] in
            guard
                let fields = inputFields(item, of: typeName, offered: table.columns.map(\.field), in: file)
            else { return [] }
            return fields.compactMap { name, value in
                guard let column = table.column(ofField: name.value) else { return nil }
                return direction(value, in: file).map { OrderTerm(column: column, direction: $0) }
            }
        }
    }

    private func direction(_ value: Value, in file: SourceFile) -> OrderTerm.Direction? {
        let place = Place(range: value.range, file: file)
        if let name = value.variableName {
            guard let variable = use(variable: name, at: place) else { return nil }
            guard variable.type.accepts(in: .orderDirection, hasDefault: variable.defaultValue != nil) else {
                mismatch(variable, expected: "OrderDirection", at: place)
                return nil
            }
            return .variable(name)
        }
        guard let order = value.enumValue.flatMap(SortOrder.init(rawValue:)) else {
            error("value-type", at: place, "expected ASC or DESC")
            return nil
        }
        return .constant(order)
    }
}
