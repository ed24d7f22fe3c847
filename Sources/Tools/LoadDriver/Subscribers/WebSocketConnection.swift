import NIOCore
import ProtocolClients

/// A subscription over `graphql-transport-ws`. Confined to its event loop, hence `@unchecked Sendable`.
final class WebSocketConnection: SubscriberConnection, @unchecked Sendable {
    private let address: ServerAddress
    private let eventLoop: any EventLoop
    private weak var subscriber: Subscriber?
    private var socket: GraphQLSocket?
    private var isOver = false

    init(_ subscriber: Subscriber, _ address: ServerAddress) {
        self.subscriber = subscriber
        self.address = address
        eventLoop = subscriber.shard.eventLoop
    }

    func open() {
        // The task ends with the handshake; callbacks follow.
        Task {
            do {
                let socket = try await GraphQLSocket.connect(address, on: eventLoop) {
                    .init(onText: { self.received($0) }, onClose: { code, reason in self.closed(code, reason) })
                }
                eventLoop.execute { self.connected(socket) }
            } catch {
                let failure = CodedFailure(error)
                eventLoop.execute { self.subscriber?.failed(self, failure) }
            }
        }
    }

    func close() {
        isOver = true
        socket?.close()
        // A server that ignores the closing handshake must not keep the connection.
        if let socket { eventLoop.scheduleTask(in: .seconds(2)) { socket.abort() } }
        socket = nil
    }

    private func connected(_ socket: GraphQLSocket) {
        guard !isOver, let subscriber else { return socket.abort() }
        self.socket = socket
        socket.send(SocketMessage.initialize(token: subscriber.target.token))
    }

    private func received(_ text: ByteBuffer) {
        guard !isOver, let subscriber else { return }
        text.withUnsafeReadableBytes { bytes in
            switch SocketMessage(bytes) {
            case .next(let range): subscriber.delivered(self, UnsafeRawBufferPointer(rebasing: bytes[range]))
            case .nextRewritten(let payload): payload.withUnsafeBytes { subscriber.delivered(self, $0) }
            case .acknowledged:
                subscriber.opened(self)
                socket?.send(SocketMessage.subscribe(subscriber.target))
            case .ping: socket?.send(SocketMessage.pong)
            case .refused(let code, let message):
                subscriber.failed(self, CodedFailure(code: code, message: message))
            case .completed:
                subscriber.failed(self, CodedFailure(code: "COMPLETED", message: "the server ended the subscription"))
            case .other: break
            }
        }
    }

    private func closed(_ code: UInt16?, _ reason: String) {
        guard !isOver else { return }
        isOver = true
        socket = nil
        let label = code.map { "CLOSED_\($0)" } ?? "CONNECTION_LOST"
        subscriber?.failed(self, CodedFailure(code: label, message: reason))
    }
}
