import LiveModel
package import SchemaModel

/// A place where a query reads a table: its result depends there on no other rows than those that satisfy the guards.
/// Source: the result is a function of the rows that each site selects, so a change that no site selects before or
/// after leaves it as it is.
package struct ReadSite: Sendable {
    /// A field that has the same value in all rows of the site, `lotId = $lot`, or one of a list. Without a value,
    /// because the variable was not sent or is null, it tests nothing.
    package struct Guard: Sendable {
        package let field: String
        package let operand: Operand
        /// Whether the operand is a list of values.
        package let isMember: Bool
    }

    /// The SQL name of the table.
    package let table: String
    /// Sorted by field, one a field.
    package let guards: [Guard]
    /// The conditions that all rows of the site satisfy beside the guards; nil if events tell none.
    package let filter: RowFilter?
    /// The field whose values are those of the rows above, as the last run read them; nil if these are not known.
    package let binding: Binding?
    /// How the result shows the rows; nil unless it shows them one by one.
    package let shown: Shown?
    /// The fields that the query uses of the table; nil if also the order in which its rows are stored counts.
    package let fields: Set<String>?
    /// The fields that count whatever filters and orders from variables name; nil if all of `fields` do.
    package let fixedFields: Set<String>?
    /// The fields that only the filter uses, in tests that are all among the guards and `filter`. A change of these
    /// does not matter where the tests hold before and after.
    package let fieldsFiltered: Set<String>
    /// Whether native SQL or a view reads the rows, so that any of the table may count.
    package let isOfSQL: Bool
    /// Nil if the rows are read in any case.
    package let namedBy: Naming?

    /// A filter or order that reads the rows if its value names a table.
    package struct Naming: Sendable {
        package let input: GivenInput
        /// The SQL name of the site's table, or of the view through which it is read.
        package let table: String

        init(_ input: GivenInput, _ table: Table) { (self.input, self.table) = (input, table.name) }
    }

    /// Rows of which the result shows each, up to a limit. A row that it does not show matters only once it enters.
    package struct Shown: Sendable {
        /// The response keys from the root to the objects; lists are traversed.
        package let path: [String]
        /// The fields of the table's primary key.
        package let key: [String]
        /// The fields that decide whether a row is shown: those of the filter, the order, the key and the join.
        package let deciding: Set<String>
        /// The deciding fields without those that filters and orders from variables may name; nil if there are none of
        /// these.
        package let fixedDeciding: Set<String>?
        /// Nil if a row may enter wherever it comes in the order.
        package let window: Window?
        /// The number of rows that the list leaves out before the first one shown.
        package let offset: Bound
    }

    /// The rows that a list shows at most. A row that comes after the last one shown is not among them.
    package struct Window: Sendable {
        /// The leading fields of the order, up to the first whose values cannot be compared.
        package let order: [Term]
        package let limit: Bound

        package struct Term: Sendable {
            package let column: Column
            package let direction: OrderTerm.Direction
        }
    }

    /// Whether runs tell which rows they read.
    package var readsRows: Bool { binding != nil || shown != nil }
}

/// All places where a query reads tables.
package struct ReadSites: Sendable {
    package internal(set) var all: [ReadSite] = []
    /// The filters and orders of the query that variables supply.
    package internal(set) var inputs: [GivenInput] = []
    /// Whether the query may also read rows of any table: native SQL or a view of which it is not known what it
    /// reads.
    package internal(set) var mayReadAnything = false

    /// Whether the query reads no rows.
    package var isEmpty: Bool { all.isEmpty && !mayReadAnything }
}

extension Column {
    /// Whether two values of the column are equal for Postgres exactly if their canonical forms are: not for types that
    /// the schema does not choose, for lists, numbers with a fraction, times and JSON.
    package var isComparable: Bool {
        guard dataType == nil, !type.isList else { return false }
        return switch type.scalar {
        case .uuid, .string, .int, .int64, .boolean, .enumeration: true
        case .float, .date, .timestamp, .any, .vector: false
        }
    }

    /// Whether events can record the value, in the same text from mutations and from the database's log.
    package var isRecordable: Bool { isComparable || dataType == nil && !type.isList && type.scalar.isTime }

    /// Whether `ORDER BY` puts values in an order that their texts determine, whatever the collation.
    var isSortable: Bool {
        guard dataType == nil, !type.isList else { return false }
        return switch type.scalar {
        case .uuid, .int, .int64, .boolean, .date, .timestamp: true
        case .string, .enumeration, .float, .any, .vector: false
        }
    }
}

extension ScalarType {
    var isTime: Bool { self == .date || self == .timestamp }
}

extension Operand {
    /// The value in the words of explanations: `$lotId`, `"OPEN"`, `auth.uid`.
    package var nameInExplanations: String {
        switch source {
        case .constant(let value): value.text
        case .variable(let name, let path): "$" + ([name] + path).joined(separator: ".")
        case .firstGiven(let name, _): "$" + name
        case .expression(let program): program.text
        case .freshUUID, .relative, .relativeVariable, .list, .object, .embedding: source.identity
        }
    }

    /// Whether the value is the same for each run of a live query: a constant, a variable, the caller's id.
    var isFixedByRequest: Bool {
        guard pattern == nil else { return false }
        switch source {
        case .constant, .variable, .firstGiven: return true
        case .list(let elements): return elements.allSatisfy(\.isGiven)
        case .expression(let program):
            let text = program.text.filter { !$0.isWhitespace }
            return text == "auth.uid" || text == "request.auth.uid"
        case .freshUUID, .relative, .relativeVariable, .object, .embedding: return false
        }
    }
}

extension Operand.Source {
    /// Whether it is a constant or a variable.
    fileprivate var isGiven: Bool {
        switch self {
        case .constant, .variable, .firstGiven: true
        case .expression, .freshUUID, .relative, .relativeVariable, .list, .object, .embedding: false
        }
    }
}
