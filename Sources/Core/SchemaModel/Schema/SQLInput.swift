package import JSON

/// Formats constants from the project's files as Postgres input text.
package enum SQLInput {
    /// Formats a JSON value as input text of a type.
    package static func text(_ value: JSONValue, of type: ColumnType) -> String {
        if type.isList {
            let items = (value.arrayValue ?? []).map { item -> String in
                if item.isNull { return "NULL" }
                let text = text(item, of: ColumnType(type.scalar))
                let escaped = text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined()
                return "\"\(escaped)\""
            }
            return "{\(items.joined(separator: ","))}"
        }
        if type.scalar != .any, case .string(let text) = value { return text }
        return value.description
    }
}
