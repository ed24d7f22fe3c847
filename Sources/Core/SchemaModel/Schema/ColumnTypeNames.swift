package import JSON

// MARK: GraphQL types generated for a column type

extension ColumnType {
    /// The GraphQL type of a nullable value, such as `[String!]`.
    package var typeText: String { isList ? "[\(scalar.typeName)!]" : scalar.typeName }
    package var elementText: String { scalar.typeName }
    /// `Int_Filter`, `String_ListFilter`
    package var filterName: String { "\(elementText)_\(isList ? "List" : "")Filter" }
    /// `Int_Expr`, `String_ListExpr`
    package var expressionName: String { "\(elementText)_\(isList ? "List" : "")Expr" }
    /// `Int_Update`, `String_ListUpdate`
    package var updateName: String { "\(elementText)_\(isList ? "List" : "")Update" }

    /// The operations that `f_update` offers for this type, each with the type of its operand.
    package var changes: [(name: String, type: String)] {
        if isList { return ["append", "prepend", "add", "remove"].map { ($0, typeText) } }
        return switch scalar {
        case .int, .int64, .float: ["inc", "dec"].map { ($0, typeText) }
        case .date: ["inc", "dec"].map { ($0, "Date_Duration") }
        case .timestamp: ["inc", "dec"].map { ($0, "Timestamp_Duration") }
        case .uuid, .string, .boolean, .any, .vector, .enumeration: []
        }
    }

    /// The value that an update starts from if there is neither a value nor a default: 0, or an empty list. Nil for
    /// times and for types without updates.
    package var changeStart: JSONValue? {
        if isList { return .array([]) }
        return switch scalar {
        case .int, .int64: .int(0)
        case .float: .double(0)
        case .uuid, .string, .boolean, .date, .timestamp, .any, .vector, .enumeration: nil
        }
    }
}
