package import SchemaModel

/// A value computed from the rows of a group: `_count`, `rating_avg`.
package enum Aggregate: Sendable {
    case countRows
    case function(Function, Column, distinct: Bool)

    package enum Function: String, Sendable, CaseIterable {
        case count, sum, avg, min, max

        var takesDistinct: Bool { [.count, .sum, .avg].contains(self) }
    }

    /// Returns the aggregate over distinct values, where that makes a difference.
    func distinct(_ isDistinct: Bool) -> Aggregate {
        guard isDistinct, case .function(let function, let column, _) = self else { return self }
        return .function(function, column, distinct: function.takesDistinct)
    }

    /// The type of the value, for comparisons.
    package var type: ColumnType {
        switch self {
        case .countRows, .function(.count, _, _): ColumnType(.int)
        case .function(.avg, _, _): ColumnType(.float)
        case .function(_, let column, _): column.type
        }
    }

    /// Returns all aggregates of a type by name, `_count` first.
    package static func all(of table: Table) -> [(name: String, aggregate: Aggregate)] {
        [("_count", .countRows)]
            + table.columns.flatMap { column in
                Aggregate.Function.allCases.filter { isOffered($0, column.type) }.map {
                    ("\(column.field)_\($0.rawValue)", Aggregate.function($0, column, distinct: false))
                }
            }
    }

    static func isOffered(_ function: Aggregate.Function, _ type: ColumnType) -> Bool {
        switch function {
        case .count: type.scalar != .vector
        case .sum, .avg: !type.isList && isNumber(type.scalar)
        case .min, .max: !type.isList && isOrdered(type.scalar)
        }
    }

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
