/// A form in which operations give a column's value other than by its own field, with the suffix of that form:
/// `title_expr`, `createdAt_time`. Source: docs/reference/sql-connect.md §5.5 and §5.6.
///
/// This is the only list of suffixes. Literals (`DataResolver`, `KeyResolver`), variables (`InputAllowlist`,
/// `DynamicRows`), filter operators (`FilterOperator`) and the generated input types (`TableDefinitions`) use it.
package enum FieldForm: String, Sendable, CaseIterable {
    /// A CEL expression.
    case expression = "expr"
    /// An update of the existing value, such as an increment.
    case update
    /// A date relative to another.
    case date
    /// A time relative to another.
    case time
    /// A text to embed.
    case embedding = "embed"

    /// Returns whether columns of this type can be given in this form.
    package func applies(to type: ColumnType) -> Bool {
        switch self {
        case .expression: true
        case .update: !type.changes.isEmpty
        case .date: type == ColumnType(.date)
        case .time: type == ColumnType(.timestamp)
        case .embedding: type == ColumnType(.vector)
        }
    }

    /// Returns the name of the field or operator in this form: `title` → `title_expr`.
    package func name(of base: String) -> String { "\(base)_\(rawValue)" }

    /// Splits a name at the suffix of a form; nil if it has none.
    package static func split(_ name: String) -> (base: String, form: FieldForm)? {
        guard let separator = name.lastIndex(of: "_"),
            let form = FieldForm(rawValue: String(name[name.index(after: separator)...]))
        else { return nil }
        return (String(name[..<separator]), form)
    }
}
