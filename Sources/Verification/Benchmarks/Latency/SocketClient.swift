import JSON
import NIOCore
import NIOPosix
import ProtocolClients
import Synchronization

/// A `graphql-transport-ws` client that records when results arrive.
final class SocketClient: Sendable {
    private struct Arrivals {
        var times: [Double] = []
        var waiter: CheckedContinuation<Double, any Error>?
        var failure: BenchmarkFailure?
    }

    /// Results wait here only until the benchmark's next step, so there are few.
    private final class Inbox: Sendable {
        let arrivals = Mutex(Arrivals())

        func received(_ text: ByteBuffer) {
            let now = Clock.now
            guard let message = try? JSONParser.parse(Array(text.readableBytesView)) else {
                return failed("an unreadable message")
            }
            switch message["type"]?.stringValue {
            case "connection_ack", "next":
                if message["payload"]?["errors"] != nil { return failed("the service answered with errors") }
                let waiter = arrivals.withLock { arrivals in
                    if arrivals.waiter == nil { arrivals.times.append(now) }
                    defer { arrivals.waiter = nil }
                    return arrivals.waiter
                }
                waiter?.resume(returning: now)
            case "error": failed("the service refused an operation")
            default: break
            }
        }

        func failed(_ reason: String) {
            let failure = BenchmarkFailure(reason)
            let waiter = arrivals.withLock { arrivals in
                arrivals.failure = failure
                defer { arrivals.waiter = nil }
                return arrivals.waiter
            }
            waiter?.resume(throwing: failure)
        }
    }

    private let inbox: Inbox
    private let socket: GraphQLSocket

    private init(inbox: Inbox, socket: GraphQLSocket) {
        self.inbox = inbox
        self.socket = socket
    }

    static func connect(_ address: ServerAddress, _ group: MultiThreadedEventLoopGroup) async throws -> SocketClient {
        let inbox = Inbox()
        let socket = try await GraphQLSocket.connect(address, on: group.next()) {
            .init(
                onText: { inbox.received($0) },
                onClose: { code, reason in inbox.failed("closed with \(code ?? 0) \(reason)") })
        }
        let client = SocketClient(inbox: inbox, socket: socket)
        client.send(["type": "connection_init"])
        _ = try await client.next()
        return client
    }

    /// Subscribes to a live query, or runs the mutation of that name once.
    func subscribe(_ operation: String, _ variables: JSONObject, operationID: String) {
        send([
            "id": .string(operationID), "type": "subscribe",
            "payload": ["query": "", "operationName": .string(operation), "variables": .object(variables)],
        ])
    }

    /// Returns when the next acknowledgement or result arrived. One caller at a time.
    func next() async throws -> Double {
        try await withCheckedThrowingContinuation { continuation in
            let ready: Result<Double, any Error>? = inbox.arrivals.withLock { arrivals in
                if !arrivals.times.isEmpty { return .success(arrivals.times.removeFirst()) }
                if let failure = arrivals.failure { return .failure(failure) }
                arrivals.waiter = continuation
                return nil
            }
            if let ready { continuation.resume(with: ready) }
        }
    }

    func close() { socket.close() }

    private func send(_ message: JSONValue) {
        socket.send(JSONWriter.compact(message))
    }
}
