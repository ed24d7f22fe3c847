package import APINode
package import Catalog
package import Execution
package import Gateway
package import JSON
package import LiveModel
internal import Observability
package import Sessions

/// Finds, authenticates and runs operations for every route and session of a node.
package final class NodeServices: SessionServices {
    package let clock: ServiceClock
    /// What SQL Connect clients have to call this service.
    package let serviceIdentity: ServiceIdentity
    private let resolver: OperationResolver
    private let authenticator: any Authenticator
    private let queries: QueryExecutor
    private let mutations: MutationService
    private let isAPI: Bool
    private let limits: VariableLimits

    package init(
        clock: ServiceClock, resolver: OperationResolver, authenticator: any Authenticator, queries: QueryExecutor,
        mutations: MutationService, isAPI: Bool, limits: VariableLimits
    ) {
        self.isAPI = isAPI
        serviceIdentity = ServiceIdentity(
            service: resolver.catalog.serviceID, location: resolver.catalog.location,
            connectors: Set(resolver.catalog.connectors.keys))
        self.limits = limits
        self.clock = clock
        self.resolver = resolver
        self.authenticator = authenticator
        self.queries = queries
        self.mutations = mutations
    }

    package func resolve(_ request: OperationRequest, auth: Auth?) throws(RequestError) -> ResolvedOperation {
        try limits.check(request.variables)
        if request.document == nil, let id = request.documentID, !resolver.knows(id.digest) { throw id.unknown }
        return try resolver.resolve(
            connector: request.connector, name: request.operationName, document: request.document,
            digest: request.documentID?.digest, variables: request.variables, auth: auth, nowMs: clock.nowMs())
    }

    package func authenticate(bearer: String?) async throws(RequestError) -> Identity {
        guard let bearer, !bearer.isEmpty else { return .signedOut }
        return try await authenticator.authenticate(bearer: bearer)
    }

    /// One-shot read of a query.
    package func read(_ resolved: ResolvedOperation) async throws(RequestError) -> QueryExecutor.Result {
        try await queries.run(resolved.operation, variables: resolved.variables, auth: resolved.auth)
    }

    package func mutate(
        _ resolved: ResolvedOperation, traceID: String
    ) async throws(RequestError) -> MutationExecutor.Outcome {
        guard isAPI else { throw RequestError(.notFound, "this node runs no mutations (role api)") }
        return try await mutations.execute(resolved, traceID: traceID)
    }

    package func runOnce(_ resolved: ResolvedOperation, traceID: String) async throws(RequestError) -> [UInt8] {
        try await answer(resolved, traceID: traceID).envelope
    }

    /// Runs a query or a mutation once.
    package func answer(
        _ resolved: ResolvedOperation, traceID: String
    ) async throws(RequestError) -> OperationAnswer {
        switch resolved.operation.kind {
        case .query:
            let result = try await read(resolved)
            return OperationAnswer(body: result.body, entities: result.entities)
        case .mutation:
            let outcome = try await mutate(resolved, traceID: traceID)
            return OperationAnswer(body: outcome.body, errors: outcome.errors)
        }
    }

    package func makeTraceID() -> String { TraceID().description }
}
