package import APINode
package import Catalog
package import Execution
package import Gateway
import JSON
package import LiveModel
import Logging
import Observability
import Operations
package import Sessions
import Synchronization

/// Finds, authenticates and runs operations for every route and session of a node: for a request by the current catalog,
/// for a session by the one that was current when it began.
package final class RequestExecutor: SessionRequestExecutor {
    package let clock: ServiceClock
    package let quotas: QuotaGate
    private let catalogs: ServedCatalogs
    /// What a session keeps; nil for requests.
    private let pinned: OperationLookup?
    /// Called when an operation resolves in a previous project version; nil where no previous version was served when
    /// the session began.
    private let onFormer: (@Sendable (Digest) -> Void)?
    /// One for all sessions that begin with the same catalog.
    private let latest = Mutex<RequestExecutor?>(nil)
    private let authenticator: any Authenticator
    private let queries: QueryExecutor
    private let mutations: MutationService
    private let isAPI: Bool
    private let limits: VariableLimits
    private let resultBytesMax: Int
    private let logger = Logger(label: "freshet.endpoint")

    package init(
        clock: ServiceClock, catalogs: ServedCatalogs, authenticator: any Authenticator, queries: QueryExecutor,
        mutations: MutationService, isAPI: Bool, limits: VariableLimits, resultBytesMax: Int = .max,
        quotas: QuotaGate = QuotaGate(),
        pinned: OperationLookup? = nil, onFormer: (@Sendable (Digest) -> Void)? = nil
    ) {
        self.quotas = quotas
        self.pinned = pinned
        self.onFormer = onFormer
        self.isAPI = isAPI
        self.limits = limits
        self.resultBytesMax = resultBytesMax
        self.clock = clock
        self.catalogs = catalogs
        self.authenticator = authenticator
        self.queries = queries
        self.mutations = mutations
    }

    var resolver: OperationLookup { pinned ?? catalogs.snapshot.resolver }

    /// What SQL Connect clients have to call this service.
    package var serviceIdentity: ServiceIdentity {
        let catalog = resolver.catalog
        return ServiceIdentity(
            service: catalog.serviceID, location: catalog.location, connectors: Set(catalog.connectors.keys))
    }

    /// Of the project that requests are resolved by.
    var projectVersion: Digest { resolver.version }

    /// For a session that begins now.
    /// - Parameter onFormer: the session uses an operation of this former version, too, and so has to come back when that
    ///   ends.
    func forSession(_ onFormer: @escaping @Sendable (Digest) -> Void) -> RequestExecutor {
        let snapshot = catalogs.snapshot
        let current = snapshot.resolver
        if !snapshot.formers.isEmpty {
            return RequestExecutor(
                clock: clock, catalogs: catalogs, authenticator: authenticator, queries: queries,
                mutations: mutations, isAPI: isAPI, limits: limits, resultBytesMax: resultBytesMax, quotas: quotas,
                pinned: current, onFormer: onFormer)
        }
        return latest.withLock { latest in
            if let latest, latest.projectVersion == current.version { return latest }
            let executor = RequestExecutor(
                clock: clock, catalogs: catalogs, authenticator: authenticator, queries: queries,
                mutations: mutations, isAPI: isAPI, limits: limits, resultBytesMax: resultBytesMax, quotas: quotas,
                pinned: current)
            latest = executor
            return executor
        }
    }

    package func resolve(
        _ request: OperationRequest, auth: Auth?, _ kinds: AllowedKinds = .all
    ) throws(RequestError) -> ResolvedOperation {
        try limits.check(request.variables)
        do throws(RequestError) {
            return try resolve(request, auth: auth, by: resolver, kinds)
        } catch {
            guard error.code == .operationNotFound, let former = try resolveFormer(request, auth: auth, kinds) else {
                throw error
            }
            return former
        }
    }

    private func resolve(
        _ request: OperationRequest, auth: Auth?, by resolver: OperationLookup, _ kinds: AllowedKinds
    ) throws(RequestError) -> ResolvedOperation {
        if request.document == nil, let id = request.documentID, !resolver.knows(id.digest) { throw id.unknown }
        return try resolver.resolve(
            connector: request.connector, name: request.operationName, document: request.document,
            digest: request.documentID?.digest, variables: request.variables, auth: auth, nowMs: clock.nowMs(),
            kinds: kinds)
    }

    /// A text of an administrator's.
    func resolveAdHoc(
        _ text: String, name: String?, variables: JSONObject, auth: Auth?
    ) throws(RequestError) -> ResolvedOperation {
        try limits.check(variables)
        return try resolver.resolveAdHoc(text, name: name, variables: variables, auth: auth)
    }

    /// A client that was built for a former version sends its texts or their digests: it gets what it was built for while
    /// that version is in service, if the operation is still there and would let it in today, too.
    private func resolveFormer(
        _ request: OperationRequest, auth: Auth?, _ kinds: AllowedKinds
    ) throws(RequestError) -> ResolvedOperation? {
        guard request.document != nil || request.documentID != nil, pinned == nil || onFormer != nil else { return nil }
        for former in catalogs.snapshot.formers where former.version != resolver.version {
            let found: ResolvedOperation
            do throws(RequestError) {
                found = try resolve(request, auth: auth, by: former, kinds)
            } catch {
                if error.code == .operationNotFound { continue }
                throw error
            }
            guard let present = resolver.catalog.operation(found.operation.reference) else { continue }
            let coerced = try present.coerce(request.variables)
            if let refusal = present.authorize(auth: auth, variables: coerced, nowMs: clock.nowMs()) { throw refusal }
            onFormer?(former.version)
            return found
        }
        return nil
    }

    package func authenticate(_ credentials: Credentials) async throws(RequestError) -> Identity {
        let identity = try await authenticator.authenticate(credentials)
        if let refusal = refusal(of: identity) { throw refusal }
        return identity
    }

    /// Runs `work` in a task with the sender's identity, as one of the requests in flight of this node, of its address and
    /// of its user: counted before anything is done for it, until the work is over. The same for every protocol that
    /// answers a request at a time.
    /// - Parameters:
    ///   - address: nil where addresses are not known or not counted.
    ///   - failed: answers the request; called at most once.
    func withRequest(
        _ credentials: Credentials, from address: QuotaSubject?, traceID: String,
        on taskExecutor: (any TaskExecutor)?,
        _ work: @escaping @Sendable (Identity) async throws(RequestError) -> Void,
        failed: @escaping @Sendable (RequestError) -> Void
    ) {
        do throws(RequestError) {
            try quotas.enterRequest()
        } catch {
            return failed(error)
        }
        Task(executorPreference: taskExecutor) { [self] in
            do throws(RequestError) {
                let identity = try await authenticate(credentials)
                let subjects = (address.map { [$0] } ?? []) + identity.subjects
                try quotas.acquire(.request, for: subjects)
                defer { quotas.release(.request, for: subjects) }
                try await work(identity)
            } catch {
                if error.code == .internalError, error.cause == nil {
                    logger.error("request failed", metadata: ["trace": "\(traceID)", "error": "\(error.message)"])
                }
                failed(error)
            }
            quotas.leaveRequest()
        }
    }

    package func refusal(of identity: Identity) -> RequestError? { authenticator.refusal(of: identity) }

    /// One-shot read of a query.
    /// - Throws: `.payloadTooLarge`, as who follows it is told; what the database refused.
    package func read(
        _ resolved: ResolvedOperation, traceID: String
    ) async throws(RequestError) -> QueryExecutor.Result {
        let result: QueryExecutor.Result
        do throws(RequestError) {
            result = try await queries.run(resolved.operation, variables: resolved.variables, auth: resolved.auth)
        } catch {
            report(error, resolved, traceID)
            throw error
        }
        guard result.answer.byteCount <= resultBytesMax else {
            throw RequestError(.payloadTooLarge, "the result is larger than \(resultBytesMax) bytes")
        }
        return result
    }

    package func mutate(
        _ resolved: ResolvedOperation, traceID: String
    ) async throws(RequestError) -> MutationExecutor.Outcome {
        guard isAPI else { throw RequestError(.notFound, "this node runs no mutations (role api)") }
        do throws(RequestError) {
            let outcome = try await mutations.execute(resolved, traceID: traceID)
            for error in outcome.errors { report(error, resolved, traceID) }
            return outcome
        } catch {
            report(error, resolved, traceID)
            throw error
        }
    }

    /// What the client is not told.
    private func report(_ error: RequestError, _ resolved: ResolvedOperation, _ traceID: String) {
        guard let cause = error.cause else { return }
        logger.error(
            "operation failed",
            metadata: ["trace": "\(traceID)", "operation": "\(resolved.operation.reference)", "cause": "\(cause)"])
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
            return try await read(resolved, traceID: traceID).answer
        case .mutation:
            let outcome = try await mutate(resolved, traceID: traceID)
            return OperationAnswer(body: outcome.body, errors: outcome.errors)
        }
    }

    package func makeTraceID() -> String { TraceID().description }
}
