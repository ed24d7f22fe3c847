import Catalog
import Execution
import GraphQLLanguage
import HTTPServer
import LiveModel
package import NIOCore
import Operations
package import Sessions

/// The session of one connection, a WebSocket or a gRPC stream: performs the actions of its protocol's machine. Belongs
/// to the connection's event loop.
package final class ClientSession: WebSocketHandler, LiveSession {
    /// A followed operation. A class: it is looked up for each delivery, and a copy would count references to all that
    /// it holds.
    final class Live {
        let handle: LoopHub.Handle
        /// The resolved operation, kept if its authorization depends on the time or the session's token can change.
        var resolved: ResolvedOperation?
        /// Whether the authorization depends on the time.
        let isRechecked: Bool
        var delta: DeltaState
        /// The subjects whose quota it counts against.
        let subjects: [QuotaSubject]

        init(
            handle: LoopHub.Handle, resolved: ResolvedOperation?, isRechecked: Bool, delta: DeltaState,
            subjects: [QuotaSubject]
        ) {
            self.handle = handle
            self.resolved = resolved
            self.isRechecked = isRechecked
            self.delta = delta
            self.subjects = subjects
        }
    }

    let connection: any SessionConnection
    let executor: any SessionRequestExecutor
    let hub: LoopHub
    var machine: any SessionMachine
    private let format: ResultFormat
    private let takesNewTokens: Bool
    private let reportsTimerRuns: Bool
    private var outbox: DeliveryOutbox<SharedResult>
    var live: [String: Live] = [:]
    /// One-shot operations in flight. The number distinguishes uses of the same id.
    private var tasks: [String: (number: UInt64, task: Task<Void, Never>)] = [:]
    private var startedCount: UInt64 = 0
    /// One-shot operations that have not finished, including those that the client gave up; at most `operationsMax`.
    private var runningCount = 0
    private let operationsMax: Int
    /// Time-outs of runs that the client requested. Bounded by the followed operations.
    private var reruns: [String: (timer: Scheduled<Void>, repeats: Bool)] = [:]
    private let rerunTimeoutMs: Int64
    var identity = Identity.signedOut
    var initTimeout: Scheduled<Void>?
    /// The client's address; nil if addresses are unknown or not counted.
    private let address: QuotaSubject?
    private let idleTimeoutMs: Int64
    private var idle: Scheduled<Void>?
    /// The later of the client's last message and the end of the last operation.
    private var lastUse = NIODeadline.now()
    private var keepAlive: RepeatedTask?
    var expiry: Scheduled<Void>?
    private(set) var isClosed = false
    private var inputHasEnded = false
    private let permit: SessionPermit

    package init(
        connection: any SessionConnection, machine: any SessionMachine, executor: any SessionRequestExecutor,
        hub: LoopHub,
        limits: SessionLimits, address: QuotaSubject? = nil, permit: SessionPermit
    ) {
        self.address = address
        self.idleTimeoutMs = limits.idleTimeoutMs
        self.operationsMax = limits.operationsMax
        self.connection = connection
        self.executor = executor
        self.hub = hub
        self.machine = machine
        self.format = type(of: machine).format
        self.takesNewTokens = type(of: machine).takesNewTokens
        self.reportsTimerRuns = type(of: machine).reportsTimerRuns
        self.rerunTimeoutMs = limits.rerunTimeoutMs
        self.outbox = DeliveryOutbox(bytesMax: limits.bytesMax)
        self.permit = permit
        let bound = NIOLoopBound(self, eventLoop: connection.eventLoop)
        initTimeout = connection.eventLoop.scheduleTask(in: .milliseconds(limits.initTimeoutMs)) {
            let session = bound.value
            session.initTimeout = nil
            session.perform(session.machine.initTimedOut())
        }
        if type(of: machine).sendsKeepAlives {
            let interval = TimeAmount.milliseconds(limits.keepAliveMs)
            keepAlive = connection.eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
                let session = bound.value
                // A client that does not read needs no keep-alive.
                if session.connection.pendingBytes == 0 { session.perform(session.machine.keepAliveDue()) }
            }
        }
        if idleTimeoutMs > 0 { armIdle(afterMs: idleTimeoutMs) }
        perform(self.machine.opened())
    }

    /// Sets the session's idle timer, which checks `lastUse` when it fires.
    private func armIdle(afterMs: Int64) {
        let bound = NIOLoopBound(self, eventLoop: connection.eventLoop)
        idle = connection.eventLoop.scheduleTask(in: .milliseconds(afterMs)) {
            let session = bound.value
            let unused = NIODeadline.now() - session.lastUse
            let leftMs = session.idleTimeoutMs - unused.nanoseconds / 1_000_000
            if session.machine.operationCount > 0 {
                session.armIdle(afterMs: session.idleTimeoutMs)
            } else if leftMs > 0 {
                session.armIdle(afterMs: leftMs)
            } else {
                session.idle = nil
                session.perform(session.machine.close(1001, "Idle"))
            }
        }
    }

    /// The subjects whose quotas this session counts against.
    var subjects: [QuotaSubject] { (address.map { [$0] } ?? []) + identity.subjects }

    // MARK: WebSocketHandler

    package func received(text: ByteBuffer) {
        lastUse = .now()
        perform(machine.received(text: Array(text.readableBytesView)))
    }

    package func received(binary: ByteBuffer) {
        lastUse = .now()
        perform(machine.received(binary: Array(binary.readableBytesView)))
    }

    package func closed(code: UInt16?) {
        guard !isClosed else { return }
        isClosed = true
        initTimeout?.cancel()
        keepAlive?.cancel()
        expiry?.cancel()
        idle?.cancel()
        idle = nil
        initTimeout = nil
        keepAlive = nil
        expiry = nil
        for entry in live.values {
            hub.unsubscribe(entry.handle)
            executor.quotas.release(.subscription, for: entry.subjects)
        }
        live = [:]
        executor.quotas.release(.session, for: identity.subjects)
        for rerun in reruns.values { rerun.timer.cancel() }
        reruns = [:]
        for entry in tasks.values { entry.task.cancel() }
        tasks = [:]
        permit.end()
    }

    package func writabilityChanged(pendingBytes: Int) {
        guard pendingBytes == 0 else { return }
        connection.gathered {
            while connection.pendingBytes == 0, let (id, shared) = outbox.next() { write(shared, id) }
        }
    }

    /// Writes a result, as a patch if the client requested deltas and the patch is shorter.
    private func write(_ shared: SharedResult, _ id: String) {
        if format.hasDeltas, let entry = live[id], case .on(let held) = entry.delta {
            entry.delta = .on(held: shared.result.digest)
            defer { hub.deltas.remember(shared.result.digest, shared.result.answer) }
            if let held, let prefix = format.deltaPrefix(id: id), let rest = shared.delta(from: held, &hub.deltas) {
                return connection.send(prefix: prefix, shared: rest)
            }
        }
        connection.send(shared, id: id, as: format)
    }

    /// Called when the client half-closes: the connection ends with its last operation.
    package func inputEnded() {
        inputHasEnded = true
        endIfDone()
    }

    private func endIfDone() {
        guard inputHasEnded, !isClosed, machine.operationCount == 0 else { return }
        // Once only: closing may take a while, and this is called after every action.
        inputHasEnded = false
        perform(machine.close(1000, ""))
    }

    package var subscriptionCount: Int { live.count }
    package var protocolName: String { type(of: machine).protocolName }

    /// Asks the client to reconnect elsewhere.
    package func goAway() {
        perform(machine.close(1001, "Going away"))
    }

    // MARK: LiveSession

    package func deliver(_ delivery: SessionDelivery, id: String) {
        guard let entry = live[id] else { return }
        if entry.isRechecked, let resolved = entry.resolved, let refusal = refusal(of: resolved) {
            stop(id)
            perform(machine.failed(id: id, [refusal]))
            return
        }
        defer { rerunAnswered(id) }
        switch delivery {
        case .result(let shared):
            switch outbox.offer(
                shared, id: id, bytes: shared.byteCount, unwrittenBytes: connection.pendingBytes)
            {
            case .write: write(shared, id)
            case .hold: break
            case .close: perform(machine.close(1013, "The client reads too slowly, try again later"))
            }
        case .failed(let error):
            outbox.discard(id: id)
            // The client may have replaced the result by the error, so the next one is sent whole.
            if case .on = entry.delta { entry.delta = .on(held: nil) }
            perform(machine.refreshFailed(id: id, [error]))
        }
    }

    func refusal(of resolved: ResolvedOperation) -> RequestError? {
        resolved.operation.authorize(
            auth: resolved.auth, variables: resolved.variables, nowMs: executor.clock.nowMs())
    }

    // MARK: Actions

    func perform(_ actions: [SessionAction]) {
        for action in actions {
            switch action {
            case .send(let bytes): connection.send(message: ByteBuffer(bytes: bytes))
            case .close(let code, let reason): connection.close(code: code, reason: reason)
            case .authenticate(let credentials): authenticate(credentials)
            case .start(let id, let request, let mode): start(id, request, mode)
            case .stop(let id): stop(id)
            case .rerun(let id): rerun(id)
            case .end(let error): connection.end(error)
            }
        }
        if inputHasEnded { endIfDone() }
    }

    private func start(_ id: String, _ request: OperationRequest, _ mode: StartMode) {
        do throws(RequestError) {
            if let refusal = identityRefusal { throw refusal }
            let kinds: AllowedKinds = if case .follow = mode { .only(.query) } else { .all }
            let resolved = try executor.resolve(request, for: identity.at(address?.name), kinds)
            if Self.isFollowed(resolved, mode) {
                let known = request.resume?.known(of: resolved.liveQuery.key)
                try follow(
                    id, resolved, known: known,
                    delta: DeltaState(request.wantsDelta && format.hasDeltas, held: known?.digest))
            } else {
                guard runningCount < operationsMax else { throw .operationsMaximum(operationsMax) }
                let subjects = self.subjects
                try executor.quotas.acquireRequest(for: subjects)
                perform(machine.started(id: id))
                runOnce(id, resolved, for: subjects)
            }
        } catch {
            perform(machine.failed(id: id, [error]))
        }
    }

    private static func isFollowed(_ resolved: ResolvedOperation, _ mode: StartMode) -> Bool {
        switch (mode, resolved.operation.kind) {
        case (.byText, .query): return resolved.wantedKind != .query
        case (.follow, _): return true
        case (.byText, .mutation), (.once, _): return false
        }
    }

    func follow(
        _ id: String, _ resolved: ResolvedOperation, known: KnownResult?, delta: DeltaState, isNew: Bool = true
    ) throws(RequestError) {
        let subjects = self.subjects
        try executor.quotas.acquire(.subscription, for: subjects)
        let handle: LoopHub.Handle
        let immediate: SessionDelivery?
        do throws(RequestError) {
            (handle, immediate) = try hub.subscribe(
                self, id: id, query: resolved.liveQuery, known: known,
                reportsTimerRuns: reportsTimerRuns && resolved.operation.refresh.everyMs != nil)
        } catch {
            executor.quotas.release(.subscription, for: subjects)
            throw error
        }
        let isRechecked = resolved.operation.auth.readsRequestTime
        live[id] = Live(
            handle: handle, resolved: isRechecked || takesNewTokens ? resolved : nil, isRechecked: isRechecked,
            delta: delta, subjects: subjects)
        if isNew { perform(machine.started(id: id)) }
        if let immediate { deliver(immediate, id: id) }
    }

    /// - Parameter subjects: the request counts against their quotas until it has finished, even if nothing waits for
    ///   it.
    private func runOnce(_ id: String, _ resolved: ResolvedOperation, for subjects: [QuotaSubject]) {
        let executor = self.executor
        let traceID = executor.makeTraceID()
        startedCount += 1
        runningCount += 1
        let number = startedCount
        let task = onLoop(
            { () async throws(RequestError) in
                defer { executor.quotas.releaseRequest(for: subjects) }
                return try await executor.answer(resolved, traceID: traceID)
            },
            then: { session, outcome in
                session.runningCount -= 1
                guard session.tasks[id]?.number == number else { return }
                session.tasks[id] = nil
                switch outcome {
                case .success(let answer): session.perform(session.machine.finished(id: id, answer: answer))
                case .failure(let error): session.perform(session.machine.failed(id: id, [error]))
                }
            })
        tasks[id] = (number, task)
    }

    /// Runs a live query again at the client's request. The next result is the response, with a time-out. One run at a
    /// time: requests in between lead to one more run.
    private func rerun(_ id: String) {
        guard let entry = live[id] else { return }
        guard reruns[id] == nil else {
            reruns[id]?.repeats = true
            return
        }
        guard hub.rerun(entry.handle) else { return }
        let bound = NIOLoopBound(self, eventLoop: connection.eventLoop)
        let timer = connection.eventLoop.scheduleTask(in: .milliseconds(rerunTimeoutMs)) {
            let session = bound.value
            session.reruns[id] = nil
            let error = RequestError(.unavailable, "the query did not run again in time")
            session.perform(session.machine.refreshFailed(id: id, [error]))
        }
        reruns[id] = (timer, false)
    }

    private func rerunAnswered(_ id: String) {
        guard !reruns.isEmpty, let answered = reruns.removeValue(forKey: id) else { return }
        answered.timer.cancel()
        if answered.repeats { rerun(id) }
    }

    func stop(_ id: String) {
        outbox.discard(id: id)
        reruns.removeValue(forKey: id)?.timer.cancel()
        if let entry = live.removeValue(forKey: id) {
            hub.unsubscribe(entry.handle)
            executor.quotas.release(.subscription, for: entry.subjects)
            lastUse = .now()
        }
        // A running mutation is not undone; its response is dropped.
        tasks[id] = nil
    }

    /// Runs `work` in a task and passes its outcome to `then` on the event loop, unless the session has closed.
    @discardableResult
    func onLoop<Success: Sendable>(
        _ work: @escaping @Sendable () async throws(RequestError) -> Success,
        then: @escaping (ClientSession, Result<Success, RequestError>) -> Void
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
