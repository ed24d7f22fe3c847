import JSON
import NIOCore
import NIOPosix
import ProtocolClients
import Synchronization

/// A test's `graphql-transport-ws` client: messages come one by one.
final class Subscriber: Sendable {
    private struct State {
        var messages: [JSONValue] = []
        var waiter: CheckedContinuation<Void, Never>?
        var closed: (code: UInt16?, reason: String)?
    }

    private let state: StateBox
    let socket: GraphQLSocket

    private final class StateBox: Sendable {
        let mutex = Mutex(State())
    }

    private init(socket: GraphQLSocket, state: StateBox) {
        self.socket = socket
        self.state = state
    }

    static func connect(_ address: ServerAddress, payload: JSONValue? = nil) async throws -> Subscriber {
        let subscriber = try await open(address)
        var message: JSONObject = ["type": "connection_init"]
        if let payload { message["payload"] = payload }
        subscriber.send(.object(message))
        _ = try await subscriber.message { $0["type"]?.stringValue == "connection_ack" }
        return subscriber
    }

    /// Opens a connection without sending `connection_init`.
    static func open(_ address: ServerAddress, path: String = "/graphql") async throws -> Subscriber {
        let box = StateBox()
        let socket = try await GraphQLSocket.connect(
            address, path: path, on: MultiThreadedEventLoopGroup.singleton.next()
        ) {
            .init(
                onText: { text in
                    guard let message = try? JSONParser.parse(Array(text.readableBytesView)) else { return }
                    Self.wake(box) { $0.messages.append(message) }
                },
                onClose: { code, reason in Self.wake(box) { $0.closed = (code, reason) } })
        }
        return Subscriber(socket: socket, state: box)
    }

    private static func wake(_ box: StateBox, _ change: (inout State) -> Void) {
        let waiter = box.mutex.withLock { state in
            change(&state)
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    func send(_ message: JSONValue) {
        socket.send(JSONWriter.compact(message))
    }

    func subscribe(_ operation: String, _ variables: JSONObject, id: String = "1", query: String = "") {
        send([
            "id": .string(id), "type": "subscribe",
            "payload": [
                "query": .string(query), "operationName": .string(operation), "variables": .object(variables),
            ],
        ])
    }

    /// Takes messages until one fits; earlier ones are dropped. Bounded by the test's time limit.
    func message(where fits: (JSONValue) -> Bool) async throws -> JSONValue {
        while true {
            let found: JSONValue?? = state.mutex.withLock { state in
                while !state.messages.isEmpty {
                    let message = state.messages.removeFirst()
                    if fits(message) { return .some(message) }
                }
                return state.closed == nil ? nil : .some(nil)
            }
            switch found {
            case .some(.some(let message)): return message
            case .some(.none): throw Closed(code: state.mutex.withLock { $0.closed?.code ?? nil })
            case .none: await wait()
            }
            // The test's time limit: what the nodes logged is worth more than waiting on.
            try Task.checkCancellation()
        }
    }

    /// The `data` of the next result for `id` that fits.
    func data(id: String = "1", where fits: (JSONValue) -> Bool = { _ in true }) async throws -> JSONValue {
        let message = try await message { message in
            guard message["type"]?.stringValue == "next", message["id"]?.stringValue == id,
                let data = message["payload"]?["data"]
            else { return false }
            return fits(data)
        }
        return message["payload"]?["data"] ?? .null
    }

    /// The server's close code.
    func closeCode() async -> UInt16? {
        while true {
            let closed = state.mutex.withLock { $0.closed }
            if let closed { return closed.code }
            if Task.isCancelled { return nil }
            await wait()
        }
    }

    var pendingMessages: Int { state.mutex.withLock { $0.messages.count } }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.mutex.withLock { state in
                    if !state.messages.isEmpty || state.closed != nil || Task.isCancelled { return true }
                    state.waiter = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            Self.wake(state) { _ in }
        }
    }

    struct Closed: Error { let code: UInt16? }
}
