import LiveModel
package import SchemaModel

/// A place where a query reads a table: its result depends there on no other rows than those that satisfy the guards.
/// Source: the result is a function of the rows that each site selects, so a change that no site selects before or
/// after leaves it as it is.
package struct ReadSite: Sendable {
    /// A field that has the same value in all rows of the site: `lotId = $lot`. Without a value, because the variable
    /// was not sent or is null, it tests nothing.
    package struct Guard: Sendable {
        package let field: String
        package let operand: Operand
    }

    /// The SQL name of the table.
    package let table: String
    /// Sorted by field, one a field.
    package let guards: [Guard]
    /// The field whose values are those of the rows above, as the last run read them; nil if these are not known.
    package let binding: Binding?
    /// The fields that the query uses of the table; nil if also the order in which its rows are stored counts.
    package let fields: Set<String>?
}

/// All places where a query reads tables.
package struct ReadSites: Sendable {
    package internal(set) var all: [ReadSite] = []
    /// Whether the query may also read rows of any table: native SQL, a view, a filter from a variable.
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
        case .expression(let program):
            let text = program.text.filter { !$0.isWhitespace }
            return text == "auth.uid" || text == "request.auth.uid"
        case .freshUUID, .relative, .relativeVariable, .list, .object, .embedding: return false
        }
    }
}
