import NIOCore
import NIOHTTP1
import NIOPosix
import OutboundHTTP
import Tokens

/// The downloads of all tests; its client lives as long as the process.
let testDownloads = KeyDownloads(HTTPSender(group: .singleton, connectionsPerHostMax: 4))

/// Answers GETs of one path each on a port of its own.
final class OneHostServer: Sendable {
    let origin: String
    private let channel: any Channel

    private init(origin: String, channel: any Channel) {
        self.origin = origin
        self.channel = channel
    }

    static func start(
        _ answer: @escaping @Sendable (_ path: String, _ origin: String) -> [UInt8]?
    ) async throws -> OneHostServer {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(answer))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return OneHostServer(origin: "http://127.0.0.1:\(channel.localAddress?.port ?? 0)", channel: channel)
    }

    func stop() async { try? await channel.close().get() }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let answer: @Sendable (String, String) -> [UInt8]?

        init(_ answer: @escaping @Sendable (String, String) -> [UInt8]?) { self.answer = answer }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .head(let head) = unwrapInboundIn(data) else { return }
            let body = answer(head.uri, "http://\(head.headers.first(name: "host") ?? "")")
            let headers: HTTPHeaders = ["content-length": String(body?.count ?? 0), "connection": "close"]
            context.write(
                wrapOutboundOut(
                    .head(.init(version: .http1_1, status: body == nil ? .notFound : .ok, headers: headers))),
                promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body ?? [])))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
