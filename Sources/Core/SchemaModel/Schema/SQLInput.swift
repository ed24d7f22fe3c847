package import JSON

/// Constants of the developer's files as Postgres reads them.
package enum SQLInput {
    /// A JSON value as Postgres input text of a type.
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
