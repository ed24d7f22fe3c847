import HTTPServer
import JSON
import NIOCore
import NIOHTTP1
import Synchronization

/// A live-query server in a few lines: one table of notes, `List`, `Get` and `Set`, over all three transports. Its
/// server has one event loop, so that requests come one after the other.
final class SmallService: HTTPHandler {
    /// The mistake that the service makes.
    enum Fault: Sendable {
        case none
        /// Subscribers get nothing after this many mutations.
        case fallsSilent(after: Int)
        /// All connections of subscribers break once, after this many mutations and as soon as a long-poll waits.
        case dropsAll(after: Int)
        /// Requests are accepted and never answered after this many mutations.
        case hangs(after: Int)
    }

    private struct State {
        var notes: [String: (text: String, version: Int)]
        var followers: [Int: Follower] = [:]
        var nextFollower = 0
        var mutations = 0
        var hasDropped = false
    }

    private struct Follower: Sendable {
        var note: String
        var send: @Sendable (_ body: [UInt8], _ tag: String) -> Void
        var drop: @Sendable () -> Void
    }

    private let state: Mutex<State>
    private let fault: Fault

    init(notes: Int, fault: Fault = .none) {
        self.fault = fault
        state = Mutex(
            State(notes: Dictionary(uniqueKeysWithValues: (0..<notes).map { ("n\($0)", ("old", 0)) })))
    }

    func handle(_ request: HTTPRequest, _ exchange: HTTPExchange) {
        let operation = request.path.split(separator: "/").last ?? ""
        let variables =
            (try? JSONParser.parse(request.query("variables") ?? "{}"))?.objectValue ?? JSONObject()
        switch operation {
        case "List":
            let ids = state.withLock { $0.notes.keys.sorted() }
            answer(exchange, ["data": ["notes": .array(ids.map { ["id": .string($0)] })]])
        case "Get": get(variables["id"]?.stringValue ?? "", request, exchange)
        case "Set":
            let body = try? JSONParser.parse(Array(request.body.readableBytesView))
            set(body?["variables"]?["id"]?.stringValue ?? "", body?["variables"]?["text"]?.stringValue ?? "")
            if isHanging { return }
            answer(exchange, ["data": ["set": true]])
        default:
            let error: JSONValue = ["message": "no such operation", "extensions": ["code": "OPERATION_NOT_FOUND"]]
            answer(exchange, ["errors": [error]], .notFound)
        }
    }

    private func get(_ id: String, _ request: HTTPRequest, _ exchange: HTTPExchange) {
        if isHanging { return }
        let (body, tag) = result(id)
        if request.header("accept") == "text/event-stream" {
            exchange.startStream(.ok, headers: ["content-type": "text/event-stream"])
            let send: @Sendable ([UInt8], String) -> Void = { body, tag in
                var event = Array("id: \(tag)\nevent: next\ndata: ".utf8)
                event += body
                exchange.write(ByteBuffer(bytes: event + [0x0A, 0x0A]))
            }
            if request.header("last-event-id") != tag { send(body, tag) }
            let number = follow(id, send: send, drop: { exchange.end() })
            exchange.onClose { self.unfollow(number) }
        } else if let known = request.header("if-none-match"), request.header("prefer") != nil,
            known == tag || isSilent
        {
            let number = Registration()
            let registered = follow(
                id,
                send: { body, tag in
                    self.unfollow(number.value.load(ordering: .relaxed))
                    self.respond(exchange, body, tag)
                }, drop: { exchange.respond(.serviceUnavailable, body: []) })
            number.value.store(registered, ordering: .relaxed)
            exchange.onClose { self.unfollow(registered) }
        } else {
            respond(exchange, body, tag)
        }
    }

    func webSocket(_ request: HTTPRequest) -> WebSocketDecision {
        .accept(subprotocol: "graphql-transport-ws") { SmallSocket(self, $0) }
    }

