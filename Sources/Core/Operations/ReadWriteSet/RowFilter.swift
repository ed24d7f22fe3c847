package import SchemaModel

/// The part of a filter that the fields of a row decide alone and that events can tell. Rows that satisfy the filter
/// satisfy this part, too.
package indirect enum RowFilter: Sendable {
    case all([RowFilter])
    case any([RowFilter])
    case compare(Column, ColumnTest.Comparison, Operand)
    case member(Column, Operand, isNegated: Bool)
    case isNull(Column, ColumnTest.NullTest)
    /// A filter of the table's rows that a variable supplies.
    case variable(FilterVariable, Table)

    /// A part that events cannot tell.
    case unknown

    /// - Parameter isGuarded: whether guards test equality already, as they do outside of `_or`.
    /// - Returns: nil if events tell nothing.
    package init?(_ filter: Filter, isGuarded: Bool = false) {
        self = Self.told(filter, isGuarded: isGuarded)
        if case .unknown = self { return nil }
    }

    private static func told(_ filter: Filter, isGuarded: Bool = false) -> RowFilter {
        switch filter {
        case .all(let filters):
            // Unknown parts are kept: within a choice, the others alone may have no value and be left out.
            let told = filters.filter { !$0.isEmpty }.map { self.told($0, isGuarded: isGuarded) }
            if told.allSatisfy(\.isUnknown) { return .unknown }
            return told.count == 1 ? told[0] : .all(told)
        case .any(let filters):
            let told = filters.filter { !$0.isEmpty }.map { self.told($0) }
            // A choice tells nothing if one of its branches does not.
            return told.isEmpty || told.contains(where: \.isUnknown) ? .unknown : .any(told)
        case .column(let column, let test): return self.test(column, test, isGuarded: isGuarded) ?? .unknown
        case .variable(let variable):
            guard case .rows(let table) = variable.subject else { return .unknown }
            return .variable(variable, table)
        case .not, .referenced, .exists, .count, .aggregate: return .unknown
        }
    }

    /// Returns the fields of which a filter tests no more than guards and events tell.
    static func fieldsTold(_ filter: Filter) -> Set<String> {
        var fields = FieldsTold()
        fields.add(filter)
        return fields.isAnyUntold ? [] : fields.told.subtracting(fields.untold)
    }

    private struct FieldsTold {
        var told: Set<String> = []
        var untold: Set<String> = []
        /// Whether a variable may name any field.
        var isAnyUntold = false
        private var guarded: Set<String> = []

        /// Adds a filter that all rows satisfy.
        mutating func add(_ filter: Filter) {
            switch filter {
            case .all(let filters): for filter in filters { add(filter) }
            case .column(let column, let test)
            where RowFilter.test(column, test, isGuarded: true) == nil
                && RowFilter.test(column, test, isGuarded: false) != nil:
                // There is one guard a field.
                if guarded.insert(column.field).inserted {
                    told.insert(column.field)
                } else {
                    untold.insert(column.field)
                }
            default:
                if RowFilter.isTold(filter) {
                    addFields(of: filter, to: \.told)
                } else {
                    addFields(of: filter, to: \.untold)
                }
            }
        }

        private mutating func addFields(of filter: Filter, to set: WritableKeyPath<FieldsTold, Set<String>>) {
            switch filter {
            case .all(let filters), .any(let filters): for filter in filters { addFields(of: filter, to: set) }
            case .not(let inner): addFields(of: inner, to: set)
            case .column(let column, _): self[keyPath: set].insert(column.field)
            case .variable: isAnyUntold = true
            // Joins use the fields, too, and so do aggregates.
            case .referenced, .exists, .count, .aggregate: break
            }
        }
    }

    /// Whether events tell everything that a filter tests.
    private static func isTold(_ filter: Filter) -> Bool {
        switch filter {
        case .all(let filters), .any(let filters): filters.allSatisfy(isTold)
        case .column(let column, let test): self.test(column, test, isGuarded: false) != nil
        case .not, .referenced, .exists, .count, .aggregate, .variable: false
        }
    }

    private var isUnknown: Bool { if case .unknown = self { true } else { false } }

    private static func test(_ column: Column, _ test: ColumnTest, isGuarded: Bool) -> RowFilter? {
        switch test {
        case .compare(let comparison, let operand):
            guard operand.isFixedByRequest else { return nil }
            if column.isComparable, comparison == .equal || comparison == .notEqual {
                return isGuarded && comparison == .equal ? nil : .compare(column, comparison, operand)
            }
            return column.isSortable && comparison != .notEqual ? .compare(column, comparison, operand) : nil
        case .member(let operand, let isNegated):
            guard column.isComparable, operand.isFixedByRequest, isNegated || !isGuarded else { return nil }
            return .member(column, operand, isNegated: isNegated)
        case .isNull(let test): return column.isRecordable ? .isNull(column, test) : nil
        case .match, .list, .null, .variable: return nil
        }
    }

    /// The fields whose values events must tell.
    package var fields: Set<String> {
        switch self {
        case .all(let filters), .any(let filters): Set(filters.flatMap(\.fields))
        case .compare(let column, _, _), .member(let column, _, _), .isNull(let column, _): [column.field]
        case .unknown: []
        case .variable(_, let table): Set(table.columns.filter(\.isRecordable).map(\.field))
        }
    }

    /// Whether it is the same for all live queries.
    package var isFixed: Bool {
        switch self {
        case .all(let filters), .any(let filters): filters.allSatisfy(\.isFixed)
        case .compare(_, _, let operand), .member(_, let operand, _):
            if case .constant = operand.source { true } else { false }
        case .isNull(_, .constant), .isNull(_, .sent), .unknown: true
        case .isNull(_, .variable), .variable: false
        }
    }

    /// The filter in the words of explanations: `points > $p`, `(name = $n or rank = $r)`.
    package var text: String {
        switch self {
        case .all(let filters): filters.filter { !$0.isUnknown }.map(\.text).joined(separator: ", ")
        case .any(let filters):
            "(" + filters.map { if case .all = $0 { "(\($0.text))" } else { $0.text } }.joined(separator: " or ") + ")"
        case .compare(let column, let comparison, let operand):
            "\(column.field) \(comparison.rawValue) \(operand.nameInExplanations)"
        case .member(let column, let operand, let isNegated):
            "\(column.field) \(isNegated ? "not in" : "in") \(operand.nameInExplanations)"
        case .isNull(let column, .constant(let flag)), .isNull(let column, .sent(let flag)):
            "\(column.field) \(flag ? "= null" : "<> null")"
        case .isNull(let column, .variable(let name)): "\(column.field) = null if $\(name)"
        case .variable(let variable, _):
            switch variable.junction {
            case nil: "matches \(GivenInput.name(of: variable))"
            case .all: "matches all of \(GivenInput.name(of: variable))"
            case .any: "matches any of \(GivenInput.name(of: variable))"
            }
        case .unknown: "…"
        }
    }

    /// The conditions that rows satisfy each, in a form that tells different ones apart.
    var identities: [String] { parts.filter { $0 != Self.unknownPart } }

    private static let unknownPart = "?"

    /// The same with those that events cannot tell.
    private var parts: [String] {
        switch self {
        case .all(let filters): filters.flatMap(\.parts)
        case .any(let filters): ["any(\(filters.map { $0.parts.joined(separator: "&") }.joined(separator: "|")))"]
        case .compare(let column, let comparison, let operand):
            ["\(column.field)\(comparison.rawValue)\(operand.identity)"]
        case .member(let column, let operand, let isNegated):
            ["\(column.field)\(isNegated ? "∉" : "∈")\(operand.identity)"]
        case .isNull, .variable: [text]
        case .unknown: [Self.unknownPart]
        }
    }
}
