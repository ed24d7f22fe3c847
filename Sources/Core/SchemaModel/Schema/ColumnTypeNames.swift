package import JSON

// The types that a column brings to GraphQL.

extension ColumnType {
    /// The type of a nullable value in GraphQL, as in `[String!]`.
    package var typeText: String { isList ? "[\(scalar.typeName)!]" : scalar.typeName }
    package var elementText: String { scalar.typeName }
    /// `Int_Filter`, `String_ListFilter`
    package var filterName: String { "\(elementText)_\(isList ? "List" : "")Filter" }
    /// `Int_Expr`, `String_ListExpr`
    package var expressionName: String { "\(elementText)_\(isList ? "List" : "")Expr" }
    /// `Int_Update`, `String_ListUpdate`
    package var updateName: String { "\(elementText)_\(isList ? "List" : "")Update" }

    /// What `f_update` can do to a column of this type, each with the type of the amount.
    package var changes: [(name: String, type: String)] {
        if isList { return ["append", "prepend", "add", "remove"].map { ($0, typeText) } }
        return switch scalar {
        case .int, .int64, .float: ["inc", "dec"].map { ($0, typeText) }
        case .date: ["inc", "dec"].map { ($0, "Date_Duration") }
        case .timestamp: ["inc", "dec"].map { ($0, "Timestamp_Duration") }
        case .uuid, .string, .boolean, .any, .vector, .enumeration: []
        }
    }

    /// What a change begins with where there is no value and no default: 0, or an empty list; nil for times, and where
    /// there are no changes.
    package var changeStart: JSONValue? {
        if isList { return .array([]) }
        return switch scalar {
        case .int, .int64: .int(0)
        case .float: .double(0)
        case .uuid, .string, .boolean, .date, .timestamp, .any, .vector, .enumeration: nil
        }
    }
}
