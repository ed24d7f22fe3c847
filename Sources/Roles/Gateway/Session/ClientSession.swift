import Catalog
import Clocks
import Execution
import GraphQLLanguage
import HTTPServer
package import LiveModel
package import NIOCore
import Operations
package import Sessions

/// The session of one connection, a WebSocket or a gRPC stream: performs the actions of its protocol's machine. Belongs
/// to the connection's event loop.
package final class ClientSession: WebSocketHandler, LiveSession {
    let connection: any SessionConnection
    var machine: any SessionMachine
    /// The properties of the machine's protocol.
    let traits: SessionTraits
    var operations: LiveOperations
    var reruns = RerunQueue()
    /// Timeouts of the runs that `reruns` awaits.
    var rerunTimers: [String: Scheduled<Void>] = [:]
    let rerunTimeoutMs: Int64
    /// Refusals that are sent soon.
    var refusals = HeldRefusals()
    /// The waits that the hub has not answered, by the client's id. Bounded by the machine.
    var waits: [String: InterestMachine.WaitID] = [:]
    var heldWaits = HeldWaits()
    /// Subscriptions whose token has expired; they wait for a new one. Bounded as the followed operations.
    var suspended: [String: FollowedOperation] = [:]
    let tokenGraceMs: Int64
    var identity = Identity.signedOut
    var timers = SessionTimers()
    var deadlines: SessionDeadlines
    /// The client's address; nil if addresses are unknown or not counted.
    private let address: QuotaSubject?
    private(set) var isClosed = false
    private var inputHasEnded = false
    /// Why live queries are left, for the recorder; nil: the client leaves them.
    var leaving: String?
    /// How this side closed the connection, for the recorder.
    private(set) var closing: (code: UInt16, reason: String)?
    let permit: SessionPermit

    package init(
        connection: any SessionConnection, machine: any SessionMachine, executor: any SessionRequestExecutor,
        hub: LoopHub,
        limits: SessionLimits, address: QuotaSubject? = nil, permit: SessionPermit
    ) {
        self.address = address
        self.rerunTimeoutMs = limits.rerunTimeoutMs
        self.tokenGraceMs = limits.tokenGraceMs
        self.connection = connection
        self.machine = machine
        self.traits = type(of: machine).traits
        self.operations = LiveOperations(hub: hub, executor: executor, limits: limits)
        self.permit = permit
        deadlines = SessionDeadlines(
            limits, sendsKeepAlives: traits.sendsKeepAlives, nowMs: MonotonicClock.nowMs())
        connection.wake(self, atMs: deadlines.firstMs)
        perform(self.machine.opened())
    }

    package func deadlineReached(nowMs: Int64) {
        while let due = deadlines.next(
            hasOperations: machine.operationCount > 0, isReading: connection.pendingBytes == 0, nowMs: nowMs)
        {
            switch due {
            case .opening: perform(machine.initTimedOut())
            case .keepAlive: perform(machine.keepAliveDue())
            case .idleEnd: perform(machine.close(1001, "Idle"))
            }
        }
        connection.wake(self, atMs: deadlines.firstMs)
    }

    var hub: LoopHub { operations.hub }
    var executor: any SessionRequestExecutor { operations.executor }

    /// The subjects whose quotas this session counts against.
    var subjects: [QuotaSubject] { identity.subjects(at: address) }

    // MARK: WebSocketHandler

    package func received(text: ByteBuffer) {
        deadlines.used(nowMs: MonotonicClock.nowMs())
        perform(machine.received(text: Array(text.readableBytesView)))
    }

    package func received(binary: ByteBuffer) {
        deadlines.used(nowMs: MonotonicClock.nowMs())
        perform(machine.received(binary: Array(binary.readableBytesView)))
    }

    package func closed(code: UInt16?) {
        guard !isClosed else { return }
        isClosed = true
        noteEnd(code: code)
        timers.cancel()
        connection.wake(self, atMs: .max)
        operations.stopAll()
        suspended = [:]
        for timer in rerunTimers.values { timer.cancel() }
        for wait in waits.values { hub.endWait(wait) }
        waits = [:]
        heldWaits.removeAll()
        (rerunTimers, reruns, refusals) = ([:], RerunQueue(), HeldRefusals())
        permit.end()
    }

    package func writabilityChanged(pendingBytes: Int) {
        guard pendingBytes == 0 else { return }
        connection.gathered {
            while let (id, shared) = operations.next(unwrittenBytes: connection.pendingBytes) {
                write(shared, id, operations[id])
                written(id)
            }
        }
    }

    /// Writes a result: as its tag if the client that resumes holds it, as a patch if the client requested deltas and
    /// the patch is shorter.
    private func write(_ shared: SharedResult, _ id: String, _ operation: FollowedOperation?) {
        var format = traits.format
        if let operation, operation.wantsTags, let tagged = format.tagged {
            if operation.isHeld(shared) { return confirm(shared.tag, id) }
            format = tagged
        }
        if format.hasDeltas,
            let rest = operation?.patch(to: shared, hub, { shared.delta(from: $0, as: format, &$1) }),
            let prefix = format.deltaPrefix(id: id)
        {
            return connection.send(prefix: prefix, shared: rest)
        }
        connection.send(shared, id: id, as: format)
    }

    private func confirm(_ tag: EntityTag, _ id: String) {
        connection.send(message: ByteBuffer(bytes: ResultFormat.unchanged(id: id, tag)))
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

    package var subscriptionCount: Int { operations.followedCount }
    package var protocolName: String { traits.protocolName }
    package var user: String? { identity.userName }
    package func followedKeys(max: Int) -> [LiveQueryKey] { operations.followedKeys(max: max) }

    /// Asks the client to reconnect elsewhere.
    package func goAway() {
        leaving = "drained"
        perform(machine.close(1001, "Going away"))
    }

    package func invalidate(_ invalidations: Invalidations) {
        if !isClosed { perform(machine.invalidated(invalidations)) }
    }

    // MARK: LiveSession

    package func deliver(_ delivery: SessionDelivery, id: String) {
        guard let operation = operations[id] else { return }
        switch operations.deliver(delivery, id: id, to: operation, unwrittenBytes: connection.pendingBytes) {
        case .write(let shared): write(shared, id, operation)
        case .confirm(let known): confirm(EntityTag(known, of: operation.handle.key), id)
        case .hold: break
        case .close:
            leaving = "client_stalled"
            perform(machine.close(1013, "The client reads too slowly, try again later"))
        case .fail(let error):
            note(failed: error, of: operation)
            perform(machine.refreshFailed(id: id, [error]))
            written(id)
        case .end(let refusal):
            leaving = "auth_refused"
            stop(id)
            leaving = nil
            return perform(machine.failed(id: id, [refusal]))
        }
        rerunAnswered(id)
    }

    package func gathered(_ deliveries: () -> Void) { connection.gathered(deliveries) }

    // MARK: Actions

    /// - Parameter carryResult: whether the messages to be sent carry the result of an operation that ran once.
    func perform(_ actions: [SessionAction], carryResult: Bool = false) {
        for action in actions {
            switch action {
            case .send(let bytes) where carryResult: connection.send(result: ByteBuffer(bytes: bytes))
            case .send(let bytes): connection.send(message: ByteBuffer(bytes: bytes))
            case .close(let code, let reason):
                sendRefusals()
                closing = (code, reason)
                connection.close(code: code, reason: reason)
            case .authenticate(let credentials): authenticate(credentials)
            case .start(let id, let request, let mode):
                refusals.withdraw(id)
                start(id, request, mode)
            case .refuse(let id, let bytes): refuse(id, bytes)
            case .withdrawRefusal(let id): refusals.withdraw(id)
            case .stop(let id): stop(id, lingers: false)
            case .rerun(let id): rerun(id)
            case .wait(let id, let position): wait(id, for: position)
            case .end(let error): connection.end(error)
            }
        }
        if inputHasEnded { endIfDone() }
    }

    private func start(_ id: String, _ request: OperationRequest, _ mode: StartMode) {
        do throws(RequestError) {
            if let refusal = identityRefusal { throw refusal }
            if let name = TypenameQuery(request) {
                perform(machine.started(id: id))
                return perform(machine.finished(id: id, answer: OperationAnswer(body: name.data)))
            }
            let kinds: AllowedKinds = if case .follow = mode { .only(.query) } else { .all }
            let resolved = try executor.resolve(request, for: executor.quotas.charge(identity, at: address), kinds)
            if mode.isFollowed(isQuery: resolved.operation.kind == .query, wanted: resolved.wantedKind) {
                let known = request.resume?.known(of: resolved.liveQuery.key)
                try follow(
                    id, resolved, known: known,
                    delta: DeltaState(request.wantsDelta && traits.format.hasDeltas, held: known?.digest),
                    resume: ResumeState(request.wantsTags && traits.format.tagged != nil, held: known?.digest))
            } else {
                try startOnce(id, resolved)
            }
        } catch {
            note(refused: error, operation: request.operationName ?? "")
            perform(machine.failed(id: id, [error]))
        }
    }

    func follow(
        _ id: String, _ resolved: ResolvedOperation, known: KnownResult?, delta: DeltaState, resume: ResumeState,
        isNew: Bool = true
    ) throws(RequestError) {
        let immediate = try operations.follow(
            id, resolved, known: known, for: self, takesNewTokens: traits.takesNewTokens,
            reportsTimerRuns: traits.reportsTimerRuns && resolved.operation.refresh.everyMs != nil, delta: delta,
            resume: resume, subjects: subjects)
        if isNew { perform(machine.started(id: id)) }
        if let immediate { deliver(immediate, id: id) }
    }

    func stop(_ id: String, lingers: Bool = true) {
        if let timer = rerunTimers.removeValue(forKey: id) {
            timer.cancel()
            reruns.ended(id)
        }
        suspended[id] = nil
        defer { written(id) }
        if operations.stop(id, lingers: lingers) { deadlines.used(nowMs: MonotonicClock.nowMs()) }
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
