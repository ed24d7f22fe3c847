package import NIOCore
package import NIOHTTP1
package import NIOPosix

/// A minimal HTTP/1.1 client for the command line: one request per connection, no pool, no redirects.
package enum HTTPCall {
    package struct Response: Sendable {
        package let status: Int
        package let headers: HTTPHeaders
        package let body: [UInt8]
    }

    /// The largest response; a larger one fails the call.
    package static let bodyBytesMax = 64 << 20

    /// Sends a request and returns the response.
    /// - Throws: `ClientError`.
    package static func send(
        _ method: HTTPMethod, _ address: ServerAddress, path: String, headers: HTTPHeaders = [:], body: [UInt8] = [],
        timeoutMs: Int64 = 30_000, group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) async throws -> Response {
        let eventLoop = group.next()
        let promise = eventLoop.makePromise(of: Response.self)
        let channel: any Channel
        do {
            channel = try await ClientBootstrap(group: eventLoop)
                .connectTimeout(.milliseconds(min(timeoutMs, 10_000)))
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try address.secure(channel)
                        try channel.pipeline.syncOperations.addHTTPClientHandlers()
                        try channel.pipeline.syncOperations.addHandler(ResponseCollector(promise, address))
                    }
                }
                .connect(host: address.host, port: address.port).get()
        } catch {
            promise.fail(error)
            _ = try? await promise.futureResult.get()
            throw ClientError(.cannotConnect, "no server responds at \(address)")
        }
        var headers = headers
        if !headers.contains(name: "host") { headers.add(name: "host", value: "\(address.host):\(address.port)") }
        headers.replaceOrAdd(name: "connection", value: "close")
        if !body.isEmpty || method == .POST || method == .PUT {
            headers.replaceOrAdd(name: "content-length", value: String(body.count))
        }
        let head = HTTPRequestHead(version: .http1_1, method: method, uri: path, headers: headers)
        let timeout = eventLoop.scheduleTask(in: .milliseconds(timeoutMs)) {
            promise.fail(ClientError(.timeout, "no response from \(address) within \(timeoutMs) ms"))
        }
        channel.write(HTTPClientRequestPart.head(head), promise: nil)
        if !body.isEmpty {
            channel.write(HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: body))), promise: nil)
        }
        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
        defer {
            timeout.cancel()
            channel.close(promise: nil)
        }
        return try await promise.futureResult.get()
    }
}

/// Collects one response.
private final class ResponseCollector: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let promise: EventLoopPromise<HTTPCall.Response>
    private let address: ServerAddress
    private var head: HTTPResponseHead?
    private var body: [UInt8] = []

    init(_ promise: EventLoopPromise<HTTPCall.Response>, _ address: ServerAddress) {
        self.promise = promise
        self.address = address
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body(let part):
            body.append(contentsOf: part.readableBytesView)
            if body.count > HTTPCall.bodyBytesMax {
                promise.fail(
                    ClientError(.protocolViolation, "the response is larger than \(HTTPCall.bodyBytesMax) bytes"))
                context.close(promise: nil)
            }
        case .end:
            guard let head else { return }
            promise.succeed(.init(status: Int(head.status.code), headers: head.headers, body: body))
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        promise.fail(
            address.meaning(
                of: error, otherwise: ClientError(.protocolViolation, "the response is not HTTP: \(error)")))
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        promise.fail(ClientError(.cannotConnect, "the server closed the connection before it responded"))
    }
}
