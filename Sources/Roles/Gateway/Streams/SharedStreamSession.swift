import Catalog
package import Execution
package import HTTPServer
package import LiveModel
package import NIOCore
package import NIOHTTP1
import Operations
package import Sessions

/// The session of graphql-sse's single connection mode. Belongs to the event loop of the request that reserved it; the
/// stream and the requests that start operations may be on other loops and hop over by `onLoop`.
///
/// `@unchecked Sendable`: everything mutable is touched on `eventLoop` only.
package final class SharedStreamSession: LiveSession, @unchecked Sendable {
    private struct Live {
        let handle: LoopHub.Handle
        /// The operation, kept if its authorization depends on the time.
        let rechecked: ResolvedOperation?
        let expiry: Scheduled<Void>?
        /// The identity of the request that started this operation.
        let identity: Identity
        let subjects: [QuotaSubject]
    }

    package let eventLoop: any EventLoop
    private let hub: LoopHub
    /// Resolves operations by the project version that was current when the session began.
    package let executor: any SessionRequestExecutor
    private let limits: SessionLimits
    private var machine: SharedStreamMachine
    private var exchange: HTTPExchange?
    private var outbox: DeliveryOutbox<SharedResult>
    private var live: [String: Live] = [:]
    /// One-shot operations in flight. The number distinguishes uses of the same id.
    private var tasks: [String: (number: UInt64, task: Task<Void, Never>)] = [:]
    private var startedCount: UInt64 = 0
    /// One-shot operations that have not finished; at most `operationsMax`.
    private var runningCount = 0
    private var openTimeout: Scheduled<Void>?
    private var keepAlive: RepeatedTask?
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
        self.hub = hub
        self.executor = executor
        self.limits = limits
        self.machine = SharedStreamMachine(operationsMax: limits.operationsMax, bytesMax: limits.bytesMax)
        self.outbox = DeliveryOutbox(bytesMax: limits.bytesMax)
        self.permit = permit
        self.onClosed = onClosed
        openTimeout = hub.eventLoop.scheduleTask(in: .milliseconds(limits.initTimeoutMs)) { self.close() }
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

    package func stop(_ id: String) {
        onLoop { if self.machine.stop(id: id) { self.drop(id) } }
    }

    /// Ends the stream, so that the client reconnects elsewhere.
    package func goAway() {
        exchange?.end()
        close()
    }

    package var protocolName: String { "graphql-sse single" }
    package var subscriptionCount: Int { live.count }

    // MARK: On the loop

    private func openNow(
        _ exchange: HTTPExchange, _ headers: HTTPHeaders, _ refuse: @Sendable (Bool) -> Void
    ) {
        switch machine.open() {
        case .conflict: refuse(true)
        case .gone: refuse(false)
        case .opened(let held):
            openTimeout?.cancel()
            openTimeout = nil
            self.exchange = exchange
            exchange.startStream(.ok, headers: ResultStream.headers(headers, .graphQLSSE))
            exchange.write(ByteBuffer(bytes: StreamFormat.graphQLSSE.opening))
            for text in held { exchange.write(ByteBuffer(bytes: text)) }
            let interval = TimeAmount.milliseconds(limits.keepAliveMs)
            keepAlive = eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
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
        // The identity may have been revoked since it was authenticated.
        let start = executor.refusal(of: identity).map { .refused($0) } ?? machine.start(id: id)
        guard start == .started else {
            answer(start)
            return nil
        }
        if follow {
            self.follow(id, resolved, identity, known, answer)
            return nil
        }
        guard runningCount < limits.operationsMax else {
            _ = machine.stop(id: id)
            answer(.refused(.operationsMaximum(limits.operationsMax)))
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
            let subjects = (address.map { [$0] } ?? []) + identity.subjects
            try executor.quotas.acquire(.subscription, for: subjects)
            let handle: LoopHub.Handle
            let immediate: SessionDelivery?
            do throws(RequestError) {
                (handle, immediate) = try hub.subscribe(self, id: id, query: resolved.liveQuery, known: known)
            } catch {
                executor.quotas.release(.subscription, for: subjects)
                throw error
            }
            let expiry = identity.expiresAtMs.map { expiresAtMs in
                eventLoop.scheduleTask(in: .milliseconds(max(0, expiresAtMs - executor.clock.nowMs()))) {
                    self.fail(id, .tokenExpired)
                }
            }
            live[id] = Live(
                handle: handle, rechecked: resolved.operation.auth.readsRequestTime ? resolved : nil, expiry: expiry,
                identity: identity, subjects: subjects)
            answer(.started)
            if let immediate { deliver(immediate, id: id) }
        } catch {
            _ = machine.stop(id: id)
            answer(.refused(error))
        }
    }

    private func runOnce(_ id: String, _ resolved: ResolvedOperation) -> Task<Void, Never> {
        let executor = self.executor
        startedCount += 1
        runningCount += 1
        let number = startedCount
        let task = Task {
            let outcome: Result<[UInt8], RequestError>
            do throws(RequestError) {
                outcome = .success(try await executor.answer(resolved, traceID: executor.makeTraceID()).envelope)
            } catch {
                outcome = .failure(error)
            }
            self.eventLoop.execute {
                self.runningCount -= 1
                guard self.tasks[id]?.number == number else { return }
                self.tasks[id] = nil
                switch outcome {
                case .success(let envelope): self.write(self.machine.finished(id: id, envelope: envelope))
                case .failure(let error): self.write(self.machine.failed(id: id, [error]))
                }
            }
        }
        tasks[id] = (number, task)
        return task
    }

    package func deliver(_ delivery: SessionDelivery, id: String) {
        guard let entry = live[id] else { return }
        if let resolved = entry.rechecked,
            let refusal = resolved.operation.authorize(
                auth: resolved.auth, variables: resolved.variables, nowMs: executor.clock.nowMs())
        {
            return fail(id, refusal)
        }
        switch delivery {
        case .result(let shared):
            switch outbox.offer(
                shared, id: id, bytes: shared.byteCount, unwrittenBytes: exchange.map(\.pendingBytes) ?? 1)
            {
            case .write: if let exchange { shared.write(id: id, as: SharedStreamMachine.format, on: exchange) }
            case .hold: break
            case .close: goAway()
            }
        case .failed(let error):
            outbox.discard(id: id)
            write(machine.refreshFailed(id: id, [error]))
        }
    }

    private func drained() {
        while let exchange, exchange.pendingBytes == 0, let (id, shared) = outbox.next() {
            shared.write(id: id, as: SharedStreamMachine.format, on: exchange)
        }
    }

    private func fail(_ id: String, _ error: RequestError) {
        drop(id)
        write(machine.failed(id: id, [error]))
    }

    package func recheckIdentity() {
        for (id, entry) in live {
            if let refusal = executor.refusal(of: entry.identity) { fail(id, refusal) }
        }
    }

    private func write(_ text: SharedStreamMachine.Text) {
        switch text {
        case .none: break
        case .write(let bytes): exchange?.write(ByteBuffer(bytes: bytes))
        case .overflow: goAway()
        }
    }

    private func drop(_ id: String) {
        outbox.discard(id: id)
        if let entry = live.removeValue(forKey: id) {
            entry.expiry?.cancel()
            hub.unsubscribe(entry.handle)
            executor.quotas.release(.subscription, for: entry.subjects)
        }
        tasks[id] = nil
    }

    private func close() {
        guard !isOver else { return }
        isOver = true
        machine.close()
        openTimeout?.cancel()
        keepAlive?.cancel()
        openTimeout = nil
        keepAlive = nil
        for id in Array(live.keys) { drop(id) }
        for entry in tasks.values { entry.task.cancel() }
        tasks = [:]
        exchange = nil
        permit.end()
        onClosed()
    }
}
