import DequeModule
import FreshetTransport
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket

/// Makes WebSockets to one server.
struct NIOSockets: Sendable {
    private static let connectMs: Int64 = 10_000

    private let endpoint: ServerEndpoint
    private let context: NIOSSLContext?
    private let messageBytesMax: Int

    init(_ endpoint: ServerEndpoint, context: NIOSSLContext?, messageBytesMax: Int) {
        self.endpoint = endpoint
        self.context = context
        self.messageBytesMax = messageBytesMax
    }

    func connect(
        path: String, subprotocol: String, onEvent: @escaping @Sendable (SocketEvent) -> Void
    ) -> NIOSocket {
        let socket = NIOSocket(onEvent)
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.milliseconds(Self.connectMs))
            .channelOption(.socketOption(.tcp_nodelay), value: 1)
            .channelInitializer { [self] channel in
                channel.eventLoop.makeCompletedFuture { try prepare(channel, socket) }
            }
        bootstrap.connect(host: endpoint.host, port: endpoint.port).whenComplete { result in
            switch result {
            case .failure: socket.ended(nil, "no connection to \(endpoint)", end: .unreachable)
            case .success(let channel):
                guard socket.connected(channel) else { return }
                let headers: HTTPHeaders = [
                    "host": endpoint.authority, "sec-websocket-protocol": subprotocol, "content-length": "0",
                ]
                let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: path, headers: headers)
                channel.write(HTTPClientRequestPart.head(head), promise: nil)
                channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
            }
        }
        return socket
    }

    private func prepare(_ channel: any Channel, _ socket: NIOSocket) throws {
        if let context {
            let isAddress = (try? SocketAddress(ipAddress: endpoint.host, port: 0)) != nil
            try channel.pipeline.syncOperations.addHandler(
                NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : endpoint.host))
        }
        let bytesMax = messageBytesMax
        let upgrader = NIOWebSocketClientUpgrader(
            requestKey: NIOWebSocketClientUpgrader.randomRequestKey(), maxFrameSize: bytesMax,
            automaticErrorHandling: true
        ) { channel, _ in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandlers(
                    NIOWebSocketFrameAggregator(
                        minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 4_096, maxAccumulatedFrameSize: bytesMax),
                    FrameHandler(socket))
                socket.opened()
            }
        }
        let handshake = HandshakeHandler(socket)
        try channel.pipeline.syncOperations.addHTTPClientHandlers(
            withClientUpgrade: (
                upgraders: [upgrader],
                completionHandler: { $0.pipeline.syncOperations.removeHandler(handshake, promise: nil) }
            ))
        try channel.pipeline.syncOperations.addHandler(handshake)
    }
}

/// One WebSocket. Its events come in order; the last is `closed`, once.
///
/// It stops reading while more than `unprocessedMax` messages, or `unprocessedBytesMax` bytes of them, are reported and
/// not processed.
final class NIOSocket: SocketConnection {
    private static let unprocessedMax = 256
    private static let unprocessedBytesMax = 8 << 20

    private struct State {
        var onEvent: (@Sendable (SocketEvent) -> Void)?
        var channel: (any Channel)?
        /// Whether the channel takes frames; before, it speaks HTTP.
        var isOpen = false
        var isClosing = false
        /// The sizes of messages that are reported and not processed, oldest first.
        var unprocessed: Deque<Int> = []
        var unprocessedBytes = 0
        var isReading = true

        /// - Returns: whether reading is to be switched on or off; nil: neither.
        mutating func change() -> Bool? {
            let isFull =
                unprocessed.count > NIOSocket.unprocessedMax || unprocessedBytes > NIOSocket.unprocessedBytesMax
            // Half the bound, so that reading is not switched for each message.
            let hasRoom =
                unprocessed.count <= NIOSocket.unprocessedMax / 2
                && unprocessedBytes <= NIOSocket.unprocessedBytesMax / 2
            guard isReading ? isFull : hasRoom else { return nil }
            isReading.toggle()
            return isReading
        }
    }

    private let state: NIOLockedValueBox<State>

    init(_ onEvent: @escaping @Sendable (SocketEvent) -> Void) {
        state = NIOLockedValueBox(State(onEvent: onEvent))
    }

