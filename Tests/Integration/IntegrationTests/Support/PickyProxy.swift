import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A TCP proxy on 127.0.0.1 that answers certain HTTP requests with 403 itself, as proxies of companies do, can be cut,
/// and counts bytes. Its connections are confined to one event loop.
final class PickyProxy: Sendable {
    enum Refusal: Sendable {
        case webSockets
        case eventStreams

        fileprivate var text: String {
            switch self {
            case .webSockets: "upgrade: websocket"
            case .eventStreams: "text/event-stream"
            }
        }
    }

    private struct State {
        var refusals: [Refusal] = []
        var isCut = false
        var refusedCount = 0
        var bytesToClient = 0
        var channels: [any Channel] = []
    }

    private let state = NIOLockedValueBox(State())
    private let listener: any Channel

    private init(_ listener: any Channel) { self.listener = listener }

    static func start(to serverPort: Int, refusing refusals: [Refusal] = []) async throws -> PickyProxy {
        let box = NIOLockedValueBox<PickyProxy?>(nil)
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton.next())
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { near in
                box.withLockedValue { $0 }?.accepted(near, serverPort)
                return near.eventLoop.makeSucceededVoidFuture()
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let proxy = PickyProxy(listener)
        proxy.refuse(refusals)
        box.withLockedValue { $0 = proxy }
        return proxy
    }

    /// Connects to the server before anything is read.
    private func accepted(_ near: any Channel, _ serverPort: Int) {
        guard !isCut else { return near.close(promise: nil) }
        ClientBootstrap(group: near.eventLoop)
            .channelOption(.autoRead, value: false)
            .channelOption(.socketOption(.tcp_nodelay), value: 1)
            .connect(host: "127.0.0.1", port: serverPort)
            .flatMapThrowing { far in
                self.state.withLockedValue { $0.channels += [near, far] }
                try near.pipeline.syncOperations.addHandler(Forwarder(self, far, isClient: true))
                try far.pipeline.syncOperations.addHandler(Forwarder(self, near, isClient: false))
                for channel in [near, far] {
                    channel.setOption(.autoRead, value: true).whenSuccess { channel.read() }
                }
            }
            .whenFailure { _ in near.close(promise: nil) }
    }

    var port: Int { listener.localAddress?.port ?? 0 }
    var refusedCount: Int { state.withLockedValue { $0.refusedCount } }
    /// The bytes that the server sent to clients so far.
    var bytesToClient: Int { state.withLockedValue { $0.bytesToClient } }
    private var isCut: Bool { state.withLockedValue { $0.isCut } }

    func refuse(_ refusals: [Refusal]) { state.withLockedValue { $0.refusals = refusals } }

    /// Ends all connections, and accepts none until `heal`.
    func cut() {
        let channels = state.withLockedValue { state in
            state.isCut = true
            defer { state.channels = [] }
            return state.channels
        }
        for channel in channels { channel.close(promise: nil) }
    }

    func heal() { state.withLockedValue { $0.isCut = false } }

    func stop() async {
        cut()
        try? await listener.close()
    }

    fileprivate func refuses(_ bytes: ByteBuffer) -> Bool {
        let text = String(buffer: bytes).lowercased()
        return state.withLockedValue { state in
            guard state.refusals.contains(where: { text.contains($0.text) }) else { return false }
            state.refusedCount += 1
            return true
        }
    }

    fileprivate func count(_ bytes: Int) { state.withLockedValue { $0.bytesToClient += bytes } }
}

/// Requests of these tests arrive in one piece.
private final class Forwarder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let proxy: PickyProxy
    private let other: any Channel
    private let isClient: Bool

    init(_ proxy: PickyProxy, _ other: any Channel, isClient: Bool) {
        self.proxy = proxy
        self.other = other
        self.isClient = isClient
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        if isClient, proxy.refuses(bytes) {
            let answer = ByteBuffer(string: "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            let channel = context.channel
            context.writeAndFlush(wrapOutboundOut(answer)).whenComplete { _ in channel.close(promise: nil) }
            return
        }
        if !isClient { proxy.count(bytes.readableBytes) }
        other.writeAndFlush(bytes, promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        other.close(promise: nil)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
