import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import Chaos

@Suite(.timeLimit(.minutes(1)))
struct FaultyLinkTests {
    /// A server that answers every byte with the same, behind a link, and a connection through it.
    private func withLink(_ body: (FaultyLink, LinkClient) async throws -> Void) async throws {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Echo()) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let link = try await FaultyLink.start(to: try #require(server.localAddress?.port))
        let client = try await LinkClient.connect(link.port)
        try await body(link, client)
        await client.close()
        await link.stop()
        try await server.close()
    }

    @Test func passesEverythingOnInOrder() async throws {
        try await withLink { _, client in
            let text = String(repeating: "0123456789", count: 200_000)
            await client.send(text)
            #expect(await client.receive(text.utf8.count) == text)
        }
    }

    @Test func aCutClosesAndRefuses() async throws {
        try await withLink { link, client in
            await client.send("a")
            #expect(await client.receive(1) == "a")
            await link.set(.cut)
            await client.waitForEnd()
            let second = try await LinkClient.connect(link.port)
            await second.waitForEnd()
            await link.set(nil)
            let third = try await LinkClient.connect(link.port)
            await third.send("b")
            #expect(await third.receive(1) == "b")
            await third.close()
        }
    }

    @Test func silenceKeepsConnectionsAndBytes() async throws {
        try await withLink { link, client in
            await client.send("a")
            #expect(await client.receive(1) == "a")
            await link.set(.silent)
            await client.send("b")
            let second = try await LinkClient.connect(link.port)
            await second.send("c")
            // Another link of the same loops answers meanwhile: these would have, too.
            try await withLink { _, other in
                await other.send("x")
                #expect(await other.receive(1) == "x")
            }
            #expect(client.count == 1)
            #expect(second.count == 0)
            await link.set(nil)
            #expect(await client.receive(2) == "ab")
            #expect(await second.receive(1) == "c")
            await second.close()
        }
    }

    @Test func slownessKeepsTheOrder() async throws {
        try await withLink { link, client in
            await link.set(.slow(delayMs: 50))
            let start = ContinuousClock.now
            for text in ["a", "b", "c"] { await client.send(text) }
            #expect(await client.receive(3) == "abc")
            #expect(ContinuousClock.now - start >= .milliseconds(100))
            await client.send("d")
            await link.set(nil)
            await client.send("e")
            #expect(await client.receive(5) == "abcde")
        }
    }
}

private final class Echo: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.writeAndFlush(data, promise: nil)
    }
}

/// Gathers what it receives.
private final class LinkClient: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private struct State {
        var text = ""
        var hasEnded = false
        var channel: (any Channel)?
        var waiters: [(count: Int?, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    static func connect(_ port: Int) async throws -> LinkClient {
        let client = LinkClient()
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(client) }
            }
            .connect(host: "127.0.0.1", port: port).get()
        client.state.withLock { $0.channel = channel }
        return client
    }

    var count: Int { state.withLock { $0.text.utf8.count } }

    func send(_ text: String) async {
        let channel = state.withLock { $0.channel }
        channel?.writeAndFlush(ByteBuffer(string: text), promise: nil)
    }

    func receive(_ count: Int) async -> String {
        await wait(count)
        return state.withLock { $0.text }
    }

    func waitForEnd() async { await wait(nil) }

    func close() async { try? await state.withLock { $0.channel }?.close() }

    private func wait(_ count: Int?) async {
        await withCheckedContinuation { continuation in
            state.withLock { $0.waiters.append((count, continuation)) }
            wake()
        }
    }

    private func wake() {
        let due = state.withLock { state in
            let due = state.waiters.filter { waiter in
                state.hasEnded || waiter.count.map { state.text.utf8.count >= $0 } ?? false
            }
            state.waiters.removeAll { waiter in
                state.hasEnded || waiter.count.map { state.text.utf8.count >= $0 } ?? false
            }
            return due
        }
        for waiter in due { waiter.continuation.resume() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let text = String(buffer: unwrapInboundIn(data))
        state.withLock { $0.text += text }
        wake()
    }

    func channelInactive(context: ChannelHandlerContext) {
        state.withLock { $0.hasEnded = true }
        wake()
    }
}
