import DequeModule
import JSON
import LiveModel
import Sessions

/// A WebSocket of `graphql-transport-ws` between an app and a gateway: text messages both ways, each way in order and
/// delayed. At the gateway it performs the session's machine, and writes results as `ClientSession` does.
final class SimulatedSocket: SimulatedSession {
    /// The messages in one direction. One that is held up holds up those behind it.
    private struct Lane {
        var lastMs: Int64 = 0
        var messages: Deque<() -> Void> = []
    }

    private enum Direction { case toGateway, toApp }

    private static let operationsMax = 16

    private let app: SDKApp
    /// The app's number of the link, which is also that of the connection.
    let link: Int
    let gateway: SimulatedGateway
    let version: Digest
    private let versionNumber: Int
    private let hub: Int
    private var machine = GraphQLTransportWSMachine(SessionOpening(operationsMax: operationsMax))
    private var user: String?
    private var operations: [String: FollowedOperation] = [:]
    private var results = DeliveryQueue<LiveResult>(bytesMax: World.socketBytesMax)
    private var unwrittenBytes = 0
    /// Messages of the app that the gateway has yet to handle.
    private var inbox: Deque<[UInt8]> = []
    private var toGateway = Lane()
    private var toApp = Lane()
    private var cutUntilMs: Int64 = 0
    private var silentUntilMs: Int64 = 0
    private var slowUntilMs: Int64 = 0
    private var slowByMs: Int64 = 0
    private var closing: (code: UInt16, reason: String)?
    /// Whether the gateway has ended it.
    private var isOver = false

    init(_ app: SDKApp, link: Int, _ gateway: SimulatedGateway) {
        self.app = app
        self.link = link
        self.gateway = gateway
        versionNumber = gateway.deployments.served.current
        version = Workload.version(versionNumber)
        hub = app.number % World.hubCount
    }

    private var timeline: Timeline { gateway.timeline }
    private var world: World { gateway.world }

    // MARK: The network

    /// Holds everything up for this time.
    func silence(ms: Int64) { silentUntilMs = timeline.nowMs + ms }

    /// Delays each message by this time.
    func slow(byMs: Int64, forMs: Int64) { (slowByMs, slowUntilMs) = (byMs, timeline.nowMs + forMs) }

    func heal() { (silentUntilMs, slowUntilMs) = (0, 0) }

    /// Drops everything from now on; both sides notice by their own timeouts.
    func vanish() {
        cutUntilMs = .max
        closeWhenIdle()
    }

    /// Ends with an error that both sides see.
    func breakOff() {
        gateway.later(0) { [self] in gateway.close(self) }
        app.closed(self, code: nil, reason: "reset")
    }

    private func closeWhenIdle() { gateway.later(World.idleTimeoutMs) { [self] in gateway.close(self) } }

    private func pass(_ direction: Direction, _ arrive: @escaping () -> Void) {
        let slowMs = slowUntilMs > timeline.nowMs ? slowByMs : 0
        let arrivalMs = timeline.nowMs + world.networkDelay() + slowMs
        switch direction {
        case .toGateway: Self.enter(&toGateway, arrivalMs, arrive)
        case .toApp: Self.enter(&toApp, arrivalMs, arrive)
        }
        timeline.at(direction == .toGateway ? toGateway.lastMs : toApp.lastMs) { [self] in arrived(direction) }
    }

    private static func enter(_ lane: inout Lane, _ arrivalMs: Int64, _ arrive: @escaping () -> Void) {
        lane.lastMs = max(lane.lastMs, arrivalMs)
        lane.messages.append(arrive)
    }

    /// Lets the first message of a direction arrive.
    private func arrived(_ direction: Direction) {
        guard silentUntilMs <= timeline.nowMs else {
            return timeline.at(silentUntilMs) { [self] in arrived(direction) }
        }
        let arrive = direction == .toGateway ? toGateway.messages.removeFirst() : toApp.messages.removeFirst()
        if cutUntilMs <= timeline.nowMs { arrive() }
    }

    // MARK: The app's side

    func open() { pass(.toApp) { [self] in app.opened(self) } }

    func send(_ text: [UInt8]) {
        pass(.toGateway) { [self] in
            inbox.append(text)
            gateway.later(0) { [self] in handleNext() }
        }
    }

    /// The app closes it and forgets it.
    func closeByApp() {
        pass(.toGateway) { [self] in gateway.later(0) { [self] in gateway.close(self) } }
        // If that does not arrive.
        closeWhenIdle()
    }

    // MARK: The gateway's side

    var order: SimulatedOrder { SimulatedOrder(client: app.number, connection: link) }
    var pendingCount: Int { results.count }

    var subscriptions: [any SimulatedSubscription] { followed }

    private var followed: [FollowedOperation] { operations.values.sorted { $0.order < $1.order } }

    /// The live query that it follows for this one of the app, in its version.
    func query(_ query: Workload.ClientQuery) -> LiveQuery { query.liveQuery(version: versionNumber) }

