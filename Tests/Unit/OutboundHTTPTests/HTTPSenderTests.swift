import NIOCore
import NIOPosix
import Testing

@testable import OutboundHTTP

/// Requests that cannot be sent: the cause is reported, the request's own text is not.
@Suite struct HTTPSenderTests {
    private func post(_ url: String, token: String = "secret") async -> Result<HTTPSender.Response, HTTPSender.Failure>
    {
        let sender = HTTPSender(group: .singleton, connectionsPerHostMax: 1)
        let answer = await sender.send(
            HTTPSender.Request(
                url: url, headers: [("authorization", "Bearer \(token)")], body: [], timeoutMs: 60_000,
                responseBytesMax: 1_000))
        await sender.stop()
        return answer
    }

    private func unreachable(_ result: Result<HTTPSender.Response, HTTPSender.Failure>) -> String? {
        if case .failure(.unreachable(let cause)) = result { cause } else { nil }
    }

    @Test(arguments: [("http://", "Empty host"), ("http:///v1", "Empty host"), ("ftp://a/v1", "Unsupported scheme")])
    func aBadURL(_ url: String, _ cause: String) async {
        #expect(unreachable(await post(url)) == cause)
    }

    @Test func aTokenThatNoHeaderCanCarryIsNotInTheCause() async throws {
        let port = try await port(answering: "")
        #expect(
            unreachable(await post("http://127.0.0.1:\(port)/v1", token: "secret\nword"))
                == "Invalid header field values")
    }

    @Test func refusedConnectionsAreUnreachable() async throws {
        let cause = try #require(unreachable(await post("http://127.0.0.1:1/v1")))
        #expect(cause.contains("refused"), "\(cause)")
    }

    @Test func aFaultOfTLSIsReported() async throws {
        let port = try await port(answering: "HTTP/1.1 400 Bad Request\r\n\r\n")
        let cause = try #require(unreachable(await post("https://127.0.0.1:\(port)/v1")))
        #expect(cause.contains("SSL") || cause.contains("TLS"), "\(cause)")
    }

    @Test func aTruncatedResponseIsReportedAsBroken() async throws {
        let port = try await port(answering: "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf")
        guard case .failure(.broken(let cause)) = await post("http://127.0.0.1:\(port)/v1") else {
            return #expect(Bool(false))
        }
        #expect(!cause.isEmpty && !cause.contains("secret"), "\(cause)")
    }

    /// Answers whatever comes first and closes.
    private final class Answer: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let text: String

        init(_ text: String) {
            self.text = text
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let channel = context.channel
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text))).whenComplete { _ in
                channel.close(promise: nil)
            }
        }
    }

    private func port(answering text: String) async throws -> Int {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Answer(text))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return try #require(server.localAddress?.port)
    }
}
