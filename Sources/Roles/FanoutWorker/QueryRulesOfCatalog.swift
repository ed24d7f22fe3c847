package import Catalog
package import LiveModel
import Operations
package import Refresh

extension Catalog {
    /// The compiled rules of a live query.
    /// - Throws: `.unavailable` when this node has the operation in another version: a rollout is under way.
    package func queryRules(of query: LiveQuery) throws(RequestError) -> QueryRules {
        guard let operation = operation(query.operation), operation.version == query.version else {
            throw RequestError(.unavailable, "the operation is not known here in this version")
        }
        return try operation.queryRules(of: query)
    }
}

extension CatalogSet {
    /// The compiled rules of a live query of any version that is served.
    /// - Throws: `.unavailable` when this node does not have its version, or no longer.
    package func queryRules(of query: LiveQuery) throws(RequestError) -> QueryRules {
        guard let operation = operation(query.operation, version: query.version) else {
            throw RequestError(.unavailable, "the operation is not known here in this version")
        }
        return try operation.queryRules(of: query)
    }
}

extension StoredOperation {
    fileprivate func queryRules(of query: LiveQuery) throws(RequestError) -> QueryRules {
        guard kind == .query else { throw RequestError(.badRequest, "\"\(reference.operation)\" is no query") }
        let auth = query.projectedAuth
        let triggers = refresh.triggers.map { trigger in
            Trigger(
                id: .init(operation: query.operation, version: query.version, number: trigger.index),
                mutation: trigger.mutation, condition: trigger.condition)
        }
        return QueryRules(
            triggers: triggers, lookupKeys: self.lookupKeys(variables: query.variables, auth: auth),
            everyMs: refresh.everyMs.map(Int64.init),
            request: RefreshRules.requestValue(variables: query.variables, projectedAuth: query.auth),
            asksOtherServers: hasRemoteFields || hasEmbeddings)
    }
}
