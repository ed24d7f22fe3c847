import JSON
package import LiveModel

/// One session of the `graphql-transport-ws` subprotocol. Source: enisdenjo/graphql-ws PROTOCOL.md.
package struct GraphQLTransportWSMachine: SessionMachine {
    package static let subprotocol = "graphql-transport-ws"
    package static let traits = SessionTraits(protocolName: subprotocol, format: .next)

    private enum State: Sendable {
        case awaitingInit
        case authenticating
        case ready
        case closed
    }

    private var state = State.awaitingInit
    private var operations: Set<String> = []
    /// The waits under way.
    private var waits: Set<String> = []
    private let opening: SessionOpening
    /// Nil: the client did not ask for invalidations.
    private var invalidations: FollowedInvalidations?

    package init(_ opening: SessionOpening) {
        self.opening = opening
    }

    package var operationCount: Int { operations.count }

    package func isActive(_ id: String) -> Bool { operations.contains(id) }

    // MARK: From the client

    package mutating func received(text: [UInt8]) -> [SessionAction] {
        guard let message = SessionMessage.object(text), let type = message["type"]?.stringValue else {
            return close(4400, "Invalid message received")
        }
        switch (type, state) {
        case (_, .closed): return []
        case ("ping", _):
            guard let payload = SessionMessage.payload(of: message) else {
                return close(4400, "\"payload\" must be an object")
            }
            if let request = SessionWait.request(in: payload) { return wait(request) }
            return [.send(SessionMessage.text("pong", payload: payload.map(JSONValue.object)))]
        case ("pong", _): return []
        case ("connection_init", .awaitingInit):
            guard let payload = SessionMessage.payload(of: message) else {
                return close(4400, "\"payload\" must be an object")
            }
            state = .authenticating
            if let text = payload?["freshet"]?["invalidations"]?.stringValue {
                invalidations = FollowedInvalidations(text)
            }
            return [.authenticate(Credentials(payload: payload).completed(by: opening.credentials))]
        case ("connection_init", _): return close(4429, "Too many initialisation requests")
        // Apollo iOS 1.x closes with the old protocol's message.
        case ("connection_terminate", _): return close(1000, "Normal Closure")
        case ("subscribe", .awaitingInit), ("subscribe", .authenticating): return close(4401, "Unauthorized")
        case ("subscribe", .ready): return subscribe(message)
        case ("complete", _):
            guard let id = SessionMessage.id(of: message) else {
                return close(4400, "\"id\" must be a non-empty string")
            }
            return operations.remove(id) == nil ? [] : [.stop(id: id)]
        default: return close(4400, "Invalid message received")
        }
    }

    private mutating func wait(_ request: JSONValue) -> [SessionAction] {
        do throws(RequestError) {
            let (id, position) = try SessionWait.read(request)
            if let refusal = refusal(ofWait: id) { return [.send(SessionWait.answer(id: id, refusal))] }
            waits.insert(id)
            return [.wait(id: id, position: position)]
        } catch {
            return close(4400, error.message)
        }
    }

    private func refusal(ofWait id: String) -> RequestError? {
        guard case .ready = state else {
            return RequestError(.unauthenticated, "the connection is not initialised yet")
        }
        if waits.contains(id) { return RequestError(.badRequest, "the wait \(id.prefix(80)) is under way already") }
        guard waits.count < opening.waitsMax else {
            return RequestError(.limitExceeded, "this connection has reached its maximum of \(opening.waitsMax) waits")
        }
        return nil
    }

    package mutating func received(binary: [UInt8]) -> [SessionAction] {
        close(4400, "Invalid message received")
    }

    private mutating func subscribe(_ message: JSONObject) -> [SessionAction] {
        guard let id = SessionMessage.id(of: message) else { return close(4400, "\"id\" must be a non-empty string") }
        guard case .object(let payload)? = message["payload"] else {
            return close(4400, "\"payload\" must be an object")
        }
        guard payload["query"]?.stringValue != nil else { return close(4400, "\"payload.query\" must be a string") }
        let request: OperationRequest
        do {
            request = try OperationRequest(graphQL: payload)
        } catch {
            return close(4400, "payload: \(error.message)")
        }
        guard !operations.contains(id) else { return close(4409, "Subscriber for \(id.prefix(80)) already exists") }
        guard operations.count < opening.operationsMax else {
            return [.send(Self.errorMessage(id: id, [.operationsMaximum(opening.operationsMax)]))]
        }
        operations.insert(id)
        return [.start(id: id, request, .byText)]
    }

    // MARK: From the service

    package mutating func authenticated() -> [SessionAction] {
        guard case .authenticating = state else { return [] }
        state = .ready
        return [.send(SessionMessage.text("connection_ack"))]
    }

    /// A `ping` with a payload, which the protocol allows at any time.
    package mutating func invalidated(_ invalidations: Invalidations) -> [SessionAction] {
        guard case .ready = state, let told = self.invalidations?.told(of: invalidations) else { return [] }
        return [.send(SessionMessage.text("ping", payload: ["freshet": ["invalidations": told]]))]
    }

    package mutating func waited(id: String, _ error: RequestError?) -> [SessionAction] {
        waits.remove(id) == nil ? [] : [.send(SessionWait.answer(id: id, error))]
    }

    package mutating func rejected(_ error: RequestError) -> [SessionAction] {
        close(4403, "Forbidden")
    }

    package mutating func initTimedOut() -> [SessionAction] {
        guard case .awaitingInit = state else { return [] }
        return close(4408, "Connection initialisation timeout")
    }

    /// `next`, then `complete`.
    package mutating func finished(id: String, answer: OperationAnswer) -> [SessionAction] {
        guard operations.remove(id) != nil else { return [] }
        return [
            .send(SessionMessage.text("next", id: id, payload: answer.envelope)),
            .send(SessionMessage.text("complete", id: id)),
        ]
    }

    package mutating func failed(id: String, _ errors: [RequestError]) -> [SessionAction] {
        guard operations.remove(id) != nil else { return [] }
        return [.send(Self.errorMessage(id: id, errors))]
    }

    /// A result whose `data` is null: `error` would mean that the query never ran.
    package mutating func queryFailed(id: String, _ errors: [RequestError]) -> [SessionAction] {
        finished(id: id, answer: OperationAnswer(body: ResultEnvelope.null, errors: errors))
    }

    package mutating func refreshFailed(id: String, _ errors: [RequestError]) -> [SessionAction] {
        guard operations.contains(id) else { return [] }
        let envelope = ResultEnvelope.errors(errors, body: ResultEnvelope.null)
        return [.send(SessionMessage.text("next", id: id, payload: envelope))]
    }

    /// No `error` for each operation: that would end them for good, while clients react to 4403 by reconnecting with
    /// their current token and subscribing again.
    package mutating func expired(ids: [String], _ error: RequestError) -> [SessionAction] {
        close(4403, error.closeReason)
    }

    package mutating func close(_ code: UInt16, _ reason: String) -> [SessionAction] {
        if case .closed = state { return [] }
        state = .closed
        (operations, waits) = ([], [])
        return [SessionMessage.closing(code, reason)]
    }

    private static func errorMessage(id: String, _ errors: [RequestError]) -> [UInt8] {
        SessionMessage.text("error", id: id, payload: .array(errors.map(\.graphQLError)))
    }
}
