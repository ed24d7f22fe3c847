import JSON
import NIOCore
import NIOHTTP1
import NIOPosix
import ProtocolClients
import Testing

@Suite struct ReconnectDelayTests {
    private func delays(failures: Int, retryAfterMs: Int64?) -> [Int64] {
        (0..<500).map { _ in
            ReconnectDelay.ms(failures: failures, minMs: 100, maxMs: 5_000, retryAfterMs: retryAfterMs)
        }
    }

    @Test func backOffDoublesUpToItsMost() {
        #expect(delays(failures: 0, retryAfterMs: nil).allSatisfy { (50...100).contains($0) })
        #expect(delays(failures: 3, retryAfterMs: nil).allSatisfy { (400...800).contains($0) })
        #expect(delays(failures: 1_000, retryAfterMs: nil).allSatisfy { (2_500...5_000).contains($0) })
    }

    @Test func theServersDelayTakesPrecedence() {
        let delayed = delays(failures: 0, retryAfterMs: 7_000)
        #expect(delayed.allSatisfy { (7_000..<8_000).contains($0) })
        #expect(Set(delayed.map { $0 / 100 }).count == 10, "spread over the second")
        #expect(delays(failures: 9, retryAfterMs: 1_000).allSatisfy { (1_000...5_000).contains($0) })
        #expect(delays(failures: 0, retryAfterMs: .max).allSatisfy { $0 < ReconnectDelay.retryAfterMaxMs + 1_000 })
    }

    @Test(
        arguments: [
            ("3", 3_000), ("0", 0), ("", nil), ("-1", nil), ("Fri, 07 Nov 2014 23:59:59 GMT", nil),
            ("99999999999999999999", nil), (nil, nil),
        ] as [(String?, Int64?)])
    func retryAfterIsReadAsSeconds(text: String?, ms: Int64?) {
        #expect(ReconnectDelay.retryAfterMs(text) == ms)
    }

    private final class Refusing: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .end = unwrapInboundIn(data) else { return }
            let head = HTTPResponseHead(
                version: .http1_1, status: .serviceUnavailable, headers: ["retry-after": "2", "content-length": "0"])
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }

    /// The delay is reported before it begins, so nothing here waits for it.
    @Test func aRefusedSubscriptionWaitsForRetryAfter() async throws {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Refusing())
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let address = ServerAddress(host: "127.0.0.1", port: server.localAddress?.port ?? 0)
        let (delays, delayed) = AsyncStream.makeStream(of: Int64.self)
        let following = Task {
            try await LiveSubscription(address: address, operation: "Anything", variables: [:]).run { event in
                if case .reconnecting(let afterMs, _) = event { delayed.yield(afterMs) }
            }
        }
        var iterator = delays.makeAsyncIterator()
        let delay = try #require(await iterator.next())
        #expect((2_000..<3_000).contains(delay))
        following.cancel()
        _ = try? await following.value
        try await server.close().get()
    }
}
