import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// One GET over a connection of its own: a key set is fetched about once an hour, so there is nothing to pool, and a
/// redirect would move the trust to another host, so none is followed.
struct KeyDownload {
    let url: KeyURL
    let bytesMax: Int
    /// For everything, from the look-up of the name to the last byte.
    let timeoutMs: Int

    func run() async throws -> [UInt8] {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let answer = loop.makePromise(of: [UInt8].self)
        let timeout = loop.scheduleTask(in: .milliseconds(Int64(timeoutMs))) {
            answer.fail(FetchError(code: .timedOut))
        }
        let url = url
        let bytesMax = bytesMax
        let tls = try url.isSecure ? NIOSSLContext(configuration: .makeClientConfiguration()) : nil
        ClientBootstrap(group: loop).connectTimeout(.milliseconds(Int64(timeoutMs))).channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                if let tls {
                    // A certificate can be for an address, but SNI cannot name one.
                    let isAddress = (try? SocketAddress(ipAddress: url.host, port: 0)) != nil
                    try pipeline.addHandler(
                        NIOSSLClientHandler(context: tls, serverHostname: isAddress ? nil : url.host))
                }
                try pipeline.addHTTPClientHandlers()
                try pipeline.addHandler(KeyDownloadHandler(url: url, bytesMax: bytesMax, answer: answer))
            }
        }.connect(host: url.host, port: url.port).whenComplete { result in
            switch result {
            case .success(let channel): answer.futureResult.whenComplete { _ in channel.close(promise: nil) }
            case .failure(let error):
                answer.fail(FetchError(code: .connectionFailed, detail: String(describing: error)))
            }
        }
        defer { timeout.cancel() }
        return try await answer.futureResult.get()
    }
}

/// Sends the request when the connection is there and gathers the answer's body.
final class KeyDownloadHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let url: KeyURL
    private let bytesMax: Int
    private let answer: EventLoopPromise<[UInt8]>
    private var body: [UInt8] = []

    init(url: KeyURL, bytesMax: Int, answer: EventLoopPromise<[UInt8]>) {
        self.url = url
        self.bytesMax = bytesMax
        self.answer = answer
    }

    func channelActive(context: ChannelHandlerContext) {
        let headers: HTTPHeaders = [
            "host": url.hostHeader, "accept": "application/json", "user-agent": "freshet", "connection": "close",
        ]
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: url.target, headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            if head.status != .ok { fail(context, FetchError(code: .badStatus, detail: "\(head.status.code)")) }
        case .body(let buffer):
            guard body.count + buffer.readableBytes <= bytesMax else {
                return fail(context, FetchError(code: .tooLarge))
            }
            body.append(contentsOf: buffer.readableBytesView)
        case .end: answer.succeed(body)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let code: FetchError.Code = error is NIOSSLError || error is NIOSSLExtraError ? .tlsFailed : .connectionFailed
        fail(context, FetchError(code: code, detail: String(describing: error)))
    }

    func channelInactive(context: ChannelHandlerContext) {
        answer.fail(FetchError(code: .closedEarly))
        context.fireChannelInactive()
    }

    /// Whatever the promise already has stays.
    private func fail(_ context: ChannelHandlerContext, _ error: FetchError) {
        answer.fail(error)
        context.close(promise: nil)
    }
}