    /// - Returns: whether the app still wants it.
    func connected(_ channel: any Channel) -> Bool {
        let isWanted = state.withLockedValue { state in
            state.channel = channel
            return !state.isClosing
        }
        if !isWanted { channel.close(promise: nil) }
        return isWanted
    }

    func opened() {
        state.withLockedValue { $0.isOpen = true }
        report(.opened)
    }

    func received(_ text: [UInt8]) {
        let reading = state.withLockedValue { state in
            state.unprocessed.append(text.count)
            state.unprocessedBytes += text.count
            return (channel: state.channel, isOn: state.change())
        }
        setReading(reading.isOn, reading.channel)
        report(.text(text))
    }

    func eventProcessed() {
        let reading = state.withLockedValue { state in
            if let size = state.unprocessed.popFirst() { state.unprocessedBytes -= size }
            return (channel: state.channel, isOn: state.change())
        }
        setReading(reading.isOn, reading.channel)
    }

    private func setReading(_ isOn: Bool?, _ channel: (any Channel)?) {
        guard let isOn, let channel else { return }
        channel.setOption(.autoRead, value: isOn).whenSuccess { if isOn { channel.read() } }
    }

    func ended(_ code: UInt16?, _ reason: String, retryAfterMs: Int64? = nil, end: SocketEnd = .lost) {
        let onEvent = state.withLockedValue { state in
            state.channel = nil
            return state.onEvent.take()
        }
        onEvent?(.closed(code: code, reason: reason, retryAfterMs: retryAfterMs, end: end))
    }

    private func report(_ event: SocketEvent) { state.withLockedValue { $0.onEvent }?(event) }

    func send(_ text: [UInt8]) {
        guard let channel = state.withLockedValue({ $0.isOpen ? $0.channel : nil }) else { return }
        let frame = WebSocketFrame(fin: true, opcode: .text, maskKey: .random(), data: ByteBuffer(bytes: text))
        channel.writeAndFlush(frame, promise: nil)
    }

    func close(code: UInt16) {
        let (channel, isOpen) = state.withLockedValue { state in
            state.isClosing = true
            return (state.channel, state.isOpen)
        }
        guard let channel else { return }
        guard isOpen else { return channel.close(promise: nil) }
        var payload = ByteBuffer()
        payload.writeInteger(code)
        let frame = WebSocketFrame(fin: true, opcode: .connectionClose, maskKey: .random(), data: payload)
        channel.writeAndFlush(frame).whenComplete { _ in channel.close(promise: nil) }
    }
}

/// Reports a response other than 101, and the end of a connection before it.
private final class HandshakeHandler: ChannelInboundHandler, RemovableChannelHandler, Sendable {
    typealias InboundIn = HTTPClientResponsePart

    private let socket: NIOSocket

    init(_ socket: NIOSocket) { self.socket = socket }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let head) = unwrapInboundIn(data) else { return }
        socket.ended(
            nil, "the server answered the WebSocket handshake with status \(head.status.code)",
            retryAfterMs: TransportResponse.retryAfterMs(head.headers.first(name: "retry-after")),
            end: .refused(status: Int(head.status.code)))
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        socket.ended(nil, "the connection was closed during the WebSocket handshake")
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        socket.ended(nil, "the connection failed: \(error)")
        context.close(promise: nil)
    }
}

private final class FrameHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let socket: NIOSocket
    private var code: UInt16?
    private var reason = ""

    init(_ socket: NIOSocket) { self.socket = socket }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.opcode {
        case .text: socket.received(Array(frame.unmaskedData.readableBytesView))
        case .ping:
            let pong = WebSocketFrame(fin: true, opcode: .pong, maskKey: .random(), data: frame.unmaskedData)
            context.writeAndFlush(wrapOutboundOut(pong), promise: nil)
        case .connectionClose:
            var payload = frame.unmaskedData
            code = payload.readInteger() ?? 1005
            reason = payload.readString(length: payload.readableBytes) ?? ""
            context.close(promise: nil)
        default: break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        reason = "the connection failed: \(error)"
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        socket.ended(code, reason)
        context.fireChannelInactive()
    }
}
