package import SchemaModel

/// A value computed from the rows of a group: `_count`, `rating_avg`.
package enum Aggregate: Sendable {
    case countRows
    case function(Function, Column, distinct: Bool)

    package typealias Function = AggregateFunction

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
                column.aggregates.map {
                    ($0.name(of: column.field), Aggregate.function($0, column, distinct: false))
                }
            }
    }
}
