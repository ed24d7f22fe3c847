package import NIOCore
import NIOHTTP1
package import NIOPosix
import NIOWebSocket

/// A WebSocket client for `graphql-transport-ws`, with callbacks on its event loop instead of a task and queue per
/// connection, so that a load driver can hold thousands.
package final class GraphQLSocket: Sendable {
    /// Callbacks, called on the event loop.
    package struct Callbacks {
        /// Receives a complete text message.
        package var onText: (ByteBuffer) -> Void
        /// Called last, with the server's close code; nil if the connection was lost.
        package var onClose: (UInt16?, String) -> Void

        package init(onText: @escaping (ByteBuffer) -> Void, onClose: @escaping (UInt16?, String) -> Void) {
            self.onText = onText
            self.onClose = onClose
        }
    }

    private let channel: any Channel

    private init(channel: any Channel) {
        self.channel = channel
    }

    package var eventLoop: any EventLoop { channel.eventLoop }

    /// Opens the connection and performs the upgrade; the caller sends `connection_init`.
    ///
    /// A server that is silent for half of `silenceMaxMs` is sent a ping; if it stays silent the connection is closed,
    /// because a half-open connection never ends by itself.
    /// - Throws: `ClientError`.
    package static func connect(
        _ address: ServerAddress, path: String = "/graphql", subprotocol: String = "graphql-transport-ws",
        messageBytesMax: Int = 16 << 20, silenceMaxMs: Int64 = 60_000, on eventLoop: any EventLoop,
        callbacks: @escaping @Sendable () -> Callbacks
    ) async throws -> GraphQLSocket {
        let upgraded = eventLoop.makePromise(of: Void.self)
        let key = NIOWebSocketClientUpgrader.randomRequestKey()
        let channel: any Channel
        do {
            channel = try await ClientBootstrap(group: eventLoop)
                .channelOption(.socketOption(.tcp_nodelay), value: 1)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try address.secure(channel)
                        let upgrader = NIOWebSocketClientUpgrader(
                            requestKey: key, maxFrameSize: messageBytesMax, automaticErrorHandling: true
                        ) { channel, _ in
                            channel.eventLoop.makeCompletedFuture {
                                try channel.pipeline.syncOperations.addHandler(
                                    NIOWebSocketFrameAggregator(
                                        minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 4_096,
                                        maxAccumulatedFrameSize: messageBytesMax))
                                try channel.pipeline.syncOperations.addHandlers(
                                    IdleStateHandler(readTimeout: .milliseconds(max(1, silenceMaxMs / 2))),
                                    SocketHandler(callbacks()))
                                upgraded.succeed(())
                            }
                        }
                        let refusal = RefusalHandler(upgraded, address)
                        try channel.pipeline.syncOperations.addHTTPClientHandlers(
                            withClientUpgrade: (
                                upgraders: [upgrader],
                                completionHandler: { context in
                                    context.pipeline.syncOperations.removeHandler(refusal, promise: nil)
                                }
                            ))
                        try channel.pipeline.syncOperations.addHandler(refusal)
                    }
                }
                .connect(host: address.host, port: address.port).get()
        } catch {
            upgraded.fail(error)
            _ = try? await upgraded.futureResult.get()
            throw ClientError(.cannotConnect, "no server responds at \(address)")
        }
        let headers: HTTPHeaders = [
            "host": "\(address.host):\(address.port)", "sec-websocket-protocol": subprotocol, "content-length": "0",
        ]
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: path, headers: headers)
        channel.write(HTTPClientRequestPart.head(head), promise: nil)
        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
        let timeout = eventLoop.scheduleTask(in: .seconds(10)) {
            upgraded.fail(ClientError(.timeout, "no response to the WebSocket handshake"))
        }
        defer { timeout.cancel() }
        do {
            try await upgraded.futureResult.get()
        } catch {
            channel.close(promise: nil)
            throw error
        }
        return GraphQLSocket(channel: channel)
    }

    /// Sends a text message. May be called from any thread.
    package func send(_ text: [UInt8]) {
        send(.text, ByteBuffer(bytes: text))
    }

    /// Starts the closing handshake; `onClose` follows.
    package func close(code: UInt16 = 1000) {
        var payload = ByteBuffer()
        payload.writeInteger(code)
        send(.connectionClose, payload)
    }

    /// Closes the connection at once, as a crash would.
    package func abort() {
        channel.close(promise: nil)
    }

    private func send(_ opcode: WebSocketOpcode, _ payload: ByteBuffer) {
        let frame = WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: payload)
        channel.writeAndFlush(frame, promise: nil)
    }
}

/// Handles a handshake response other than 101.
private final class RefusalHandler: ChannelInboundHandler, RemovableChannelHandler, Sendable {
    typealias InboundIn = HTTPClientResponsePart

    private let upgraded: EventLoopPromise<Void>
    private let address: ServerAddress

    init(_ upgraded: EventLoopPromise<Void>, _ address: ServerAddress) {
        self.upgraded = upgraded
        self.address = address
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = unwrapInboundIn(data) {
            let isTransient = head.status.code >= 500 || head.status.code == 429
            upgraded.fail(
                ClientError(
                    isTransient ? .cannotConnect : .refused,
                    "the WebSocket handshake failed with status \(head.status.code)",
                    retryAfterMs: ReconnectDelay.retryAfterMs(head.headers.first(name: "retry-after"))))
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        upgraded.fail(ClientError(.cannotConnect, "the server closed the connection during the handshake"))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        upgraded.fail(address.meaning(of: error, otherwise: error))
        context.close(promise: nil)
    }
}

private final class SocketHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private var callbacks: GraphQLSocket.Callbacks?
    private var closeCode: UInt16?
    private var closeReason = ""
    private var isPingSent = false

    init(_ callbacks: GraphQLSocket.Callbacks) {
        self.callbacks = callbacks
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        isPingSent = false
        switch frame.opcode {
        case .text: callbacks?.onText(frame.unmaskedData)
        case .ping:
            let pong = WebSocketFrame(fin: true, opcode: .pong, maskKey: .random(), data: frame.unmaskedData)
            context.writeAndFlush(wrapOutboundOut(pong), promise: nil)
        case .connectionClose:
            var payload = frame.unmaskedData
            closeCode = payload.readInteger() ?? 1005
            closeReason = payload.readString(length: payload.readableBytes) ?? ""
            context.close(promise: nil)
        default: break
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .read? = event as? IdleStateHandler.IdleStateEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        if isPingSent { return context.close(promise: nil) }
        isPingSent = true
        let ping = WebSocketFrame(fin: true, opcode: .ping, maskKey: .random(), data: ByteBuffer())
        context.writeAndFlush(wrapOutboundOut(ping), promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        // Cleared first: the callbacks retain the caller and must be called once.
        let callbacks = self.callbacks
        self.callbacks = nil
        callbacks?.onClose(closeCode, closeReason)
    }
}
