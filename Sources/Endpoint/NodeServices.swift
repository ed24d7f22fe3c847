package import APINode
internal import Catalog
package import Execution
package import Gateway
package import JSON
package import LiveModel
internal import Observability
package import Sessions
internal import Synchronization

/// Finds, authenticates and runs operations for every route and session of a node: for a request by the current catalog,
/// for a session by the one that was current when it began.
package final class NodeServices: SessionServices {
    package let clock: ServiceClock
    package let parties: Parties
    private let catalogs: ServedCatalogs
    /// What a session keeps; nil for requests.
    private let pinned: OperationResolver?
    /// One for all sessions that begin with the same catalog.
    private let latest = Mutex<NodeServices?>(nil)
    private let authenticator: any Authenticator
    private let queries: QueryExecutor
    private let mutations: MutationService
    private let isAPI: Bool
    private let limits: VariableLimits

    package init(
        clock: ServiceClock, catalogs: ServedCatalogs, authenticator: any Authenticator, queries: QueryExecutor,
        mutations: MutationService, isAPI: Bool, limits: VariableLimits, parties: Parties = Parties(),
        pinned: OperationResolver? = nil
    ) {
        self.parties = parties
        self.pinned = pinned
        self.isAPI = isAPI
        self.limits = limits
        self.clock = clock
        self.catalogs = catalogs
        self.authenticator = authenticator
        self.queries = queries
        self.mutations = mutations
    }

    var resolver: OperationResolver { pinned ?? catalogs.snapshot.resolver }

    /// What SQL Connect clients have to call this service.
    package var serviceIdentity: ServiceIdentity {
        let catalog = resolver.catalog
        return ServiceIdentity(
            service: catalog.serviceID, location: catalog.location, connectors: Set(catalog.connectors.keys))
    }

    /// Of the project that requests are resolved by.
    var projectVersion: Digest { resolver.version }

    /// For a session that begins now.
    func forSession() -> NodeServices {
        let current = catalogs.snapshot.resolver
        return latest.withLock { latest in
            if let latest, latest.projectVersion == current.version { return latest }
            let services = NodeServices(
                clock: clock, catalogs: catalogs, authenticator: authenticator, queries: queries,
                mutations: mutations, isAPI: isAPI, limits: limits, parties: parties,
                pinned: current)
            latest = services
            return services
        }
    }

    package func resolve(_ request: OperationRequest, auth: Auth?) throws(RequestError) -> ResolvedOperation {
        try limits.check(request.variables)
        if request.document == nil, let id = request.documentID, !resolver.knows(id.digest) { throw id.unknown }
        return try resolver.resolve(
            connector: request.connector, name: request.operationName, document: request.document,
            digest: request.documentID?.digest, variables: request.variables, auth: auth, nowMs: clock.nowMs())
    }

    /// A text of an administrator's.
    func resolveAdHoc(
        _ text: String, name: String?, variables: JSONObject, auth: Auth?
    ) throws(RequestError) -> ResolvedOperation {
        try limits.check(variables)
        return try resolver.resolveAdHoc(text, name: name, variables: variables, auth: auth)
    }

    package func authenticate(_ credentials: Credentials) async throws(RequestError) -> Identity {
        let identity = try await authenticator.authenticate(credentials)
        if let refusal = refusal(of: identity) { throw refusal }
        return identity
    }

    package func refusal(of identity: Identity) -> RequestError? { authenticator.refusal(of: identity) }

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
