package import JSON

extension RequestError {
    /// The GraphQL error object: `{"message", "path"?, "extensions": {"code", "retryAfterMs"?, "table"?, "constraint"?,
    /// "fields"?}}`. GraphQL specification §7.1.2.
    package var graphQLError: JSONValue {
        var object: JSONObject = ["message": .string(message)]
        if !path.isEmpty {
            object["path"] = .array(
                path.map { element in
                    switch element {
                    case .key(let key): .string(key)
                    case .index(let index): .int(Int64(index))
                    }
                })
        }
        var extensions: JSONObject = ["code": .string(code.rawValue)]
        if let retryAfterMs { extensions["retryAfterMs"] = .int(Int64(retryAfterMs)) }
        if let disclosure {
            extensions["table"] = disclosure.table.map(JSONValue.string)
            extensions["constraint"] = disclosure.constraint.map(JSONValue.string)
            if !disclosure.fields.isEmpty { extensions["fields"] = .array(disclosure.fields.map(JSONValue.string)) }
        }
        object["extensions"] = .object(extensions)
        return .object(object)
    }
}
