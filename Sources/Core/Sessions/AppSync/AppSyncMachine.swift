import JSON
package import LiveModel

/// One session of AppSync's real-time WebSocket, which shares its subprotocol's name with `graphql-ws`.
///
/// Every start carries its own authorization. If it differs from that of the session, it is verified before the start,
/// and then holds for the session; if it is rejected, only that start fails.
package struct AppSyncMachine: SessionMachine {
    package static let subprotocol = "graphql-ws"
    package static let traits = SessionTraits(
        protocolName: "appsync", format: .data, takesNewTokens: true, sendsKeepAlives: true)

    /// The time within which a client expects a `ka` or another message; Amplify reconnects otherwise.
    package static let connectionTimeoutMs: Int64 = 300_000

    private enum State: Sendable {
        case awaitingInit
        case authenticating
        case ready
        /// A start brought another token, which is being verified.
        case verifying(AppSyncAuthorization)
        case closed
    }

    private struct Start: Sendable {
        let id: String
        let request: OperationRequest
        let authorization: AppSyncAuthorization
    }

    private var state = State.awaitingInit
    private var operations: Set<String> = []
    /// Starts that wait for verification, in order; they count as operations.
    private var waiting: WaitingMessages<Start>
    /// The session's credentials; nil once they expired.
    private var current: AppSyncAuthorization?
    private let opening: SessionOpening

    /// - Parameter handshake: what came with the upgrade.
    package init(_ opening: SessionOpening, handshake: AppSyncAuthorization) {
        self.opening = opening
        waiting = WaitingMessages(bytesMax: opening.waitingBytesMax)
        current = handshake
    }

    package var operationCount: Int { operations.count + waiting.count }

    package func isActive(_ id: String) -> Bool { operations.contains(id) }

    // MARK: From the client

    package mutating func received(text: [UInt8]) -> [SessionAction] {
        if case .closed = state { return [] }
        guard let message = SessionMessage.object(text) else { return [Self.badRequest(id: nil, "not a JSON object")] }
        switch (message["type"]?.stringValue, state) {
        case ("connection_init", .awaitingInit): return introduce()
        case ("connection_init", _): return [Self.badRequest(id: nil, "the connection is initialised already")]
        case ("start", .awaitingInit): return introduce() + start(message, bytes: text.count)
        case ("start", _): return start(message, bytes: text.count)
        case ("stop", _):
            guard let id = SessionMessage.id(of: message) else {
                return [Self.badRequest(id: nil, "\"id\" must be a non-empty string")]
            }
            return stop(id)
        default: return [Self.badRequest(id: SessionMessage.id(of: message), "unknown message type")]
        }
    }

    package mutating func received(binary: [UInt8]) -> [SessionAction] {
        if case .closed = state { return [] }
        return [Self.badRequest(id: nil, "messages must be text")]
    }

    private mutating func introduce() -> [SessionAction] {
        switch current {
        case .malformed?:
            let error = RequestError(.badRequest, "\"header\" is not base64 of a JSON object")
            return [.send(SessionMessage.text("connection_error", payload: Self.payload([error])))]
                + close(4400, "Invalid authorization header")
        case .bearer?, .apiKey?, .signedOut?, nil:
            state = .authenticating
            return [.authenticate(current?.credentials ?? .none)]
        }
    }

    /// `payload.data` is JSON inside a string.
    private mutating func start(_ message: JSONObject, bytes: Int) -> [SessionAction] {
        if case .closed = state { return [] }
        guard let id = SessionMessage.id(of: message) else {
            return [Self.badRequest(id: nil, "\"id\" must be a non-empty string")]
        }
        guard !operations.contains(id), !waiting.contains(where: { $0.id == id }) else {
            let error = ("DuplicatedOperationError", 409, "an operation with this id is active already")
            return [.send(SessionMessage.text("error", id: id, payload: Self.payload([error])))]
        }
        let payload = message["payload"]?.objectValue
        guard let data = payload?["data"]?.stringValue, let object = SessionMessage.object(Array(data.utf8)) else {
            return [Self.badRequest(id: id, "\"payload.data\" must be a JSON object as a string")]
        }
        let request: OperationRequest
        do {
            request = try OperationRequest(graphQL: object)
        } catch {
            return [Self.badRequest(id: id, error.message)]
        }
        guard operationCount < opening.operationsMax else {
            return [.send(Self.errorText(id: id, [.operationsMaximum(opening.operationsMax)]))]
        }
        let own = payload?["extensions"]?["authorization"]?.objectValue.map { AppSyncAuthorization($0) }
        let start = Start(id: id, request: request, authorization: own ?? .signedOut)
        guard waiting.append(start, bytes: bytes) else { return [.send(Self.errorText(id: id, [.tooMuchWaits]))] }
        return next()
    }

    private mutating func stop(_ id: String) -> [SessionAction] {
        var actions: [SessionAction] = []
        if operations.remove(id) != nil { actions.append(.stop(id: id)) }
        waiting.removeAll { $0.id == id }
        // Clients wait for `complete`, whatever the outcome of the operation.
        return actions + [.send(SessionMessage.text("complete", id: id))]
    }

    /// Begins the waiting starts, up to one whose token must be verified first.
    private mutating func next() -> [SessionAction] {
        guard case .ready = state else { return [] }
        var actions: [SessionAction] = []
        while let start = waiting.first {
            if start.authorization != current, needsVerification(start.authorization) {
                state = .verifying(start.authorization)
                return actions + [.authenticate(start.authorization.credentials)]
            }
            _ = waiting.removeFirst()
            operations.insert(start.id)
            actions.append(.start(id: start.id, start.request, .byText))
        }
        return actions
    }

    /// A key names an app, not a user: a key next to a user's token changes nothing, and must not sign the user out.
    private func needsVerification(_ authorization: AppSyncAuthorization) -> Bool {
        switch (authorization, current) {
        case (.bearer, _): true
        case (.apiKey, .bearer?), (.signedOut, _), (.malformed, _): false
        case (.apiKey, _): true
        }
    }

    // MARK: From the service

    package mutating func authenticated() -> [SessionAction] {
        switch state {
        case .authenticating:
            state = .ready
            let payload: JSONValue = ["connectionTimeoutMs": .int(Self.connectionTimeoutMs)]
            return [
                .send(SessionMessage.text("connection_ack", payload: payload)), .send(SessionMessage.text("ka")),
            ] + next()
        case .verifying(let authorization):
            state = .ready
            current = authorization
            return next()
        case .awaitingInit, .ready, .closed: return []
        }
    }

    package mutating func rejected(_ error: RequestError) -> [SessionAction] {
        switch state {
        case .authenticating:
            return [.send(SessionMessage.text("connection_error", payload: Self.payload([error])))]
                + close(4403, "Forbidden")
        case .verifying(let authorization):
            state = .ready
            let refused = waiting.removeAll { $0.authorization == authorization }
            return refused.map { .send(Self.errorText(id: $0.id, [error])) } + next()
        case .awaitingInit, .ready, .closed: return []
        }
    }

    package mutating func initTimedOut() -> [SessionAction] {
        guard case .awaitingInit = state else { return [] }
        return close(4408, "Connection initialisation timeout")
    }

    package mutating func started(id: String) -> [SessionAction] {
        operations.contains(id) ? [.send(SessionMessage.text("start_ack", id: id))] : []
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
        return [.send(Self.errorText(id: id, errors))]
    }

    package mutating func refreshFailed(id: String, _ errors: [RequestError]) -> [SessionAction] {
        guard operations.contains(id) else { return [] }
        let envelope = ResultEnvelope.errors(errors, body: Array("null".utf8))
        return [.send(SessionMessage.text("data", id: id, payload: envelope))]
    }

    /// Amplify sends a new token only with its next start, but connects again with it when the socket closes.
    package mutating func expired(ids: [String], _ error: RequestError) -> [SessionAction] {
        current = nil
        return ids.isEmpty ? [] : ids.flatMap { failed(id: $0, [error]) } + close(4403, error.closeReason)
    }

    package mutating func keepAliveDue() -> [SessionAction] {
        switch state {
        case .ready, .verifying: [.send(SessionMessage.text("ka"))]
        case .awaitingInit, .authenticating, .closed: []
        }
    }

    package mutating func close(_ code: UInt16, _ reason: String) -> [SessionAction] {
        if case .closed = state { return [] }
        state = .closed
        operations = []
        _ = waiting.takeAll()
        return [SessionMessage.closing(code, reason)]
    }

    // MARK: Texts

    private static func badRequest(id: String?, _ message: String) -> SessionAction {
        .send(errorText(id: id, [RequestError(.badRequest, message)]))
    }

    private static func errorText(id: String?, _ errors: [RequestError]) -> [UInt8] {
        SessionMessage.text("error", id: id, payload: payload(errors))
    }

    private static func payload(_ errors: [RequestError]) -> JSONValue {
        payload(errors.map { (errorType(of: $0.code), $0.code.httpStatus, $0.message) })
    }

    private static func payload(_ errors: [(type: String, code: Int, message: String)]) -> JSONValue {
        [
            "errors": .array(
                errors.map {
                    ["errorType": .string($0.type), "errorCode": .int(Int64($0.code)), "message": .string($0.message)]
                })
        ]
    }

    /// The types that Amplify distinguishes by name, and AppSync's names for the rest.
    static func errorType(of code: ErrorCode) -> String {
        switch code {
        case .unauthenticated, .permissionDenied: "UnauthorizedException"
        case .limitExceeded: "MaxSubscriptionsReachedError"
        case .badRequest, .invalidVariable, .operationNotFound, .notFound, .methodNotAllowed, .notAcceptable,
            .unsupportedMediaType, .payloadTooLarge, .constraintViolation, .idempotencyKeyReused,
            .idempotencyKeyInUse, .alreadyApplied:
            "BadRequestException"
        case .databaseError, .resolverFailed, .timeout, .unavailable, .outcomeUnknown, .internalError: "InternalFailure"
        }
    }
}
