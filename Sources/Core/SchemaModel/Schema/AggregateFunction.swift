/// A function over the values of a column in the rows of a group, with the suffix of its generated field: `rating_avg`.
/// Source: docs/reference/sql-connect.md §5.4.
package enum AggregateFunction: String, Sendable, CaseIterable {
    case count, sum, avg, min, max

    package var takesDistinct: Bool { [.count, .sum, .avg].contains(self) }

    /// Returns whether columns of this type have the aggregate.
    package func applies(to type: ColumnType) -> Bool {
        switch self {
        case .count: type.scalar != .vector
        case .sum, .avg: !type.isList && Self.isNumber(type.scalar)
        case .min, .max: !type.isList && Self.isOrdered(type.scalar)
        }
    }

    /// Returns the name of the aggregate of a field: `rating` → `rating_avg`.
    package func name(of base: String) -> String { "\(base)_\(rawValue)" }

    private static func isNumber(_ scalar: ScalarType) -> Bool {
        switch scalar {
        case .int, .int64, .float: true
        case .uuid, .string, .boolean, .date, .timestamp, .any, .vector, .enumeration: false
        }
    }

    private static func isOrdered(_ scalar: ScalarType) -> Bool {
        switch scalar {
        case .string, .int, .int64, .float, .date, .timestamp, .enumeration: true
        case .uuid, .boolean, .any, .vector: false
        }
    }
}

extension Column {
    /// The forms, other than its own field, in which data give the column's value.
    package var forms: [FieldForm] { FieldForm.allCases.filter { $0.applies(to: type) } }

    /// The aggregates that are generated from the column.
    package var aggregates: [AggregateFunction] { AggregateFunction.allCases.filter { $0.applies(to: type) } }
}