    func end(isKilled: Bool) {
        guard !isOver else { return }
        isOver = true
        results.removeAll()
        inbox = []
        if !isKilled, closing == nil {
            for case .close(let code, let reason) in machine.close(1001, "Going away") { closing = (code, reason) }
        }
        let (code, reason) = (closing?.code, closing?.reason ?? "reset")
        pass(.toApp) { [self] in app.closed(self, code: code, reason: reason) }
    }

    private func handleNext() {
        guard !isOver, let text = inbox.popFirst() else { return }
        perform(machine.received(text: text))
    }

    private func perform(_ actions: [SessionAction]) {
        for action in actions {
            switch action {
            case .send(let text): write(text, digest: nil)
            case .close(let code, let reason):
                closing = (code, reason)
                gateway.close(self)
            case .authenticate(let credentials): authenticate(credentials)
            case .start(let id, let request, _): start(id, request)
            case .stop(let id):
                results.ended(id: id)
                if let operation = operations.removeValue(forKey: id) { gateway.unsubscribe(operation) }
            case .wait: preconditionFailure("apps do not wait here")
            case .refuse, .withdrawRefusal, .rerun, .end: preconditionFailure("\(action) is of another protocol")
            }
        }
    }

    private func authenticate(_ credentials: Credentials) {
        guard let token = credentials.bearer.flatMap(SimulatedToken.init), token.expiresAtMs > timeline.nowMs else {
            return perform(machine.rejected(.tokenExpired))
        }
        user = token.uid
        perform(machine.authenticated())
        gateway.later(token.expiresAtMs - timeline.nowMs) { [self] in
            if !isOver { perform(machine.expired(ids: operations.keys.sorted(), .tokenExpired)) }
        }
    }

    private func start(_ id: String, _ request: OperationRequest) {
        let query = Workload.clientQueries.first {
            $0.operation == request.operationName && $0.variables == request.variables
                && ($0.uid == nil || $0.uid == user)
        }
        guard let query, let number = Int(id) else {
            return perform(machine.failed(id: id, [RequestError(.operationNotFound, "there is no such query")]))
        }
        let liveQuery = self.query(query)
        let known = request.resume?.known(of: liveQuery.key)
        let operation = FollowedOperation(
            self, id: id, number: number, liveQuery, hub: hub,
            delta: DeltaState(request.wantsDelta, held: known?.digest),
            resume: ResumeState(request.wantsTags, held: known?.digest))
        operations[id] = operation
        gateway.subscribe(operation, known: known)
    }

    func deliver(_ update: Hub.Update, to operation: FollowedOperation) {
        guard !isOver else { return }
        operation.silentSinceMs = nil
        var update = update
        if case .result(var result) = update {
            let document = SimulatedDocument.json(result.answer.body)
            world.documents[result.digest] = document
            result.answer.body = JSONWriter.compact(document)
            update = .result(result)
        }
        switch results.decide(
            update, id: operation.id, byteCount: \.answer.byteCount, unwrittenBytes: unwrittenBytes)
        {
        case .write(let result): write(result, of: operation)
        case .confirm(let known):
            write(
                ResultFormat.unchanged(id: operation.id, EntityTag(known, of: operation.query.key)),
                digest: known.digest)
        case .hold: if world.sabotage == .patchedFromUnwritten { operation.mistakeForWritten(update) }
        case .close: perform(machine.close(1013, "The client reads too slowly, try again later"))
        case .fail(let error):
            operation.delta.failed()
            operation.resume.failed()
            perform(machine.refreshFailed(id: operation.id, [error]))
        case .end(let refusal): preconditionFailure("no simulated query reads the time, but: \(refusal)")
        }
    }

    private func write(_ result: LiveResult, of operation: FollowedOperation) {
        let (id, tag) = (operation.id, EntityTag(result, of: operation.query.key))
        var format = ResultFormat.next
        if operation.resume.isOn {
            format = .taggedNext
            if operation.resume.advance(to: result.digest) {
                return write(ResultFormat.unchanged(id: id, tag), digest: result.digest)
            }
        }
        var text = format.prefix(id: id) + format.rest(of: result, key: operation.query.key)
        if operation.delta.isOn {
            if let held = operation.delta.advance(to: result.digest),
                let patch = gateway.deltas[hub].patch(from: held, to: result.digest, result.answer),
                let prefix = format.deltaPrefix(id: id)
            {
                text = prefix + ResultFormat.deltaRest(patch, tag: format == .taggedNext ? tag : nil)
            }
            gateway.deltas[hub].remember(result.digest, result.answer)
        }
        write(text, digest: result.digest)
    }

    /// - Parameter digest: of the result that the app is to have after this message.
    private func write(_ text: [UInt8], digest: Digest?) {
        unwrittenBytes += text.count
        pass(.toApp) { [self] in
            unwrittenBytes -= text.count
            app.received(self, text, digest: digest)
            gateway.later(0) { [self] in writeWaiting() }
        }
    }

    private func writeWaiting() {
        while !isOver, let next = results.next(unwrittenBytes: unwrittenBytes) {
            if let operation = operations[next.id] { write(next.item, of: operation) }
        }
    }
}
