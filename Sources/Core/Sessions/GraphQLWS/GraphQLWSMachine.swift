import JSON
package import LiveModel

/// One session of the older subprotocol `graphql-ws`. Source: apollographql/subscriptions-transport-ws PROTOCOL.md, and
/// its server where the text is silent: starts wait for `connection_init`, a reused id replaces the earlier operation,
/// and an unknown message is answered without closing the socket.
package struct GraphQLWSMachine: SessionMachine {
    package static let subprotocol = "graphql-ws"
    package static let traits = SessionTraits(protocolName: subprotocol, format: .data, sendsKeepAlives: true)

    private enum State: Sendable {
        case awaitingInit
        case authenticating
        case ready
        case closed
    }

    private var state = State.awaitingInit
    private var operations: Set<String> = []
    /// Starts that wait for `connection_init`; they count as operations.
    private var waiting: WaitingMessages<(id: String, request: OperationRequest)>
    private let opening: SessionOpening

    package init(_ opening: SessionOpening) {
        self.opening = opening
        waiting = WaitingMessages(bytesMax: opening.waitingBytesMax)
    }

    package var operationCount: Int { operations.count + waiting.count }

    package func isActive(_ id: String) -> Bool { operations.contains(id) }

    // MARK: From the client

    package mutating func received(text: [UInt8]) -> [SessionAction] {
        if case .closed = state { return [] }
        guard let message = SessionMessage.object(text) else { return [Self.connectionError("Message must be JSON")] }
        switch (message["type"]?.stringValue, state) {
        case ("connection_init", .awaitingInit):
            state = .authenticating
            let payload = message["payload"]?.objectValue
            return [.authenticate(Credentials(payload: payload).completed(by: opening.credentials))]
        case ("connection_init", _): return [Self.connectionError("The connection is initialised already")]
        case ("connection_terminate", _): return close(1000, "Normal Closure")
        case ("start", _): return start(message, bytes: text.count)
        case ("stop", _):
            guard let id = SessionMessage.id(of: message) else { return [] }
            return stop(id)
        default:
            return [Self.error(id: SessionMessage.id(of: message), RequestError(.badRequest, "Invalid message type!"))]
        }
    }

    package mutating func received(binary: [UInt8]) -> [SessionAction] {
        if case .closed = state { return [] }
        return [Self.connectionError("Messages must be text")]
    }

    private mutating func start(_ message: JSONObject, bytes: Int) -> [SessionAction] {
        guard let id = SessionMessage.id(of: message) else {
            return [Self.error(id: nil, RequestError(.badRequest, "\"id\" must be a non-empty string"))]
        }
        guard case .object(let payload)? = message["payload"] else {
            return [Self.error(id: id, RequestError(.badRequest, "\"payload\" must be an object"))]
        }
        let request: OperationRequest
        do {
            request = try OperationRequest(graphQL: payload)
        } catch {
            return [Self.error(id: id, error)]
        }
        let replaced = remove(id)
        guard operationCount < opening.operationsMax else {
            return replaced + [Self.error(id: id, .operationsMaximum(opening.operationsMax))]
        }
        guard case .ready = state else {
            return waiting.append((id, request), bytes: bytes)
                ? replaced : replaced + [Self.error(id: id, .tooMuchWaits)]
        }
        operations.insert(id)
        return replaced + [.start(id: id, request, .byText)]
    }

    private mutating func stop(_ id: String) -> [SessionAction] {
        guard operations.contains(id) || waiting.contains(where: { $0.id == id }) else { return [] }
        return remove(id) + [.send(SessionMessage.text("complete", id: id))]
    }

    private mutating func remove(_ id: String) -> [SessionAction] {
        waiting.removeAll { $0.id == id }
        return operations.remove(id) == nil ? [] : [.stop(id: id)]
    }

    // MARK: From the service

    package mutating func authenticated() -> [SessionAction] {
        guard case .authenticating = state else { return [] }
        state = .ready
        let starts = waiting.takeAll().map(\.message)
        operations.formUnion(starts.map(\.id))
        // Clients expect further keep-alives once they got the first one.
        return [.send(SessionMessage.text("connection_ack")), .send(SessionMessage.text("ka"))]
            + starts.map { .start(id: $0.id, $0.request, .byText) }
    }

    package mutating func rejected(_ error: RequestError) -> [SessionAction] {
        guard case .authenticating = state else { return [] }
        return [Self.connectionError(error.message)] + close(1011, "Forbidden")
    }

    package mutating func initTimedOut() -> [SessionAction] {
        guard case .awaitingInit = state else { return [] }
        return close(4408, "Connection initialisation timeout")
    }

    package mutating func finished(id: String, answer: OperationAnswer) -> [SessionAction] {
        guard operations.remove(id) != nil else { return [] }
        return [
            .send(SessionMessage.text("data", id: id, payload: answer.envelope)),
            .send(SessionMessage.text("complete", id: id)),
        ]
    }

    package mutating func failed(id: String, _ errors: [RequestError]) -> [SessionAction] {
        guard operations.remove(id) != nil else { return [] }
        return [Self.error(id: id, errors.first ?? RequestError(.internalError, "the operation failed"))]
    }

    /// A result whose `data` is null: `error` would mean that the query never ran.
    package mutating func queryFailed(id: String, _ errors: [RequestError]) -> [SessionAction] {
        finished(id: id, answer: OperationAnswer(body: ResultEnvelope.null, errors: errors))
    }

    package mutating func refreshFailed(id: String, _ errors: [RequestError]) -> [SessionAction] {
        guard operations.contains(id) else { return [] }
        let envelope = ResultEnvelope.errors(errors, body: ResultEnvelope.null)
        return [.send(SessionMessage.text("data", id: id, payload: envelope))]
    }

    /// No `error` for each operation, which clients take as its end: they reconnect and start again.
    package mutating func expired(ids: [String], _ error: RequestError) -> [SessionAction] {
        close(4403, error.closeReason)
    }

    package mutating func keepAliveDue() -> [SessionAction] {
        guard case .ready = state else { return [] }
        return [.send(SessionMessage.text("ka"))]
    }

    package mutating func close(_ code: UInt16, _ reason: String) -> [SessionAction] {
        if case .closed = state { return [] }
        state = .closed
        operations = []
        _ = waiting.takeAll()
        return [SessionMessage.closing(code, reason)]
    }

    // MARK: Texts

    private static func connectionError(_ message: String) -> SessionAction {
        .send(SessionMessage.text("connection_error", payload: ["message": .string(message)]))
    }

    /// One object, not an array.
    private static func error(id: String?, _ error: RequestError) -> SessionAction {
        .send(SessionMessage.text("error", id: id, payload: error.graphQLError))
    }
}