    fileprivate func subscribe(_ id: String, _ connection: WebSocketConnection) -> Int {
        let send: @Sendable ([UInt8], String) -> Void = { body, _ in
            let message = Array(#"{"id":"1","type":"next","payload":"#.utf8) + body + [UInt8(ascii: "}")]
            connection.eventLoop.execute { connection.send(text: ByteBuffer(bytes: message)) }
        }
        send(result(id).body, "")
        return follow(id, send: send, drop: { connection.eventLoop.execute { connection.close(code: 1_012) } })
    }

    fileprivate func unfollow(_ number: Int) {
        state.withLock { _ = $0.followers.removeValue(forKey: number) }
    }

    private func follow(
        _ note: String, send: @escaping @Sendable ([UInt8], String) -> Void, drop: @escaping @Sendable () -> Void
    ) -> Int {
        state.withLock { state in
            state.nextFollower += 1
            state.followers[state.nextFollower] = Follower(note: note, send: send, drop: drop)
            return state.nextFollower
        }
    }

    private func set(_ id: String, _ text: String) {
        let (all, number, drops) = state.withLock { state in
            state.notes[id] = (text, (state.notes[id]?.version ?? 0) + 1)
            state.mutations += 1
            let all = Array(state.followers.values)
            // Long-polls that were just answered come back in a moment: without a waiting one nothing would break.
            guard case .dropsAll(let after) = fault, state.mutations >= after, !state.hasDropped, !all.isEmpty else {
                return (all, state.mutations, false)
            }
            state.followers = [:]
            state.hasDropped = true
            return (all, state.mutations, true)
        }
        if drops { return all.forEach { $0.drop() } }
        switch fault {
        case .fallsSilent(let after) where number > after: return
        default:
            let (body, tag) = result(id)
            for follower in all where follower.note == id { follower.send(body, tag) }
        }
    }

    private var isHanging: Bool {
        if case .hangs(let after) = fault { state.withLock { $0.mutations > after } } else { false }
    }

    private var isSilent: Bool {
        if case .fallsSilent(let after) = fault { state.withLock { $0.mutations > after } } else { false }
    }

    private func result(_ id: String) -> (body: [UInt8], tag: String) {
        let note = state.withLock { $0.notes[id] }
        let value: JSONValue = note.map { ["id": .string(id), "text": .string($0.text)] } ?? .null
        return (JSONWriter.compact(["data": ["note": value]]), "v\(note?.version ?? 0)")
    }

    private func respond(_ exchange: HTTPExchange, _ body: [UInt8], _ tag: String) {
        exchange.respond(.ok, headers: ["content-type": "application/json", "etag": tag], body: body)
    }

    private func answer(_ exchange: HTTPExchange, _ value: JSONValue, _ status: HTTPResponseStatus = .ok) {
        exchange.respond(status, headers: ["content-type": "application/json"], body: JSONWriter.compact(value))
    }
}

private final class Registration: Sendable {
    let value = Atomic<Int>(0)
}

/// `graphql-transport-ws` with one subscription.
private final class SmallSocket: WebSocketHandler {
    private let service: SmallService
    private let connection: WebSocketConnection
    private var number: Int?

    init(_ service: SmallService, _ connection: WebSocketConnection) {
        self.service = service
        self.connection = connection
    }

    func received(text: ByteBuffer) {
        let message = try? JSONParser.parse(Array(text.readableBytesView))
        switch message?["type"]?.stringValue {
        case "connection_init": connection.send(text: ByteBuffer(string: #"{"type":"connection_ack"}"#))
        case "subscribe":
            let id = message?["payload"]?["variables"]?["id"]?.stringValue ?? ""
            number = service.subscribe(id, connection)
        default: break
        }
    }

    func received(binary: ByteBuffer) {}

    func closed(code: UInt16?) {
        if let number { service.unfollow(number) }
    }
}
