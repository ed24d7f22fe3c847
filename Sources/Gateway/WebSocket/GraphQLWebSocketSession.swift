internal import Catalog
package import Execution
package import HTTPServer
internal import GraphQLLanguage
internal import JSON
package import LiveModel
package import NIOCore
package import Sessions

/// What the sessions of a node share.
package protocol SessionServices: AnyObject, Sendable {
    var clock: ServiceClock { get }
    /// - Throws: `.operationNotFound`, `.invalidVariable`, `.permissionDenied`, …
    func resolve(_ request: OperationRequest, auth: Auth?) throws(RequestError) -> ResolvedOperation
    func authenticate(bearer: String?) async throws(RequestError) -> Identity
    /// Runs a query or a mutation once; the whole answer, `{"data":…}`.
    func runOnce(_ resolved: ResolvedOperation, traceID: String) async throws(RequestError) -> [UInt8]
    func makeTraceID() -> String
}

/// Bounds of one session.
package struct SessionLimits: Sendable {
    package var operationsMax = 100
    /// Results held for a client that does not read.
    package var bytesMax = 1 << 20
    package var initTimeoutMs: Int64 = 10_000

    package init() {}
}

/// One `graphql-transport-ws` connection: performs what its machine asks for. Lives on the connection's event loop.
package final class GraphQLWebSocketSession: WebSocketHandler, LiveSession {
    private struct Live {
        let handle: LoopHub.Handle
        /// Kept where the authorization can change with time alone.
        let rechecked: ResolvedOperation?
    }

    private let connection: WebSocketConnection
    private let services: any SessionServices
    private let hub: LoopHub
    private var machine: GraphQLTransportWSMachine
    private var outbox: DeliveryOutbox<SharedResult>
    private var live: [String: Live] = [:]
    /// One-shot operations under way. The number tells a reused id from its former use.
    private var tasks: [String: (number: UInt64, task: Task<Void, Never>)] = [:]
    private var startedCount: UInt64 = 0
    private var identity = Identity.signedOut
    /// A token that came with the upgrade; `connection_init` may bring another.
    private let upgradeBearer: String?
    private var initTimeout: Scheduled<Void>?
    private var expiry: Scheduled<Void>?
    private var isClosed = false
    private let onClosed: () -> Void

    package init(
        connection: WebSocketConnection, services: any SessionServices, hub: LoopHub, limits: SessionLimits,
        upgradeBearer: String?, onClosed: @escaping () -> Void
    ) {
        self.connection = connection
        self.services = services
        self.hub = hub
        self.machine = GraphQLTransportWSMachine(operationsMax: limits.operationsMax)
        self.outbox = DeliveryOutbox(bytesMax: limits.bytesMax)
        self.upgradeBearer = upgradeBearer
        self.onClosed = onClosed
        let bound = NIOLoopBound(self, eventLoop: connection.eventLoop)
        initTimeout = connection.eventLoop.scheduleTask(in: .milliseconds(limits.initTimeoutMs)) {
            let session = bound.value
            session.initTimeout = nil
            session.perform(session.machine.initTimedOut())
        }
    }

    // MARK: WebSocketHandler

    package func received(text: ByteBuffer) {
        perform(machine.received(Array(text.readableBytesView)))
    }

    package func received(binary: ByteBuffer) {
        perform(machine.close(4400, "Invalid message received"))
    }

    package func closed(code: UInt16?) {
        guard !isClosed else { return }
        isClosed = true
        initTimeout?.cancel()
        expiry?.cancel()
        initTimeout = nil
        expiry = nil
        for entry in live.values { hub.unsubscribe(entry.handle) }
        live = [:]
        for entry in tasks.values { entry.task.cancel() }
        tasks = [:]
        onClosed()
    }

    package func writabilityChanged(pendingBytes: Int) {
        guard pendingBytes == 0 else { return }
        connection.gathered {
            while connection.pendingBytes == 0, let (id, shared) = outbox.next() {
                shared.sendNext(id: id, on: connection)
            }
        }
    }

    package var subscriptionCount: Int { live.count }

    /// The node drains: the client is to come back elsewhere.
    package func goAway() {
        perform(machine.close(1001, "Going away"))
    }

    // MARK: LiveSession

    package func deliver(_ delivery: SessionDelivery, id: String) {
        guard machine.isActive(id) else { return }
        if let resolved = live[id]?.rechecked,
            let refusal = resolved.operation.authorize(
                auth: resolved.auth, variables: resolved.variables, nowMs: services.clock.nowMs())
        {
            stop(id)
            perform(machine.failed(id: id, [refusal]))
            return
        }
        switch delivery {
        case .result(let shared):
            switch outbox.offer(
                shared, id: id, bytes: shared.byteCount, unwrittenBytes: connection.pendingBytes)
            {
            case .write: shared.sendNext(id: id, on: connection)
            case .hold: break
            case .close: perform(machine.close(1013, "The client reads too slowly, try again later"))
            }
        case .failed(let error):
            outbox.discard(id: id)
            perform(machine.refreshFailed(id: id, [error]))
        }
    }

    // MARK: Actions

    private func perform(_ actions: [GraphQLTransportWSMachine.Action]) {
        for action in actions {
            switch action {
            case .send(let bytes): connection.send(text: ByteBuffer(bytes: bytes))
            case .close(let code, let reason): connection.close(code: code, reason: reason)
            case .authenticate(let payload): authenticate(payload)
            case .start(let id, let request): start(id, request)
            case .stop(let id): stop(id)
            }
        }
    }

    private func authenticate(_ payload: JSONObject) {
        initTimeout?.cancel()
        initTimeout = nil
        let bearer = BearerToken.inPayload(payload) ?? upgradeBearer
        let services = self.services
        onLoop(
            { () async throws(RequestError) in try await services.authenticate(bearer: bearer) },
            then: { session, outcome in
                switch outcome {
                case .success(let identity):
                    session.identity = identity
                    session.armExpiry()
                    session.perform(session.machine.authenticated())
                case .failure: session.perform(session.machine.rejected())
                }
            })
    }

    /// The token runs out: nothing is delivered on it afterwards. The client retries 4403 with a new one.
    private func armExpiry() {
        guard let expiresAtMs = identity.expiresAtMs else { return }
        let bound = NIOLoopBound(self, eventLoop: connection.eventLoop)
        let delayMs = max(0, expiresAtMs - services.clock.nowMs())
        expiry = connection.eventLoop.scheduleTask(in: .milliseconds(delayMs)) {
            let session = bound.value
            session.expiry = nil
            let error = RequestError(.unauthenticated, "the token has expired")
            for id in session.live.keys.sorted() {
                session.stop(id)
                session.perform(session.machine.failed(id: id, [error]))
            }
            session.perform(session.machine.close(4403, "Token expired"))
        }
    }

    private func start(_ id: String, _ request: OperationRequest) {
        do {
            let resolved = try services.resolve(request, auth: identity.auth)
            if resolved.operation.kind == .query, resolved.wantedKind != .query {
                let rechecked = resolved.operation.auth.readsRequestTime ? resolved : nil
                // Registered before the first delivery, which may come inside the call.
                let handle = try hub.subscribe(self, id: id, query: resolved.liveQuery, known: request.known)
                live[id] = Live(handle: handle, rechecked: rechecked)
                return
            }
            let services = self.services
            let traceID = services.makeTraceID()
            startedCount += 1
            let number = startedCount
            let task = onLoop(
                { () async throws(RequestError) in try await services.runOnce(resolved, traceID: traceID) },
                then: { session, outcome in
                    guard session.tasks[id]?.number == number else { return }
                    session.tasks[id] = nil
                    switch outcome {
                    case .success(let envelope): session.perform(session.machine.finished(id: id, envelope: envelope))
                    case .failure(let error): session.perform(session.machine.failed(id: id, [error]))
                    }
                })
            tasks[id] = (number, task)
        } catch {
            perform(machine.failed(id: id, [error]))
        }
    }

    private func stop(_ id: String) {
        outbox.discard(id: id)
        if let entry = live.removeValue(forKey: id) { hub.unsubscribe(entry.handle) }
        // A mutation that runs is not undone; only its answer is dropped.
        tasks[id] = nil
    }

    /// Runs `work` in a task and hands its outcome to `then` on it, unless the connection is gone by then.
    @discardableResult
    private func onLoop<Success: Sendable>(
        _ work: @escaping @Sendable () async throws(RequestError) -> Success,
        then: @escaping (GraphQLWebSocketSession, Result<Success, RequestError>) -> Void
    ) -> Task<Void, Never> {
        let eventLoop = connection.eventLoop
        let bound = NIOLoopBound((self, then), eventLoop: eventLoop)
        return Task(executorPreference: connection.taskExecutor) {
            let outcome: Result<Success, RequestError>
            do throws(RequestError) {
                outcome = .success(try await work())
            } catch {
                outcome = .failure(error)
            }
            eventLoop.execute {
                let (session, then) = bound.value
                if !session.isClosed { then(session, outcome) }
            }
        }
    }
}
