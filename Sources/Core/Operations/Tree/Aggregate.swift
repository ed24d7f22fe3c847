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
        switch (function, type.scalar) {
        case (.count, .vector): false
        case (.count, _): true
        case (_, _) where type.isList: false
        case (.sum, .int), (.sum, .int64), (.sum, .float), (.avg, .int), (.avg, .int64), (.avg, .float): true
        case (.min, .uuid), (.max, .uuid), (.min, .boolean), (.max, .boolean), (.min, .any), (.max, .any): false
        case (.min, .vector), (.max, .vector): false
        case (.min, _), (.max, _): true
        default: false
        }
    }
}
