package import LiveModel
package import Operations

/// The connection to custom resolvers.
package protocol ResolverTransport: Sendable {
    /// Sends one request, at most once: it is never repeated, because the resolver may have acted.
    /// - Returns: the field's value as JSON text.
    /// - Throws: `.resolverFailed`; `.timeout`, `.outcomeUnknown` when it may have acted; `.unavailable`,
    ///   `.limitExceeded` when nothing was sent; each with the path of the field.
    func call(_ call: RemoteCall) async throws(RequestError) -> [UInt8]
    /// Sends one request of a mutation.
    /// - Parameter idempotencyKey: is the same whenever the mutation is repeated; nil if it has no key.
    func call(_ call: RemoteCall, idempotencyKey: String?) async throws(RequestError) -> [UInt8]
}

extension ResolverTransport {
    package func call(_ call: RemoteCall, idempotencyKey: String?) async throws(RequestError) -> [UInt8] {
        try await self.call(call)
    }

    /// Makes all calls of one query concurrently; the first failure fails the query.
    func results(of calls: [RemoteCall]) async throws(RequestError) -> [String: [UInt8]] {
        if calls.count == 1, let only = calls.first { return [only.responseKey: try await call(only)] }
        let outcomes = await withTaskGroup(of: (String, Result<[UInt8], RequestError>).self) { group in
            for call in calls {
                group.addTask {
                    do throws(RequestError) {
                        let value = try await self.call(call)
                        return (call.responseKey, .success(value))
                    } catch {
                        return (call.responseKey, .failure(error))
                    }
                }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        var values: [String: [UInt8]] = [:]
        for call in calls { values[call.responseKey] = try outcomes[call.responseKey]?.get() }
        return values
    }
}
