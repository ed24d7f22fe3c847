import JSON
package import LiveModel
package import SchemaModel

/// One request to a custom resolver, ready to be sent.
package struct RemoteCall: Sendable {
    package let endpoint: ResolverEndpoint
    package let responseKey: String
    /// JSON of GraphQL over HTTP: `query` and `variables`.
    package let body: [UInt8]

    package init(_ field: RemoteField, _ variables: Variables) {
        endpoint = field.endpoint
        responseKey = field.responseKey
        var values = JSONObject()
        for (name, value) in field.arguments { values[name] = value.value(in: variables) }
        body = JSONWriter.compact(["query": .string(field.text), "variables": .object(values)])
    }

    /// The value of the field out of an answer, as JSON text.
    /// - Parameter status: of HTTP.
    /// - Throws: `.resolverFailed` with the path of the field, or of what below it failed.
    package func value(status: Int, answer: [UInt8]) throws(RequestError) -> [UInt8] {
        guard let json = try? JSONParser.parse(answer), json.objectValue != nil else {
            throw failure(
                status == 200 ? "answered with something that is not JSON" : "answered with HTTP status \(status)")
        }
        if let error = json["errors"]?.arrayValue?.first {
            var failed = failure("failed: \(String((error["message"]?.stringValue ?? "no message").prefix(500)))")
            let path = error["path"]?.arrayValue?.compactMap { element -> RequestError.PathElement? in
                element.stringValue.map { .key($0) } ?? element.intValue.map { .index(Int($0)) }
            }
            if let path, path.first == .key(responseKey) { failed.path = path }
            throw failed
        }
        guard status == 200 else { throw failure("answered with HTTP status \(status)") }
        guard let value = json["data"]?[responseKey] else { throw failure("left its field out of the answer") }
        return JSONWriter.compact(value)
    }

    /// - Parameters:
    ///   - what: `did not answer in 5000 ms`, to follow the resolver's name.
    ///   - cause: what clients are not told.
    package func failure(_ what: String, code: ErrorCode = .resolverFailed, cause: String? = nil) -> RequestError {
        var error = RequestError(
            code, "the custom resolver \"\(endpoint.id)\" \(what)", path: [.key(responseKey)])
        error.cause = cause
        return error
    }
}
