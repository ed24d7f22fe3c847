package import NIOCore
package import NIOHTTP1
package import NIOPosix

/// A response without end, line by line: server-sent events.
package enum HTTPLines {
    /// The longest line; a longer one fails the call.
    package static let lineBytesMax = 4 << 20

    /// Follows a response until it ends or the task is cancelled.
    /// - Parameter onLine: called for each line, without its end, on an event loop.
    /// - Throws: `ClientError`; `.refused` with the response's body for another status than 200.
    package static func follow(
        _ address: ServerAddress, path: String, headers: HTTPHeaders = [:],
        group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        _ onLine: @escaping @Sendable (String) -> Void
    ) async throws {
        let eventLoop = group.next()
        let ended = eventLoop.makePromise(of: Void.self)
        let channel: any Channel
        do {
            channel = try await ClientBootstrap(group: eventLoop)
                .connectTimeout(.seconds(10))
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try address.secure(channel)
                        try channel.pipeline.syncOperations.addHTTPClientHandlers()
                        try channel.pipeline.syncOperations.addHandler(LineReader(ended, onLine))
                    }
                }
                .connect(host: address.host, port: address.port).get()
        } catch {
            ended.fail(error)
            _ = try? await ended.futureResult.get()
            throw ClientError(.cannotConnect, "no server responds at \(address)")
        }
        var headers = headers
        headers.replaceOrAdd(name: "host", value: "\(address.host):\(address.port)")
        headers.replaceOrAdd(name: "accept", value: "text/event-stream")
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: path, headers: headers)
        channel.write(HTTPClientRequestPart.head(head), promise: nil)
        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
        defer { channel.close(promise: nil) }
        try await withTaskCancellationHandler {
            try await ended.futureResult.get()
        } onCancel: {
            ended.succeed()
        }
    }
}

private final class LineReader: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let ended: EventLoopPromise<Void>
    private let onLine: @Sendable (String) -> Void
    private var status = 200
    private var rest: [UInt8] = []

    init(_ ended: EventLoopPromise<Void>, _ onLine: @escaping @Sendable (String) -> Void) {
        self.ended = ended
        self.onLine = onLine
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): status = Int(head.status.code)
        case .body(let part):
            rest.append(contentsOf: part.readableBytesView)
            if status == 200 {
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    let line = rest[..<end]
                    onLine(String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self))
                    rest.removeSubrange(...end)
                }
            }
            guard rest.count > HTTPLines.lineBytesMax else { return }
            ended.fail(ClientError(.protocolViolation, "a line is longer than \(HTTPLines.lineBytesMax) bytes"))
            context.close(promise: nil)
        case .end:
            if status == 200 {
                ended.succeed()
            } else {
                ended.fail(ClientError(.refused, String(decoding: rest, as: UTF8.self)))
            }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        ended.fail(ClientError(.protocolViolation, "\(error)"))
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { ended.succeed() }
}
