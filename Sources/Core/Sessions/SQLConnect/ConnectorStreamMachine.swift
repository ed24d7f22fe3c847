package import LiveModel

/// One stream of a SQL Connect client: `ConnectorStreamService.Connect` over WebSocket or gRPC.
/// Source: docs/reference/sql-connect.md §2.
///
/// There is no opening message: clients send requests at once. The first message binds the connector. Any message may
/// bring a token, which applies from that message on, so messages that arrive while a token is being verified wait for
/// the result. Errors of one operation are reported under its id, and the stream continues. When the token of a
/// subscription has ended, the error comes with the end of the stream: web clients send a new token only with their
/// next message, but connect again with it when the socket closes. A subscription that was refused or has failed is
/// remembered until the client cancels it: web clients then ask with `resume` whether the reason is gone. They also
/// send `resume` right behind `subscribe`, so a refusal waits a little for it (`SessionAction.refuse`).
package struct ConnectorStreamMachine<Encoding: StreamEncoding>: SessionMachine {
    package static var traits: SessionTraits {
        SessionTraits(
            protocolName: Encoding.protocolName, format: Encoding.format, takesNewTokens: true, reportsTimerRuns: true)
    }

    private enum Activity: Sendable {
        case subscription(StreamRequest.Execute)
        case once
    }

    private enum TokenState: Sendable {
        /// The last token was accepted, or the client is signed out.
        case accepted
        case verifying
        // Indirect, as below: every idle session would carry the room of an error.
        indirect case refused(RequestError)
    }

    /// The outcome of the first message that names a connector.
    private enum Binding: Sendable {
        case connector(ConnectorName)
        indirect case refused(SQLConnectFailure)
    }

    /// Messages that wait while a token is verified: everything that a client may start, and as much again.
    private var waitingMax: Int { 256 + 2 * operationsMax }

    private let service: ServiceIdentity
    private let operationsMax: Int
    /// The latest of each: a message may bring only some of them.
    private var credentials: Credentials
    private var active: [String: Activity] = [:]
    /// Subscriptions that were refused or have failed, at most `operationsMax`: further ones are not remembered.
    private var ended: [String: StreamRequest.Execute] = [:]
    private var binding: Binding?
    private var tokenState = TokenState.accepted
    /// The credentials verified last; nil: the next ones are to be verified even if they are the same.
    private var verified: Credentials? = Credentials.none
    private var waiting: WaitingMessages<StreamRequest>
    private var hasBegun = false
    private var isClosed = false

    package init(_ opening: SessionOpening, service: ServiceIdentity) {
        self.service = service
        operationsMax = opening.operationsMax
        waiting = WaitingMessages(bytesMax: opening.waitingBytesMax)
        credentials = opening.credentials
    }

    package var operationCount: Int { active.count + waiting.count }
    package func isActive(_ id: String) -> Bool { active[id] != nil }

    // MARK: From the client

    package mutating func opened() -> [SessionAction] {
        credentials == .none ? [] : verify()
    }

    package mutating func received(text: [UInt8]) -> [SessionAction] { received(text) }
    package mutating func received(binary: [UInt8]) -> [SessionAction] { received(binary) }

    private mutating func received(_ bytes: [UInt8]) -> [SessionAction] {
        guard !isClosed else { return [] }
        let request: StreamRequest
        do throws(StreamFrameError) {
            request = try Encoding.decode(bytes)
        } catch {
            guard let id = error.requestID else { return close(1007, error.message) }
            hasBegun = true
            return [refusal(id, RequestError(.badRequest, error.message))]
        }
        return received(request, bytes: bytes.count)
    }

    private mutating func received(_ request: StreamRequest, bytes: Int) -> [SessionAction] {
        guard !isClosed else { return [] }
        hasBegun = true
        if case .verifying = tokenState {
            guard waiting.count < waitingMax, waiting.append(request, bytes: bytes) else {
                return close(1008, "Too many messages before the token is verified")
            }
            return []
        }
        return take(request, bytes: bytes)
    }

    private mutating func take(_ request: StreamRequest, bytes: Int) -> [SessionAction] {
        bind(request.name)
        if request.token != nil || request.apiKey != nil {
            credentials.bearer = request.token ?? credentials.bearer
            credentials.apiKey = request.apiKey ?? credentials.apiKey
            if credentials != verified {
                var rest = request
                rest.headers = request.headers.filter { $0.key == IdempotencyKey.headerName }
                guard rest.kind == nil || waiting.append(rest, bytes: bytes) else {
                    return close(1008, "Too many messages before the token is verified")
                }
                return verify()
            }
        }
        let id = request.requestID
        switch request.kind {
        case nil: return []
        case .subscribe(let wanted): return start(id, wanted, .follow)
        case .execute(let wanted): return start(id, wanted.with(request.headers), .once)
        case .resume: return resume(id)
        case .cancel:
            if ended.removeValue(forKey: id) != nil { return [.withdrawRefusal(id: id)] }
            return active.removeValue(forKey: id) == nil ? [] : [.stop(id: id)]
        }
    }

    private mutating func verify() -> [SessionAction] {
        tokenState = .verifying
        verified = credentials
        // An empty token signs out.
        return [
            .authenticate(
                Credentials(
                    bearer: credentials.bearer.flatMap { $0.isEmpty ? nil : $0 }, apiKey: credentials.apiKey))
        ]
    }

    /// The first message that names a connector decides it for the stream.
    private mutating func bind(_ text: String) {
        guard !text.isEmpty, binding == nil else { return }
        let form = "\"name\" must be projects/P/locations/L/services/S/connectors/C"
        guard let name = ConnectorName(text) else { return binding = .refused(SQLConnectFailure(.badRequest, form)) }
        binding = service.refusal(of: name).map { .refused($0) } ?? .connector(name)
    }

    private mutating func start(_ id: String, _ wanted: StreamRequest.Execute, _ mode: StartMode) -> [SessionAction] {
        if case .refused(let error) = tokenState {
            if mode == .follow, active[id] == nil, case .connector? = binding { remember(id, wanted) }
            return [mode == .follow ? subscriptionRefusal(id, [error]) : refusal(id, error)]
        }
        guard id.utf8.count <= operationIDBytesMax else {
            return [refusal(id, RequestError(.badRequest, "\"requestId\" is longer than \(operationIDBytesMax) bytes"))]
        }
        switch binding {
        case .connector: break
        case .refused(let failure): return [refusal(id, failure.error)]
        case nil: return [refusal(id, RequestError(.badRequest, "the first message must have a \"name\""))]
        }
        var actions: [SessionAction] = []
        switch (active[id], mode) {
        case (nil, _): break
        // A client that subscribes again under an id wants a new subscription.
        case (.subscription, .follow): actions.append(.stop(id: id))
        case (.some, _): return [refusal(id, RequestError(.badRequest, "this \"requestId\" is in use"))]
        }
        return actions + begin(id, wanted, mode)
    }

    /// Starts an operation of the connector, which is bound.
    private mutating func begin(_ id: String, _ wanted: StreamRequest.Execute, _ mode: StartMode) -> [SessionAction] {
        guard case .connector(let name)? = binding else { return [] }
        ended[id] = nil
        guard active[id] != nil || active.count < operationsMax else {
            let error = RequestError.operationsMaximum(operationsMax)
            guard mode == .follow else { return [refusal(id, error)] }
            remember(id, wanted)
            return [subscriptionRefusal(id, [error])]
        }
        let request: OperationRequest
        do { request = try wanted.request(of: name.connector) } catch { return [refusal(id, error)] }
        active[id] = mode == .follow ? .subscription(wanted.compacted) : .once
        return [.start(id: id, request, mode)]
    }

    private mutating func remember(_ id: String, _ wanted: StreamRequest.Execute) {
        guard id.utf8.count <= operationIDBytesMax, ended[id] != nil || ended.count < operationsMax else { return }
        ended[id] = wanted
    }

    private mutating func resume(_ id: String) -> [SessionAction] {
        switch active[id] {
        case .subscription: return [.rerun(id: id)]
        // The next message under this id is its answer anyway.
        case .once: return []
        case nil:
            if let wanted = ended[id] {
                if case .refused(let error) = tokenState { return [subscriptionRefusal(id, [error])] }
                return begin(id, wanted, .follow)
            }
            return [refusal(id, RequestError(.operationNotFound, "nothing is subscribed under this \"requestId\""))]
        }
    }

    // MARK: From the service

    package mutating func authenticated() -> [SessionAction] {
        guard !isClosed, case .verifying = tokenState else { return [] }
        tokenState = .accepted
        return takeWaiting()
    }

    /// Running operations continue under the token that allowed them.
    package mutating func rejected(_ error: RequestError) -> [SessionAction] {
        guard !isClosed, case .verifying = tokenState else { return [] }
        if Encoding.endsWhenUnauthenticated { return end(error) }
        tokenState = .refused(error)
        // The keys may be available when it comes again.
        if error.code != .unauthenticated { verified = nil }
        return takeWaiting()
    }

    private mutating func takeWaiting() -> [SessionAction] {
        var actions: [SessionAction] = []
        let messages = waiting.takeAll()
        for (index, next) in messages.enumerated() {
            actions += take(next.message, bytes: next.bytes)
            if case .verifying = tokenState {
                // They fitted before, so there is room for them.
                for later in messages[(index + 1)...] { _ = waiting.append(later.message, bytes: later.bytes) }
                break
            }
        }
        return actions
    }

    package mutating func initTimedOut() -> [SessionAction] {
        hasBegun ? [] : close(1008, "No message in time")
    }

    package mutating func finished(id: String, answer: OperationAnswer) -> [SessionAction] {
        guard active.removeValue(forKey: id) != nil else { return [] }
        return [.send(Encoding.encode(StreamResponse(requestID: id, answer: answer)))]
    }

    package mutating func failed(id: String, _ errors: [RequestError]) -> [SessionAction] {
        switch active.removeValue(forKey: id) {
        case nil: return []
        case .once?: return [refusal(id, errors)]
        case .subscription(let wanted)?:
            remember(id, wanted)
            return [subscriptionRefusal(id, errors)]
        }
    }

    package mutating func refreshFailed(id: String, _ errors: [RequestError]) -> [SessionAction] {
        active[id] == nil ? [] : [refusal(id, errors)]
    }

    package mutating func expired(ids: [String], _ error: RequestError) -> [SessionAction] {
        guard !isClosed else { return [] }
        if ids.isEmpty {
            // The same token may be sent again, but it is not the one awaited.
            tokenState = if case .verifying = tokenState { .verifying } else { .refused(error) }
            return []
        }
        if Encoding.endsWhenUnauthenticated { return end(error) }
        return ids.filter(isActive).map { refusal($0, error) } + close(4403, error.closeReason)
    }

    package mutating func close(_ code: UInt16, _ reason: String) -> [SessionAction] {
        guard !isClosed else { return [] }
        over()
        return [SessionMessage.closing(code, reason)]
    }

    /// The stream ends with a status of its own.
    private mutating func end(_ error: RequestError) -> [SessionAction] {
        over()
        return [.end(error)]
    }

    private mutating func over() {
        isClosed = true
        active = [:]
        ended = [:]
        _ = waiting.takeAll()
    }

    // MARK: Texts

    private func refusal(_ id: String, _ error: RequestError) -> SessionAction { refusal(id, [error]) }

    private func refusal(_ id: String, _ errors: [RequestError]) -> SessionAction {
        .send(Encoding.encode(StreamResponse(requestID: id, answer: OperationAnswer(failed: errors))))
    }

    private func subscriptionRefusal(_ id: String, _ errors: [RequestError]) -> SessionAction {
        .refuse(id: id, Encoding.encode(StreamResponse(requestID: id, answer: OperationAnswer(failed: errors))))
    }
}
