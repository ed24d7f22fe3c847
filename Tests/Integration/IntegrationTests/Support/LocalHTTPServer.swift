import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix

/// An HTTP server on 127.0.0.1 in the test's process, such as an issuer of tokens or a collector of traces. It keeps
/// what it received.
final class LocalHTTPServer: Sendable {
    struct Received: Sendable {
        let path: String
        let headers: HTTPHeaders
        let body: [UInt8]
    }

    typealias Answer = @Sendable (_ received: Received, _ origin: String) -> (status: HTTPResponseStatus, body: [UInt8])

    private let listener: any Channel
    private let log: NIOLockedValueBox<[Received]>

    private init(_ listener: any Channel, _ log: NIOLockedValueBox<[Received]>) {
        self.listener = listener
        self.log = log
    }

    static func with<Value: Sendable>(
        _ answer: @escaping Answer, _ body: (LocalHTTPServer) async throws -> Value
    ) async throws -> Value {
        let log = NIOLockedValueBox<[Received]>([])
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton.next())
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(answer, log))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let server = LocalHTTPServer(listener, log)
        do {
            let value = try await body(server)
            await server.stop()
            return value
        } catch {
            await server.stop()
            throw error
        }
    }

    var origin: String { "http://127.0.0.1:\(listener.localAddress?.port ?? 0)" }
    var received: [Received] { log.withLockedValue { $0 } }

    private func stop() async { try? await listener.close() }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let answer: Answer
        private let log: NIOLockedValueBox<[Received]>
        private var head: HTTPRequestHead?
        private var body: [UInt8] = []

        init(_ answer: @escaping Answer, _ log: NIOLockedValueBox<[Received]>) {
            self.answer = answer
            self.log = log
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head): (self.head, body) = (head, [])
            case .body(let part): body += part.readableBytesView
            case .end:
                guard let head else { return }
                let received = Received(path: head.uri, headers: head.headers, body: body)
                log.withLockedValue { $0.append(received) }
                let (status, answer) = answer(received, "http://\(head.headers.first(name: "host") ?? "")")
                let headers: HTTPHeaders = ["content-length": "\(answer.count)", "content-type": "application/json"]
                context.write(
                    wrapOutboundOut(.head(.init(version: .http1_1, status: status, headers: headers))), promise: nil)
                context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: answer)))), promise: nil)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }
}
