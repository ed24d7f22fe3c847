package import JSON
package import Operations

/// The fields that custom resolvers answer.
extension StoredOperation {
    package var hasRemoteFields: Bool { !remoteFields.isEmpty }

    /// The addresses of its custom resolvers, each once.
    package var resolverAddresses: [String] { Set(remoteFields.map(\.field.endpoint.uri)).sorted() }

    /// Returns the requests of a query to custom resolvers, in any order. `variables` are coerced.
    package func remoteCalls(variables: JSONObject) -> [RemoteCall] {
        let variables = Variables(variables)
        return remoteFields.filter { variables.satisfies($0.inclusion) }.map { RemoteCall($0.field, variables) }
    }
}
