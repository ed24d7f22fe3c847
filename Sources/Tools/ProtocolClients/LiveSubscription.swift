package import JSON
import LiveModel
package import NIOCore
package import NIOPosix
import Synchronization

/// A subscription to a stored query. It reconnects with back-off and jitter, not before the server allows it, until it
/// is cancelled.
package struct LiveSubscription: Sendable {
    package enum Event: Sendable {
        /// A result with its envelope, `{"data":…}`.
        case next([UInt8])
        /// The connection was lost; the next attempt follows after this time.
        case reconnecting(afterMs: Int64, reason: String)
    }

    package var address: ServerAddress
    package var connector: String?
    package var operation: String
    package var variables: JSONObject
    package var token: String?
    package var backoffMinMs: Int64 = 250
    package var backoffMaxMs: Int64 = 10_000

    package init(
        address: ServerAddress, connector: String? = nil, operation: String, variables: JSONObject, token: String? = nil
    ) {
        self.address = address
        self.connector = connector
        self.operation = operation
        self.variables = variables
        self.token = token
    }

    /// Follows until the task is cancelled.
    /// - Throws: `ClientError.refused` if the server refuses the operation permanently.
    package func run(
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        _ onEvent: @escaping @Sendable (Event) -> Void
    ) async throws {
        var failures = 0
        while !Task.isCancelled {
            let reason: String
            var retryAfterMs: Int64?
            do {
                let (received, why) = try await once(group, onEvent)
                if received { failures = 0 }
                reason = why
            } catch let error as ClientError where error.code == .refused {
                throw error
            } catch {
                reason = "\(error)"
                retryAfterMs = (error as? ClientError)?.retryAfterMs
            }
            if Task.isCancelled { return }
            let delayMs = ReconnectDelay.ms(
                failures: failures, minMs: backoffMinMs, maxMs: backoffMaxMs, retryAfterMs: retryAfterMs)
            failures += 1
            onEvent(.reconnecting(afterMs: delayMs, reason: reason))
            try? await Task.sleep(for: .milliseconds(delayMs))
        }
    }

    /// Runs one connection until it ends.
    private func once(
        _ group: any EventLoopGroup, _ onEvent: @escaping @Sendable (Event) -> Void
    ) async throws -> (received: Bool, reason: String) {
        let eventLoop = group.next()
        let ended = eventLoop.makePromise(of: String.self)
        let state = ConnectionState(start: subscribeMessage, ended: ended, onEvent: onEvent)
        let socket: GraphQLSocket
        do {
            socket = try await GraphQLSocket.connect(address, on: eventLoop) {
                .init(
                    onText: { text in state.received(Array(text.readableBytesView)) },
                    onClose: { code, reason in
                        ended.succeed(code.map { "closed with \($0) \(reason)" } ?? "connection lost")
                    })
            }
        } catch {
            ended.succeed("")
            throw error
        }
        state.open(socket, initMessage: initMessage)
        let reason = try await withTaskCancellationHandler {
            try await ended.futureResult.get()
        } onCancel: {
            socket.close()
            // A server that does not respond to the close frame must not block the caller.
            _ = socket.eventLoop.scheduleTask(in: .seconds(2)) { socket.abort() }
        }
        socket.abort()
        return (state.hasReceived, reason)
    }

    private var initMessage: [UInt8] {
        var message: JSONObject = ["type": "connection_init"]
        if let token { message["payload"] = ["Authorization": .string("Bearer " + token)] }
        return JSONWriter.compact(.object(message))
    }

    private var subscribeMessage: [UInt8] {
        var payload: JSONObject = [
            "query": "", "operationName": .string(operation), "variables": .object(variables),
        ]
        if let connector { payload["extensions"] = ["connector": .string(connector)] }
        return JSONWriter.compact(["id": "1", "type": "subscribe", "payload": .object(payload)])
    }
}

/// One connection of a live subscription. Messages arrive on its event loop.
private final class ConnectionState: Sendable {
    private let socket = Mutex<GraphQLSocket?>(nil)
    private let receivedResult = Atomic<Bool>(false)
    private let start: [UInt8]
    private let ended: EventLoopPromise<String>
    private let onEvent: @Sendable (LiveSubscription.Event) -> Void

    init(
        start: [UInt8], ended: EventLoopPromise<String>, onEvent: @escaping @Sendable (LiveSubscription.Event) -> Void
    ) {
        self.start = start
        self.ended = ended
        self.onEvent = onEvent
    }

    var hasReceived: Bool { receivedResult.load(ordering: .relaxed) }

    func open(_ socket: GraphQLSocket, initMessage: [UInt8]) {
        self.socket.withLock { $0 = socket }
        socket.send(initMessage)
    }

    func received(_ text: [UInt8]) {
        guard let message = try? JSONParser.parse(text), let type = message["type"]?.stringValue else { return }
        switch type {
        case "connection_ack": socket.withLock { $0 }?.send(start)
        case "ping": socket.withLock { $0 }?.send(Array(#"{"type":"pong"}"#.utf8))
        case "next":
            receivedResult.store(true, ordering: .relaxed)
            if let payload = message["payload"] { onEvent(.next(JSONWriter.compact(payload))) }
        case "error":
            let text = message["payload"]?[0]?["message"]?.stringValue ?? "refused"
            let code = message["payload"]?[0]?["extensions"]?["code"]?.stringValue ?? ""
            let description = code.isEmpty ? text : "\(code): \(text)"
            if ErrorCode(rawValue: code)?.isRetryable == true {
                ended.succeed(description)
            } else {
                ended.fail(ClientError(.refused, description))
            }
        case "complete": ended.succeed("the server ended the subscription")
        default: break
        }
    }
}
