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
    private let resolver: OperationResolver
    private let authenticator: any Authenticator
    private let queries: QueryExecutor
    private let mutations: MutationService

    package init(
        clock: ServiceClock, resolver: OperationResolver, authenticator: any Authenticator, queries: QueryExecutor,
        mutations: MutationService
    ) {
        self.clock = clock
        self.resolver = resolver
        self.authenticator = authenticator
        self.queries = queries
        self.mutations = mutations
    }

    package func resolve(_ request: OperationRequest, auth: Auth?) throws(RequestError) -> ResolvedOperation {
        try resolver.resolve(
            connector: request.connector, name: request.operationName, document: request.document,
            variables: request.variables, auth: auth, nowMs: clock.nowMs())
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
    ) async throws(RequestError) -> (body: [UInt8], errors: [RequestError]) {
        try await mutations.execute(resolved, traceID: traceID)
    }

    package func runOnce(_ resolved: ResolvedOperation, traceID: String) async throws(RequestError) -> [UInt8] {
        switch resolved.operation.kind {
        case .query: return ResultEnvelope.data(try await read(resolved).body)
        case .mutation:
            let (body, errors) = try await mutate(resolved, traceID: traceID)
            return errors.isEmpty ? ResultEnvelope.data(body) : ResultEnvelope.errors(errors, body: body)
        }
    }

    package func makeTraceID() -> String { TraceID().description }
}
