package import JSON
package import Operations

/// Fields that custom resolvers answer.
extension StoredOperation {
    package var hasRemoteFields: Bool { !remoteFields.isEmpty }

    /// The requests of a query to custom resolvers: any order will do. `variables` are coerced.
    package func remoteCalls(variables: JSONObject) -> [RemoteCall] {
        let variables = Variables(variables)
        return remoteFields.filter { variables.satisfies($0.inclusion) }.map { RemoteCall($0.field, variables) }
    }
}
