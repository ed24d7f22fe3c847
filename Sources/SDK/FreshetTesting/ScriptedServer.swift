import Foundation
public import FreshetClient
package import FreshetTransport
import JSON

/// A server in memory, for tests of apps: the app's connector, cache and queue are the real ones, and the test says
/// what the server answers.
///
///     let server = ScriptedServer()
///     let auctions = server.connector(AuctionsConnector.self)
///     server.set(ListLots.self, to: ["lots": [["id": "…", "title": "A clock"]]])
///     server.answer(PlaceBid.self) { variables in .success(["bid_insert": ["id": "…"]]) }
///
/// Long, because it stands in for a server's sockets and requests alike.
public final class ScriptedServer: Sendable {
    public typealias Answer = Result<AnyValue, ResponseError>

    /// A request that arrived.
    public struct Request: Sendable, Hashable {
        public let operation: String
        public let variables: AnyValue
        public let idempotencyKey: String?
        public let token: String?
    }

    private struct Socket {
        let onEvent: @Sendable (SocketEvent) -> Void
        var token: String?
        /// The operation and its variables by subscription id.
        var subscriptions: [String: (operation: String, variables: JSONValue)] = [:]
    }

    private struct State {
        var isOnline = true
        var sockets: [Int: Socket] = [:]
        var lastSocket = 0
        var results: [String: @Sendable (AnyValue) -> Answer] = [:]
        var answers: [String: @Sendable (AnyValue) -> Answer] = [:]
        var kept: [String: Answer] = [:]
        var requests: [Request] = []
        var connections = 0
        var lostAnswers = 0
        /// The positions of committed mutations, by idempotency key.
        var positions: [String: Int] = [:]
        var waits: [String?] = []
        var waitFailure: ResponseError?
        var areWaitsHeld = false
        var heldWaits: [@Sendable () -> Void] = []
        var areAnswersHeld = false
        var heldAnswers: [CheckedContinuation<Void, Never>] = []
        var nextResponses: [Result<TransportResponse, TransportFailure>] = []
        var isTokenRejected: @Sendable (String?) -> Bool = { _ in false }
    }

    private let state = Locked(State())

    public init() {}

    /// A connector that talks to this server.
    public func connector<Connector: FreshetConnector>(
        _ type: Connector.Type, cache: CacheSettings = .memory(), auth: AuthSource = .none,
        options: ConnectorOptions = ConnectorOptions()
    ) -> Connector {
        Connector(link: link(Connector.identity, cache: cache, auth: auth, options: options, time: SystemTime()))
    }

    package func link(
        _ identity: ConnectorIdentity, cache: CacheSettings, auth: AuthSource, options: ConnectorOptions,
        time: any EngineTime
    ) -> ConnectorLink {
        ConnectorLink(
            identity, at: "http://scripted.test", cache: cache, auth: auth, options: options, time: time
        ) { [self] _ in ScriptedTransport(server: self) }
    }

    // MARK: The script

    /// The result of a query, whatever its variables. Live queries get it at once.
    public func set<Operation: QueryOperation>(_ operation: Operation.Type, to data: AnyValue) {
        set(operation) { _ in .success(data) }
    }

    /// The result of a query as a function of its variables. Live queries get it at once.
    public func set<Operation: QueryOperation>(
        _ operation: Operation.Type, _ result: @escaping @Sendable (AnyValue) -> Answer
    ) {
        state.withLock { $0.results[Operation.name] = result }
        push(Operation.name)
    }

    /// The answer to a mutation. It is asked once for each idempotency key.
    public func answer<Operation: MutationOperation>(
        _ operation: Operation.Type, _ answer: @escaping @Sendable (AnyValue) -> Answer
    ) {
        state.withLock { $0.answers[Operation.name] = answer }
    }

    /// Loses the link: sockets end, requests fail.
    public func goOffline() {
        let sockets = state.withLock { state in
            state.isOnline = false
            defer { state.sockets = [:] }
            return Array(state.sockets.values)
        }
        for socket in sockets { socket.onEvent(.closed(code: nil, reason: "offline", retryAfterMs: nil)) }
    }

    public func goOnline() { state.withLock { $0.isOnline = true } }

    /// Closes all sockets with a code.
    public func close(code: UInt16, reason: String = "") {
        let sockets = state.withLock { state in
            defer { state.sockets = [:] }
            return Array(state.sockets.values)
        }
        for socket in sockets { socket.onEvent(.closed(code: code, reason: reason, retryAfterMs: nil)) }
    }

    /// The next answers to requests are lost after they were processed.
    public func loseAnswers(_ count: Int) { state.withLock { $0.lostAnswers = count } }

