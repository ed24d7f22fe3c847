import JSON
package import LiveModel
package import SchemaModel

/// A request to a custom resolver, ready to send.
package struct RemoteCall: Sendable {
    package let endpoint: ResolverEndpoint
    package let responseKey: String
    /// The JSON body of GraphQL over HTTP: `query` and `variables`.
    package let body: [UInt8]

    package init(_ field: RemoteField, _ variables: Variables) {
        endpoint = field.endpoint
        responseKey = field.responseKey
        var values = JSONObject()
        for (name, value) in field.arguments { values[name] = value.value(in: variables) }
        body = JSONWriter.compact(["query": .string(field.text), "variables": .object(values)])
    }

    /// Returns the value of the field in a response, as JSON text.
    /// - Parameter status: the HTTP status.
    /// - Throws: `.resolverFailed` with the path of the field, or of the failed field below it.
    package func value(status: Int, answer: [UInt8]) throws(RequestError) -> [UInt8] {
        guard let json = try? JSONParser.parse(answer), json.objectValue != nil else {
            throw failure(
                status == 200 ? "sent a response that is not JSON" : "responded with HTTP status \(status)")
        }
        if let error = json["errors"]?.arrayValue?.first {
            var failed = failure("failed: \(String((error["message"]?.stringValue ?? "no message").prefix(500)))")
            let path = error["path"]?.arrayValue?.compactMap { element -> RequestError.PathElement? in
                element.stringValue.map { .key($0) } ?? element.intValue.map { .index(Int($0)) }
            }
            if let path, path.first == .key(responseKey) { failed.path = path }
            throw failed
        }
        guard status == 200 else { throw failure("responded with HTTP status \(status)") }
        guard let value = json["data"]?[responseKey] else { throw failure("omitted its field from the response") }
        return JSONWriter.compact(value)
    }

    /// - Parameters:
    ///   - what: the end of the message after the resolver's name, such as `did not respond in 5000 ms`.
    ///   - cause: details that are not sent to clients.
    package func failure(_ what: String, code: ErrorCode = .resolverFailed, cause: String? = nil) -> RequestError {
        var error = RequestError(
            code, "the custom resolver \"\(endpoint.id)\" \(what)", path: [.key(responseKey)])
        error.cause = cause
        return error
    }
}
