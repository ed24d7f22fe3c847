import FreshetClient
import NIOCore
import NIOHTTP1
import NIOPosix

/// One kept HTTP/1.1 connection, one request at a time, by callbacks: no task per connection.
///
/// Confined to its event loop, hence `@unchecked Sendable`.
final class HTTPLine: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = HTTPClientResponsePart

    struct Exchange {
        var onHead: (HTTPResponseHead) -> Void
        var onBody: (ByteBuffer) -> Void
        /// The last call; nil: the answer is complete.
        var onEnd: (ClientError?) -> Void
    }

    static let connectTimeoutMs: Int64 = 10_000

    private let address: ServerAddress
    private var channel: (any Channel)?
    private var exchange: Exchange?
    private var timeout: Scheduled<Void>?
    private var isKept = true
    private var onClose: () -> Void = {}

    private init(_ address: ServerAddress) {
        self.address = address
    }

    /// Whether another request can be sent.
    var isReusable: Bool { isKept && exchange == nil && channel?.isActive == true }

    /// The future belongs to the event loop and fails with `ClientError`.
    static func connect(_ address: ServerAddress, on eventLoop: any EventLoop) -> EventLoopFuture<HTTPLine> {
        let line = HTTPLine(address)
        return ClientBootstrap(group: eventLoop)
            .connectTimeout(.milliseconds(connectTimeoutMs))
            .channelOption(.socketOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try address.secure(channel)
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    try channel.pipeline.syncOperations.addHandler(line)
                }
            }
            .connect(host: address.host, port: address.port)
            .map { channel in
                line.channel = channel
                return line
            }
            .flatMapErrorThrowing { _ in throw ClientError(.cannotConnect, "nobody answers at \(address)") }
    }

    /// `onClose` is called when the connection ends between two requests.
    func watchIdle(_ onClose: @escaping () -> Void) {
        self.onClose = onClose
    }

    /// - Parameter timeoutMs: for the whole answer; nil: none.
    func send(_ request: PlainRequest, timeoutMs: Int64?, exchange: Exchange) {
        guard let channel, isReusable else {
            return exchange.onEnd(ClientError(.closed(nil), "the connection is closed"))
        }
        self.exchange = exchange
        if let timeoutMs {
            timeout = channel.eventLoop.scheduleTask(in: .milliseconds(timeoutMs)) {
                // First, so that nobody reuses it inside the callback.
                self.isKept = false
                self.end(ClientError(.timeout, "no answer from \(self.address) within \(timeoutMs) ms"))
                self.close()
            }
        }
        var headers = request.headers
        headers.replaceOrAdd(name: "host", value: "\(address.host):\(address.port)")
        if request.method == .POST { headers.replaceOrAdd(name: "content-length", value: String(request.body.count)) }
        let head = HTTPRequestHead(version: .http1_1, method: request.method, uri: request.path, headers: headers)
        channel.write(HTTPClientRequestPart.head(head), promise: nil)
        if !request.body.isEmpty {
            channel.write(HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: request.body))), promise: nil)
        }
        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
    }

    /// Without a further callback of the exchange.
    func close() {
        exchange = nil
        timeout?.cancel()
        isKept = false
        channel?.close(promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            if !head.isKeepAlive { isKept = false }
            exchange?.onHead(head)
        case .body(let part): exchange?.onBody(part)
        case .end:
            end(nil)
            if !isKept { context.close(promise: nil) }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        isKept = false
        let meaning = address.meaning(of: error, otherwise: ClientError(.protocolViolation, "not an HTTP answer"))
        end(meaning as? ClientError)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        isKept = false
        end(ClientError(.closed(nil), "the server closed the connection"))
        let onClose = self.onClose
        self.onClose = {}
        onClose()
        channel = nil
    }

    private func end(_ error: ClientError?) {
        timeout?.cancel()
        timeout = nil
        let exchange = self.exchange
        self.exchange = nil
        exchange?.onEnd(error)
    }
}
