import GraphQLLanguage
import SchemaModel

/// Resolves `{now: true, sub: {days: 7}, truncateTo: DAY}` and `{today: true, …}`. Source:
/// docs/reference/sql-connect.md §5.5.
extension OperationScope {
    /// Resolves the value of `…_time` or `…_date`, a literal or a variable; returns nil after a diagnostic.
    func relativeOperand(_ value: Value, type: ColumnType, in file: SourceFile) -> Operand? {
        let isDate = type.scalar == .date
        if value.variableName != nil {
            return variable(value, .relative(isDate: isDate), in: file).map {
                Operand(.relativeVariable($0, isDate: isDate), type: type, schema: schema)
            }
        }
        let (start, given) = isDate ? ("today", "on") : ("now", "at")
        let typeName = InputType.relative(isDate: isDate).text
        let range = FileRange(range: value.range, file: file)
        guard
            let fields = inputFields(
                value, of: typeName, offered: [start, given, "add", "sub", "truncateTo"], in: file)
        else { return nil }
        func field(_ name: String) -> Value? { fields.first { $0.name.value == name }?.value }

        guard (field(start) == nil) != (field(given) == nil) else {
            error(.relativeTime, at: range, "\(typeName) needs exactly one of \"\(start)\" and \"\(given)\"")
            return nil
        }
        var base: Operand.Source?
        if let value = field(start), value.boolValue != true {
            error(
                .relativeTime, at: FileRange(range: value.range, file: file),
                "\"\(start)\" must be a literal true"
            )
            return nil
        }
        if let value = field(given) {
            guard !value.isNull else {
                error(
                    .relativeTime, at: FileRange(range: value.range, file: file),
                    "\"\(given)\" cannot be null")
                return nil
            }
            guard let operand = operand(value, type: ColumnType(type.scalar), in: file) else { return nil }
            base = operand.source
        }
        guard let add = amounts(field("add"), isDate: isDate, in: file),
            let subtract = amounts(field("sub"), isDate: isDate, in: file)
        else { return nil }
        var interval: RelativeTime.Interval?
        if let value = field("truncateTo"), !value.isNull {
            let offered = isDate ? RelativeTime.Interval.ofDates : RelativeTime.Interval.allCases
            interval = value.enumValue.flatMap(RelativeTime.Interval.init(rawValue:))
            guard let interval, offered.contains(interval) else {
                error(
                    .relativeTime, at: FileRange(range: value.range, file: file),
                    "expected one of \(offered.map(\.rawValue).joined(separator: ", "))")
                return nil
            }
        }
        let time = RelativeTime(isDate: isDate, base: base, add: add, subtract: subtract, truncateTo: interval)
        return Operand(.relative(time), type: type, schema: schema)
    }

    /// Resolves `{days: 7, hours: $hours}` or a variable; returns nil after a diagnostic.
    func amounts(_ value: Value?, isDate: Bool, in file: SourceFile) -> [RelativeTime.Amount]? {
        guard let value, !value.isNull else { return [] }
        let units = isDate ? RelativeTime.Unit.ofDates : RelativeTime.Unit.allCases
        if value.variableName != nil {
            return variable(value, .duration(isDate: isDate), in: file).map { name in
                units.map { RelativeTime.Amount(unit: $0, count: .variable(name, path: [$0.rawValue])) }
            }
        }
        let typeName = InputType.duration(isDate: isDate).text
        guard let fields = inputFields(value, of: typeName, offered: units.map(\.rawValue), in: file) else {
            return nil
        }
        var amounts: [RelativeTime.Amount] = []
        for (name, value) in fields {
            guard let unit = RelativeTime.Unit(rawValue: name.value),
                let count = operand(value, type: ColumnType(.int), in: file)
            else { return nil }
            amounts.append(RelativeTime.Amount(unit: unit, count: count.source))
        }
        return amounts
    }
}
