import NIOCore
import NIOHTTP1
import NIOPosix
import ProtocolClients

/// A kept-alive HTTP/1.1 connection for one request at a time, with callbacks instead of a task per connection.
///
/// Confined to its event loop, hence `@unchecked Sendable`.
final class HTTPConnection: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = HTTPClientResponsePart

    struct Exchange {
        var onHead: (HTTPResponseHead) -> Void
        var onBody: (ByteBuffer) -> Void
        /// Called last; nil if the response is complete.
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

    /// Connects. The future belongs to the event loop and fails with `ClientError`.
    static func connect(_ address: ServerAddress, on eventLoop: any EventLoop) -> EventLoopFuture<HTTPConnection> {
        let connection = HTTPConnection(address)
        return ClientBootstrap(group: eventLoop)
            .connectTimeout(.milliseconds(connectTimeoutMs))
            .channelOption(.socketOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try address.secure(channel)
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    try channel.pipeline.syncOperations.addHandler(connection)
                }
            }
            .connect(host: address.host, port: address.port)
            .map { channel in
                connection.channel = channel
                return connection
            }
            .flatMapErrorThrowing { _ in throw ClientError(.cannotConnect, "no server responds at \(address)") }
    }

    /// Sets the callback for a connection that ends between two requests.
    func watchIdle(_ onClose: @escaping () -> Void) {
        self.onClose = onClose
    }

    /// Sends a request.
    /// - Parameter timeoutMs: the limit for the whole response; nil for none.
    func send(_ request: PlainRequest, timeoutMs: Int64?, exchange: Exchange) {
        guard let channel, isReusable else {
            return exchange.onEnd(ClientError(.closed(nil), "the connection is closed"))
        }
        self.exchange = exchange
        if let timeoutMs {
            timeout = channel.eventLoop.scheduleTask(in: .milliseconds(timeoutMs)) {
                // First, so that the callback cannot reuse the connection.
                self.isKept = false
                self.end(ClientError(.timeout, "no response from \(self.address) within \(timeoutMs) ms"))
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

    /// Closes the connection without another callback of the exchange.
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
        let meaning = address.meaning(of: error, otherwise: ClientError(.protocolViolation, "the response is not HTTP"))
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