    /// Fails `wait(for:)`, and the connector's own waits for queued mutations; with nil they succeed again.
    public func failWaits(_ error: ResponseError?) { state.withLock { $0.waitFailure = error } }

    /// Answers to waits are held back until `releaseWaits`, as if live queries did not show yet what was committed.
    public func holdWaits() { state.withLock { $0.areWaitsHeld = true } }

    public func releaseWaits() {
        let held = state.withLock { state in
            state.areWaitsHeld = false
            defer { state.heldWaits = [] }
            return state.heldWaits
        }
        for answer in held { answer() }
    }

    /// Answers to requests are held back after they were made, until `releaseAnswers`. Live queries go on.
    public func holdAnswers() { state.withLock { $0.areAnswersHeld = true } }

    public func releaseAnswers() {
        let held = state.withLock { state in
            state.areAnswersHeld = false
            defer { state.heldAnswers = [] }
            return state.heldAnswers
        }
        for answer in held { answer.resume() }
    }

    /// The next requests get these responses, as if something stood in between.
    package func respondNext(with responses: [Result<TransportResponse, TransportFailure>]) {
        state.withLock { $0.nextResponses += responses }
    }

    /// Sends a message on every open socket.
    package func push(_ message: AnyValue) {
        let sockets = state.withLock { Array($0.sockets.values) }
        for socket in sockets { socket.onEvent(.text(JSONWriter.compact(message.json))) }
    }

    /// Which tokens the server rejects.
    public func rejectTokens(where isRejected: @escaping @Sendable (String?) -> Bool) {
        state.withLock { $0.isTokenRejected = isRejected }
    }

    // MARK: What happened

    /// Single requests that arrived, in order.
    public var requests: [Request] { state.withLock { $0.requests } }
    /// The positions for which the connector waited, those of its queued mutations included; nil: for none.
    public var waits: [MutationPosition?] {
        state.withLock { state in state.waits.map { $0.map(MutationPosition.init(rawValue:)) } }
    }
    /// How many sockets were opened so far.
    public var connections: Int { state.withLock { $0.connections } }
    /// How many are open now.
    public var openSockets: Int { state.withLock { $0.sockets.count } }
    /// The operations that are followed now, sorted.
    public var subscriptions: [String] {
        state.withLock { state in state.sockets.values.flatMap { $0.subscriptions.values.map(\.operation) }.sorted() }
    }

    // MARK: Sockets

    func open(_ onEvent: @escaping @Sendable (SocketEvent) -> Void) -> Int? {
        let number: Int? = state.withLock { state in
            state.connections += 1
            guard state.isOnline else { return nil }
            state.lastSocket += 1
            state.sockets[state.lastSocket] = Socket(onEvent: onEvent)
            return state.lastSocket
        }
        if number == nil {
            onEvent(.closed(code: nil, reason: "no server responds", retryAfterMs: nil, end: .unreachable))
        } else {
            onEvent(.opened)
        }
        return number
    }

    func closed(_ number: Int) { state.withLock { $0.sockets[number] = nil } }

