package import LiveModel
import Operations
package import Refresh

extension StoredOperation {
    /// Returns the compiled rules of a live query of this operation.
    /// - Throws: `.badRequest` for a mutation.
    package func queryRules(of query: LiveQuery) throws(RequestError) -> QueryRules {
        guard kind == .query else { throw RequestError(.badRequest, "\"\(reference.operation)\" is not a query") }
        let auth = query.projectedAuth
        let triggers = refresh.triggers.map { trigger in
            Trigger(
                id: .init(operation: query.operation, version: query.version, number: trigger.index),
                mutation: trigger.mutation, condition: trigger.condition)
        }
        return QueryRules(
            triggers: triggers, lookupKeys: self.lookupKeys(variables: query.variables, auth: auth),
            everyMs: refresh.everyMs.map(Int64.init),
            automatic: automaticRules(variables: query.variables, auth: auth),
            request: RefreshRules.requestValue(variables: query.variables, projectedAuth: query.auth),
            otherServers: resolverAddresses + (hasEmbeddings ? ["embeddings"] : []))
    }
}

extension CatalogSet {
    /// Returns the compiled rules of a live query of any version that is served.
    /// - Throws: `.unavailable` if this node does not, or no longer, serve its version: a rollout is in progress.
    package func queryRules(of query: LiveQuery) throws(RequestError) -> QueryRules {
        guard let operation = operation(query.operation, version: query.version) else { throw .versionNotServed }
        return try operation.queryRules(of: query)
    }
}
