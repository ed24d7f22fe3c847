import Catalog
package import Execution
package import HTTPServer
package import LiveModel
package import NIOCore
package import NIOHTTP1
import Operations
package import Sessions

/// The session of graphql-sse's single connection mode. Belongs to the event loop of the request that reserved it; the
/// stream and the requests that start operations may be on other loops and switch to this one by `onLoop`.
///
/// `@unchecked Sendable`: everything mutable is touched on `eventLoop` only.
package final class SharedStreamSession: LiveSession, @unchecked Sendable {
    /// The request that started a followed operation.
    private struct Requester {
        let identity: Identity
        let expiry: Scheduled<Void>?
    }

    package let eventLoop: any EventLoop
    /// Resolves operations by the project version that was current when the session began.
    package let executor: any SessionRequestExecutor
    private let limits: SessionLimits
    private var machine: SharedStreamMachine
    private var exchange: HTTPExchange?
    private var operations: LiveOperations
    /// The requester of each followed operation.
    private var requesters: [String: Requester] = [:]
    private var timers = SessionTimers()
    private var isOver = false
    private let address: QuotaSubject?
    private let permit: SessionPermit
    private let onClosed: () -> Void

    /// Creates a session; call on the hub's event loop.
    package init(
        executor: any SessionRequestExecutor, hub: LoopHub, limits: SessionLimits, address: QuotaSubject?,
        permit: SessionPermit, onClosed: @escaping () -> Void
    ) {
        self.address = address
        self.eventLoop = hub.eventLoop
        self.executor = executor
        self.limits = limits
        self.machine = SharedStreamMachine(operationsMax: limits.operationsMax, bytesMax: limits.bytesMax)
        self.operations = LiveOperations(
            hub: hub, executor: executor, limits: limits, executesMax: limits.operationsMax)
        self.permit = permit
        self.onClosed = onClosed
        timers.opening = hub.eventLoop.scheduleTask(in: .milliseconds(limits.initTimeoutMs)) { self.close() }
    }

    private func onLoop(_ body: @escaping @Sendable () -> Void) {
        if eventLoop.inEventLoop { body() } else { eventLoop.execute(body) }
    }

    // MARK: Requests; from any thread

    /// Makes a request's response the stream.
    /// - Parameter refuse: called if that is impossible: with true if the stream is already open, with false if it is
    ///   gone.
    package func open(_ exchange: HTTPExchange, headers: HTTPHeaders, refuse: @escaping @Sendable (Bool) -> Void) {
        onLoop { self.openNow(exchange, headers, refuse) }
    }

    /// Starts an operation. Returns when the request is finished; a one-shot operation has then finished, even if
    /// nothing waits for it.
    /// - Parameter answer: called once, on the event loop.
    package func start(
        _ id: String, _ resolved: ResolvedOperation, follow: Bool, identity: Identity, known: KnownResult?,
        answer: @escaping @Sendable (SharedStreamMachine.Start) -> Void
    ) async {
        let task = await withCheckedContinuation { continuation in
            onLoop { continuation.resume(returning: self.startNow(id, resolved, follow, identity, known, answer)) }
        }
        await task?.value
    }

    /// Answers an operation that needs no run.
    /// - Parameter answer: called once, on the event loop, before the result is written.
    package func answer(
        _ id: String, _ envelope: [UInt8], identity: Identity,
        answer: @escaping @Sendable (SharedStreamMachine.Start) -> Void
    ) {
        onLoop {
            let start = self.executor.refusal(of: identity).map { .refused($0) } ?? self.machine.start(id: id)
            answer(start)
            if start == .started { self.write(self.machine.finished(id: id, envelope: envelope)) }
        }
    }

    package func stop(_ id: String) {
        onLoop { if self.machine.stop(id: id) { self.drop(id) } }
    }

    /// Ends the stream, so that the client reconnects elsewhere.
    package func goAway() {
        exchange?.end()
        close()
    }

    package var observed: ObservedSession? {
        ObservedSession(id: permit.id, uid: uid, isBehind: (exchange?.pendingBytes ?? 0) > 0)
    }

    /// The user of all operations; empty if there are several, or none.
    private var uid: String {
        let users = Set(requesters.values.map { $0.identity.auth?.uid ?? "" })
        return users.count == 1 ? users.first ?? "" : ""
    }

    package var inspection: SessionInspection {
        SessionInspection(
            uid: uid, expiresAtMs: requesters.values.compactMap(\.identity.expiresAtMs).min(),
            pendingBytes: exchange?.pendingBytes ?? 0, queuedResults: operations.queuedCount,
            subscriptions: operations.inspections)
    }

    package var protocolName: String { "graphql-sse single" }
    package var user: String? {
        let users = Set(requesters.values.map(\.identity.userName))
        return users.count == 1 ? users.first ?? nil : nil
    }
    package func followedKeys(max: Int) -> [LiveQueryKey] { operations.followedKeys(max: max) }
    package var subscriptionCount: Int { operations.followedCount }

    // MARK: On the loop

    private func openNow(
        _ exchange: HTTPExchange, _ headers: HTTPHeaders, _ refuse: @Sendable (Bool) -> Void
    ) {
        switch machine.open() {
        case .conflict: refuse(true)
        case .gone: refuse(false)
        case .opened(let held):
            timers.opening?.cancel()
            timers.opening = nil
            self.exchange = exchange
            exchange.startStream(.ok, headers: ResultStream.headers(headers, .graphQLSSE), as: .result)
            exchange.write(ByteBuffer(bytes: StreamFormat.graphQLSSE.opening))
            for text in held { exchange.write(ByteBuffer(bytes: text)) }
            exchange.keepAlive(everyMs: limits.keepAliveMs) {
                if exchange.pendingBytes == 0 { exchange.write(ByteBuffer(bytes: StreamFormat.graphQLSSE.keepAlive)) }
            }
            exchange.onDrained { self.onLoop { self.drained() } }
            exchange.onClose { self.onLoop { self.close() } }
            drained()
        }
    }

    /// - Returns: the task of a one-shot operation.
    private func startNow(
        _ id: String, _ resolved: ResolvedOperation, _ follow: Bool, _ identity: Identity, _ known: KnownResult?,
        _ answer: (SharedStreamMachine.Start) -> Void
    ) -> Task<Void, Never>? {
        let start = executor.refusal(of: identity).map { .refused($0) } ?? machine.start(id: id)
        guard start == .started else {
            answer(start)
            return nil
        }
        if follow {
            self.follow(id, resolved, identity, known, answer)
            return nil
        }
        do throws(RequestError) {
            try operations.oneShots.running.requireRoom()
        } catch {
            _ = machine.stop(id: id)
            answer(.refused(error))
            return nil
        }
        answer(.started)
        return runOnce(id, resolved)
    }

    private func follow(
        _ id: String, _ resolved: ResolvedOperation, _ identity: Identity, _ known: KnownResult?,
        _ answer: (SharedStreamMachine.Start) -> Void
    ) {
        do throws(RequestError) {
            let immediate = try operations.follow(
                id, resolved, known: known, for: self, subjects: identity.subjects(at: address))
            let expiry = eventLoop.scheduleExpiry(of: identity, executor.clock) {
                guard self.executor.needsToken(resolved, following: resolved.liveQuery.key) else { return }
                self.fail(id, .tokenExpired)
            }
            requesters[id] = Requester(identity: identity, expiry: expiry)
            answer(.started)
            if let immediate { deliver(immediate, id: id) }
        } catch {
            _ = machine.stop(id: id)
            answer(.refused(error))
        }
    }

    private func runOnce(_ id: String, _ resolved: ResolvedOperation) -> Task<Void, Never> {
        let executor = self.executor
        let run = operations.oneShots.running.begin(id)
        let task = Task {
            let outcome: Result<[UInt8], RequestError>
            do throws(RequestError) {
                outcome = .success(try await executor.answer(resolved, traceID: executor.makeTraceID()).envelope)
            } catch {
                outcome = .failure(error)
            }
            self.eventLoop.execute {
                guard self.operations.oneShots.running.finished(run) else { return }
                switch OneShotEnd(outcome, isQuery: resolved.operation.kind == .query) {
                case .finished(let envelope):
                    self.write(self.machine.finished(id: id, envelope: envelope), carriesResult: true)
                case .queryFailed(let error): self.write(self.machine.queryFailed(id: id, [error]))
                case .failed(let error): self.write(self.machine.failed(id: id, [error]))
                }
            }
        }
        operations.oneShots.running.attach(task, to: run)
        return task
    }

    package func gathered(_ deliveries: () -> Void) {
        if let exchange { exchange.gathered(deliveries) } else { deliveries() }
    }

    package func deliver(_ delivery: SessionDelivery, id: String) {
        guard let operation = operations[id] else { return }
        // Until the stream is open, results wait.
        let unwrittenBytes = exchange.map(\.pendingBytes) ?? 1
        switch operations.deliver(delivery, id: id, to: operation, unwrittenBytes: unwrittenBytes) {
        case .write(let shared): if let exchange { shared.write(id: id, as: SharedStreamMachine.format, on: exchange) }
        // This protocol's clients cannot ask for tags.
        case .hold, .confirm: break
        case .close: goAway()
        case .fail(let error): write(machine.refreshFailed(id: id, [error]))
        case .end(let refusal): fail(id, refusal)
        }
    }

    private func drained() {
        while let exchange, let (id, shared) = operations.next(unwrittenBytes: exchange.pendingBytes) {
            shared.write(id: id, as: SharedStreamMachine.format, on: exchange)
        }
    }

    private func fail(_ id: String, _ error: RequestError) {
        drop(id)
        write(machine.failed(id: id, [error]))
    }

    package func recheckIdentity() {
        for (id, requester) in requesters {
            if let refusal = executor.refusal(of: requester.identity) { fail(id, refusal) }
        }
    }

    private func write(_ text: SharedStreamMachine.Text, carriesResult: Bool = false) {
        switch text {
        case .none: break
        case .write(let bytes) where carriesResult: exchange?.write(shared: SharedBody(bytes: bytes))
        case .write(let bytes): exchange?.write(ByteBuffer(bytes: bytes))
        case .overflow: goAway()
        }
    }

    private func drop(_ id: String) {
        operations.stop(id)
        requesters.removeValue(forKey: id)?.expiry?.cancel()
    }

    private func close() {
        guard !isOver else { return }
        isOver = true
        machine.close()
        timers.cancel()
        operations.stopAll()
        for requester in requesters.values { requester.expiry?.cancel() }
        requesters = [:]
        exchange = nil
        permit.end()
        onClosed()
    }
}
