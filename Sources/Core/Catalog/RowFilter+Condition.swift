import JSON
import LiveModel
import Operations
import Refresh
import SchemaModel

extension RowFilter {
    /// Returns the condition for a live query, nil if it tells nothing, and whether the request left no part of the
    /// filter unknown that events can tell.
    func condition(_ invocation: Invocation, schema: Schema) -> (condition: RowCondition?, isWhole: Bool) {
        var isWhole = true
        guard case .condition(let condition) = told(invocation, schema, &isWhole) else { return (nil, isWhole) }
        return (condition, isWhole)
    }

    private enum Told {
        /// A test without a value is left out of the query.
        case leftOut
        case unknown
        case condition(RowCondition)

        var isUnknown: Bool { if case .unknown = self { true } else { false } }
    }

    /// - Parameter isWhole: set to false if a value cannot be compared.
    private func told(_ invocation: Invocation, _ schema: Schema, _ isWhole: inout Bool) -> Told {
        let told = ownTold(invocation, schema, &isWhole)
        if case .unknown = self { return told }
        if told.isUnknown { isWhole = false }
        return told
    }

    private func ownTold(_ invocation: Invocation, _ schema: Schema, _ isWhole: inout Bool) -> Told {
        switch self {
        case .all(let filters):
            let told = filters.map { $0.told(invocation, schema, &isWhole) }
            let conditions = told.compactMap { if case .condition(let condition) = $0 { condition } else { nil } }
            if !conditions.isEmpty { return .condition(conditions.count == 1 ? conditions[0] : .all(conditions)) }
            return told.contains(where: \.isUnknown) ? .unknown : .leftOut
        case .any(let filters):
            var conditions: [RowCondition] = []
            for filter in filters {
                switch filter.told(invocation, schema, &isWhole) {
                case .leftOut: continue
                case .unknown: return .unknown
                case .condition(let condition): conditions.append(condition)
                }
            }
            return conditions.isEmpty ? .leftOut : .condition(.any(conditions))
        case .compare(let column, let comparison, let operand):
            return Self.told(operand, invocation) { value in
                switch comparison {
                case .equal where column.isComparable:
                    .isMember(field: column.field, .one(GuardValue.text(value)), isNegated: false)
                case .notEqual: .isMember(field: column.field, .one(GuardValue.text(value)), isNegated: true)
                default:
                    SortKind(column.type.scalar).flatMap { kind in
                        RowTest.Comparison(comparison).map {
                            .compares(RowTest(field: column.field, kind: kind, $0, value))
                        }
                    }
                }
            }
        case .member(let column, let operand, let isNegated):
            return Self.told(operand, invocation) { value in
                guard case .array(let elements) = value else { return nil }
                // Even null is none of no values, and whether anything is none of some with a null is not known.
                if isNegated, elements.isEmpty || elements.contains(where: \.isNull) { return nil }
                // Nothing is equal to a null element.
                let values = AutomaticRules.Values(elements.filter { !$0.isNull }.map(GuardValue.text))
                if case .any = values { return nil }
                return .isMember(field: column.field, values, isNegated: isNegated)
            }
        case .unknown: return .unknown
        case .isNull(let column, .constant(let flag)), .isNull(let column, .sent(let flag)):
            return .condition(.isNull(field: column.field, flag))
        case .isNull(let column, .variable(let name)):
            guard let flag = invocation.variables.object[name]?.boolValue else { return .leftOut }
            return .condition(.isNull(field: column.field, flag))
        case .variable(let variable, _):
            guard let value = invocation.variables.value(variable.name, path: variable.path), !value.isNull else {
                return .leftOut
            }
            let filter = InputInterpreter(schema: schema).filter(variable, value)
            if filter.isEmpty { return .leftOut }
            return RowFilter(filter).map { $0.told(invocation, schema, &isWhole) } ?? .unknown
        }
    }

    /// - Parameter condition: the condition for a value; nil if it tells nothing.
    private static func told(
        _ operand: Operand, _ invocation: Invocation, _ condition: (JSONValue) -> RowCondition?
    ) -> Told {
        guard let value = try? operand.value(in: invocation) else { return .unknown }
        // The value of a variable leaves the test out; a computed one makes it fail.
        if value.isNull { return operand.presence.isEmpty ? .unknown : .leftOut }
        return condition(value).map(Told.condition) ?? .unknown
    }
}

extension RowTest.Comparison {
    /// Returns nil for one that is no comparison in an order.
    fileprivate init?(_ comparison: ColumnTest.Comparison) {
        switch comparison {
        case .equal: self = .equal
        case .notEqual: return nil
        case .less: self = .less
        case .lessOrEqual: self = .lessOrEqual
        case .greater: self = .greater
        case .greaterOrEqual: self = .greaterOrEqual
        }
    }
}
