package import APINode
package import Catalog
import Clocks
package import Execution
package import Gateway
import JSON
package import LiveModel
import Logging
import NIOCore
import Observability
import Operations
import Recording
package import Sessions
import Synchronization
import Tracing

/// Finds, authenticates and runs operations for every route and session of a node. Requests use the current catalog, a
/// session the one that was current when it began.
package final class RequestExecutor: SessionRequestExecutor {
    private let parts: RequestParts
    private let version: ServedVersion
    /// The executor shared by all sessions that begin with the same catalog.
    private let latest = Mutex<RequestExecutor?>(nil)
    private let logger = Logger(label: "freshet.requests")

    /// Creates the executor of requests.
    package convenience init(_ parts: RequestParts) {
        self.init(parts, .current)
    }

    private init(_ parts: RequestParts, _ version: ServedVersion) {
        self.parts = parts
        self.version = version
    }

    package var clock: ServiceClock { parts.clock }
    package var quotas: QuotaGate { parts.quotas }
    package var invalidations: Invalidations { parts.invalidations() }

    var lookup: OperationLookup { version.lookup(parts.catalogs) }

    /// The names by which SQL Connect clients address this service.
    package var serviceIdentity: ServiceIdentity {
        let catalog = lookup.catalog
        return ServiceIdentity(
            service: catalog.serviceID, location: catalog.location, connectors: catalog.connectorIDs)
    }

    /// The version of the project that resolves requests.
    var projectVersion: Digest { lookup.version }

    /// Returns the executor of a session that begins now.
    /// - Parameter onFormer: called if the session uses an operation of a former version and so must reconnect when
    ///   that version ends.
    private func forSession(_ onFormer: @escaping @Sendable (Digest) -> Void) -> RequestExecutor {
        let snapshot = parts.catalogs.snapshot
        let current = snapshot.lookup
        if !snapshot.formers.isEmpty { return RequestExecutor(parts, .pinned(current, onFormer: onFormer)) }
        return latest.withLock { latest in
            if let latest, latest.projectVersion == current.version { return latest }
            let executor = RequestExecutor(parts, .pinned(current, onFormer: nil))
            latest = executor
            return executor
        }
    }

    /// Opens a session on its event loop: it keeps the current catalog to its end, and the registry knows it.
    /// - Parameters:
    ///   - peer: the client's address, for operators.
    ///   - client: what the client says it is, for operators.
    ///   - make: creates the session with its executor.
    func open<Session: ManagedSession>(
        _ permit: SessionPermit, on eventLoop: any EventLoop, peer: SocketAddress?, client: ClientDescription,
        _ make: (RequestExecutor) -> Session
    ) -> Session {
        let executor = forSession { permit.uses($0) }
        let session = make(executor)
        permit.register(session, on: eventLoop, peer: peer, client: client, version: executor.projectVersion)
        return session
    }

    package func resolve(
        _ request: OperationRequest, for identity: Identity, _ kinds: AllowedKinds = .all
    ) throws(RequestError) -> ResolvedOperation {
        var resolved = try resolve(request, auth: identity.auth, kinds)
        resolved.caller = identity.caller
        resolved.idempotencyKey = request.idempotencyKey
        return resolved
    }

    /// - Parameter isAdministrator: whether `@auth` does not apply.
    func resolve(
        _ request: OperationRequest, auth: Auth?, isAdministrator: Bool = false, _ kinds: AllowedKinds = .all
    ) throws(RequestError) -> ResolvedOperation {
        try parts.limits.check(request.variables)
        do throws(RequestError) {
            return try resolve(request, auth: auth, isAdministrator: isAdministrator, in: lookup, kinds)
        } catch {
            guard error.code == .operationNotFound, let former = try resolveFormer(request, auth: auth, kinds) else {
                throw error
            }
            return former
        }
    }

    private func resolve(
        _ request: OperationRequest, auth: Auth?, isAdministrator: Bool = false, in lookup: OperationLookup,
        _ kinds: AllowedKinds
    ) throws(RequestError) -> ResolvedOperation {
        if request.document == nil, let id = request.documentID, !lookup.knows(id.digest) { throw id.unknown }
        return try lookup.resolve(
            connector: request.connector, name: request.operationName, document: request.document,
            digest: request.documentID?.digest, variables: request.variables, auth: auth, nowMs: clock.nowMs(),
            kinds: kinds, isAdministrator: isAdministrator)
    }

    /// Resolves an administrator's ad-hoc operation.
    func resolveAdHoc(
        _ text: String, name: String?, variables: JSONObject, auth: Auth?
    ) throws(RequestError) -> ResolvedOperation {
        try parts.limits.check(variables)
        return try lookup.resolveAdHoc(text, name: name, variables: variables, auth: auth)
    }

    /// Resolves an operation in a former version. Clients built for it send its operations' text or digests, and get
    /// what they were built for while that version is served, if the current version still has the operation and would
    /// authorize it.
    private func resolveFormer(
        _ request: OperationRequest, auth: Auth?, _ kinds: AllowedKinds
    ) throws(RequestError) -> ResolvedOperation? {
        guard request.document != nil || request.documentID != nil, version.allowsFormers else { return nil }
        for former in parts.catalogs.snapshot.formers where former.version != lookup.version {
            let found: ResolvedOperation
            do throws(RequestError) {
                found = try resolve(request, auth: auth, in: former, kinds)
            } catch {
                if error.code == .operationNotFound { continue }
                throw error
            }
            guard let present = lookup.catalog.operation(found.operation.reference) else { continue }
            let coerced = try present.coerce(request.variables)
            if let refusal = present.authorize(auth: auth, variables: coerced, nowMs: clock.nowMs()) { throw refusal }
            version.usedFormer(former.version)
            return found
        }
        return nil
    }

    package func authenticate(_ credentials: Credentials) async throws(RequestError) -> Identity {
        let identity = try await parts.authenticator.authenticate(credentials)
        if let refusal = refusal(of: identity) { throw refusal }
        return identity
    }

    /// Runs `work` in a task with the sender's identity, as a request in flight of this node, of its address and of its
    /// user: counted before any work is done for it until the work is over. Used by every protocol that answers one
    /// request at a time.
    /// - Parameters:
    ///   - address: nil if addresses are unknown or not counted.
    ///   - failed: sends the error response; called at most once.
    func withRequest(
        _ credentials: Credentials, from address: QuotaSubject?, traceID: String,
        on taskExecutor: (any TaskExecutor)?,
        _ work: @escaping @Sendable (Identity) async throws(RequestError) -> Void,
        failed: @escaping @Sendable (RequestError) -> Void
    ) {
        withRequest(
            { () async throws(RequestError) in try await self.authenticate(credentials) }, from: address,
            traceID: traceID, on: taskExecutor, work, failed: failed)
    }

    /// Runs `work` for a sender who is authenticated already.
    func withRequest(
        _ identity: Identity, from address: QuotaSubject?, traceID: String, on taskExecutor: (any TaskExecutor)?,
        _ work: @escaping @Sendable (Identity) async throws(RequestError) -> Void,
        failed: @escaping @Sendable (RequestError) -> Void
    ) {
        withRequest(
            { () async throws(RequestError) in identity }, from: address, traceID: traceID, on: taskExecutor, work,
            failed: failed)
    }

    private func withRequest(
        _ sender: @escaping @Sendable () async throws(RequestError) -> Identity, from address: QuotaSubject?,
        traceID: String, on taskExecutor: (any TaskExecutor)?,
        _ work: @escaping @Sendable (Identity) async throws(RequestError) -> Void,
        failed: @escaping @Sendable (RequestError) -> Void
    ) {
        do throws(RequestError) {
            try quotas.beginRequest()
        } catch {
            return failed(error)
        }
        Task(executorPreference: taskExecutor) { [self] in
            do throws(RequestError) {
                let identity = try await sender()
                let subjects = identity.subjects(at: address)
                try quotas.acquire(.request, for: subjects)
                defer { quotas.release(.request, for: subjects) }
                try await work(quotas.charge(identity, at: address))
            } catch {
                if error.code == .internalError, error.cause == nil {
                    logger.error("request failed", metadata: ["trace": "\(traceID)", "error": "\(error.message)"])
                }
                failed(error)
            }
            quotas.endRequest()
        }
    }

    package func refusal(of identity: Identity) -> RequestError? { parts.authenticator.refusal(of: identity) }

    /// Runs a query once.
    /// - Throws: `.payloadTooLarge`, as for subscribers; errors of the database.
    package func read(
        _ resolved: ResolvedOperation, traceID: String
    ) async throws(RequestError) -> QueryExecutor.Result {
        let result: QueryExecutor.Result
        let startNs = MonotonicClock.nowNs()
        defer { count(resolved, since: startNs) }
        do throws(RequestError) {
            let isCalling = resolved.operation.hasRemoteFields
            let trace = isCalling ? TraceID(hex: traceID).map { TraceParent(traceID: $0, isSampled: false) } : nil
            result = try await ServiceContext.within(trace) { () async throws(RequestError) in
                try await parts.queries.run(
                    resolved.operation, variables: resolved.variables, auth: resolved.auth, caller: resolved.caller)
            }
        } catch {
            report(error, resolved, traceID)
            throw error
        }
        guard result.answer.byteCount <= parts.resultBytesMax else {
            throw RequestError(.payloadTooLarge, "the result is larger than \(parts.resultBytesMax) bytes")
        }
        return result
    }

    /// Runs a mutation.
    package func mutate(
        _ resolved: ResolvedOperation, traceID: String
    ) async throws(RequestError) -> MutationExecutor.Outcome {
        guard parts.isAPI else { throw RequestError.runsNoMutations }
        let startNs = MonotonicClock.nowNs()
        defer { count(resolved, since: startNs) }
        do throws(RequestError) {
            var outcome = try await parts.mutations.execute(resolved, traceID: traceID)
            for error in outcome.errors { report(error, resolved, traceID) }
            let isOpen = parts.disclosesConstraints || resolved.isForAdministrator
            outcome.errors = outcome.errors.map { $0.disclosingViolation(everything: isOpen) }
            outcome.failure = outcome.failure?.disclosingViolation(everything: isOpen)
            return outcome
        } catch {
            report(error, resolved, traceID)
            throw error
        }
    }

    private func count(_ resolved: ResolvedOperation, since startNs: UInt64) {
        parts.meter.ran(resolved.operation.reference, micros: (MonotonicClock.nowNs() - startNs) / 1_000)
    }

    /// Logs the cause of an error, which the client does not see.
    private func report(_ error: RequestError, _ resolved: ResolvedOperation, _ traceID: String) {
        parts.failures.requestFailed(
            error, of: resolved.operation.reference, traceID: traceID, nowMs: parts.clock.nowMs())
    }

    /// The answer to an operation that ran once.
    struct OneShotAnswer: Sendable {
        let answer: OperationAnswer
        /// The id of the event that a mutation committed; nil of a query.
        let position: String?
    }

    /// Runs a query or a mutation once.
    func runOnce(_ resolved: ResolvedOperation, traceID: String) async throws(RequestError) -> OneShotAnswer {
        switch resolved.operation.kind {
        case .query:
            return OneShotAnswer(answer: try await read(resolved, traceID: traceID).answer, position: nil)
        case .mutation:
            let outcome = try await mutate(resolved, traceID: traceID)
            return OneShotAnswer(
                answer: OperationAnswer(body: outcome.body, errors: outcome.errors), position: outcome.position)
        }
    }

    package func answer(
        _ resolved: ResolvedOperation, traceID: String
    ) async throws(RequestError) -> OperationAnswer {
        try await runOnce(resolved, traceID: traceID).answer
    }

    /// Whether a mutation whose client asks for it is traced now.
    func mayTrace() -> Bool { parts.recorder?.traces(isWanted: true, nowMs: clock.nowMs()) ?? false }

    package func makeTraceID() -> String { TraceID().description }
}