    func received(_ number: Int, _ text: [UInt8]) {
        guard let message = try? JSONParser.parse(text), let type = message["type"]?.stringValue,
            let onEvent = state.withLock({ $0.sockets[number]?.onEvent })
        else { return }
        switch type {
        case "connection_init":
            let header = message["payload"]?["Authorization"]?.stringValue
            let token = header.map { String($0.dropFirst("Bearer ".count)) }
            let isRejected = state.withLock { state in
                state.sockets[number]?.token = token
                return state.isTokenRejected
            }(token)
            if isRejected {
                closed(number)
                onEvent(.closed(code: 4403, reason: "Forbidden", retryAfterMs: nil))
            } else {
                onEvent(.text(Array(#"{"type":"connection_ack"}"#.utf8)))
            }
        case "ping": ponged(message["payload"], onEvent)
        case "subscribe":
            guard let id = message["id"]?.stringValue, let name = message["payload"]?["operationName"]?.stringValue
            else { return }
            let variables = message["payload"]?["variables"] ?? [:]
            state.withLock { $0.sockets[number]?.subscriptions[id] = (name, variables) }
            push(name, only: id, to: number)
        case "complete":
            guard let id = message["id"]?.stringValue else { return }
            state.withLock { $0.sockets[number]?.subscriptions[id] = nil }
        default: break
        }
    }

    /// Answers a ping. Live queries have the present results by then: they get them at once.
    private func ponged(_ payload: JSONValue?, _ onEvent: @escaping @Sendable (SocketEvent) -> Void) {
        guard let id = payload?["freshet"]?["wait"]?["id"] else {
            return onEvent(.text(Array(#"{"type":"pong"}"#.utf8)))
        }
        let failure = state.withLock { state in
            state.waits.append(payload?["freshet"]?["wait"]?["position"]?.stringValue)
            return state.waitFailure
        }
        var waited: JSONObject = ["id": id]
        if let failure { waited["error"] = ["code": .string(failure.code ?? ""), "message": .string(failure.message)] }
        let pong = JSONWriter.compact(["type": "pong", "payload": ["freshet": ["waited": .object(waited)]]])
        let isHeld = state.withLock { state in
            if state.areWaitsHeld { state.heldWaits.append { onEvent(.text(pong)) } }
            return state.areWaitsHeld
        }
        if !isHeld { onEvent(.text(pong)) }
    }

    /// Sends the result of an operation to its subscriptions.
    private func push(_ name: String, only id: String? = nil, to number: Int? = nil) {
        let due = state.withLock { state in
            state.sockets.flatMap { socketNumber, socket in
                socket.subscriptions.compactMap { subscription, followed in
                    guard followed.operation == name, number == nil || number == socketNumber,
                        id == nil || id == subscription, let result = state.results[name]
                    else { return nil as (() -> Void)? }
                    return {
                        socket.onEvent(
                            .text(Self.message(subscription, result(AnyValue(json: followed.variables)))))
                    }
                }
            }
        }
        for send in due { send() }
    }

    private static func message(_ id: String, _ answer: Answer) -> [UInt8] {
        switch answer {
        case .success(let data):
            JSONWriter.compact(["id": .string(id), "type": "next", "payload": ["data": data.json]])
        case .failure(let error):
            JSONWriter.compact(["id": .string(id), "type": "error", "payload": [json(error)]])
        }
    }

    private static func json(_ error: ResponseError) -> JSONValue {
        var extensions = error.extensions.json.objectValue ?? JSONObject()
        if let code = error.code { extensions["code"] = .string(code) }
        return ["message": .string(error.message), "extensions": .object(extensions)]
    }

    // MARK: Requests

    private static func uuid(_ number: Int) -> String {
        let digits = String(number)
        return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
    }

    func respond(_ request: TransportRequest) async throws(TransportFailure) -> TransportResponse {
        let response = Result { () throws(TransportFailure) in try answer(request) }
        await withCheckedContinuation { continuation in
            let isHeld = state.withLock { state in
                if state.areAnswersHeld { state.heldAnswers.append(continuation) }
                return state.areAnswersHeld
            }
            if !isHeld { continuation.resume() }
        }
        return try response.get()
    }

    private func answer(_ request: TransportRequest) throws(TransportFailure) -> TransportResponse {
        guard state.withLock({ $0.isOnline }) else { throw TransportFailure(.notSent, "no server responds") }
        let body = (try? JSONParser.parse(request.body)) ?? .null
        // A mutation's path ends with its name.
        let name = body["operationName"]?.stringValue ?? String(request.path.split(separator: "/").last ?? "")
        let variables = AnyValue(json: body["variables"] ?? [:])
        let key = request.headers.first { $0.name == "idempotency-key" }?.value
        let token = request.headers.first { $0.name == "authorization" }.map {
            String($0.value.dropFirst("Bearer ".count))
        }
        let arrived = Request(operation: name, variables: variables, idempotencyKey: key, token: token)
        let next = state.withLock { state in
            state.requests.append(arrived)
            return state.nextResponses.isEmpty ? nil : state.nextResponses.removeFirst()
        }
        if let next { return try next.get() }
        let (kept, script, isRejected) = state.withLock { state in
            return (key.flatMap { state.kept[$0] }, state.answers[name] ?? state.results[name], state.isTokenRejected)
        }
        let answer: Answer
        if isRejected(token) {
            answer = .failure(ResponseError(message: "the token is rejected", code: "UNAUTHENTICATED"))
        } else if let kept {
            answer = kept
        } else {
            answer =
                script?(variables)
                ?? .failure(ResponseError(message: "there is no operation \(name)", code: "OPERATION_NOT_FOUND"))
        }
        let (isLost, position) = state.withLock { state in
            var position: Int?
            if let key, case .success = answer {
                state.kept[key] = answer
                // The same for each retry.
                position = state.positions[key] ?? state.positions.count + 1
                state.positions[key] = position
            }
            guard state.lostAnswers > 0 else { return (false, position) }
            state.lostAnswers -= 1
            return (true, position)
        }
        if isLost { throw TransportFailure(.lost, "the connection broke") }
        let text: JSONValue =
            switch answer {
            case .success(let data): ["data": data.json]
            case .failure(let error): ["data": nil, "errors": [Self.json(error)]]
            }
        let headers = position.map { ["x-freshet-position": Self.uuid($0)] } ?? [:]
        return TransportResponse(status: 200, headers: headers, body: JSONWriter.compact(text))
    }
}
