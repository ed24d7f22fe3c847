import Broker
import Catalog
import Execution
import JSON
import LiveModel
import NIOCore
import NIOPosix
import Postgres
import Streams
import Synchronization

/// The parts of the path from a commit to its delivery, each measured separately.
struct PathParts {
    private let broker: any Broker
    private let reader: any StreamReader
    private let stream: String
    private let queries: QueryExecutor
    private let query: StoredOperation
    private let item: QueryExecutor.Item
    private let loopback: Loopback
    private let eventBytes = [UInt8](repeating: UInt8(ascii: "e"), count: 350)

    init(_ servers: PrivateServers, _ pool: PostgresPool, _ broker: any Broker, id: String) async throws {
        self.broker = broker
        // A stream that no node reads.
        stream = broker.keys.inbox(gateway: "bench")
        reader = broker.makeReader(name: "bench")
        reader.follow(stream, after: .zero)
        queries = QueryExecutor(pool: pool, clock: .system())
        query = try servers.operation("GetLot")
        item = .init(variables: try query.coerce(["id": .string(id)]), auth: nil, knownDigest: nil)
        loopback = try await Loopback.open()
    }

    /// Times one broker hop, from the append to its arrival at the reader.
    func hop() async throws -> Double {
        async let arrived: Double = arrival()
        // Let the reader block at the server before the clock starts, like a worker's.
        try await Task.sleep(for: .milliseconds(5))
        let start = Clock.now
        _ = try await broker.append([.event(eventBytes, to: stream, lengthMax: 1_000)])
        return try await arrived - start
    }

    private func arrival() async throws -> Double {
        while true {
            let batches = try await reader.next(maxEntries: 512)
            if batches.contains(where: { !$0.entries.isEmpty }) { return Clock.now }
        }
    }

    /// Times the read of a single due live query as a worker performs it.
    func read() async throws -> Double {
        let start = Clock.now
        let outcome = await queries.run(query, items: [item])
        let seconds = Clock.now - start
        guard case .result? = outcome.first else { throw BenchmarkFailure("the read failed") }
        return seconds
    }

    /// Times sending a result from one event loop to another over loopback.
    func write() async throws -> Double {
        try await loopback.write(byteCount: 300)
    }

    func close() async {
        reader.close()
        await loopback.close()
    }
}

/// Both ends of a TCP connection over 127.0.0.1.
private struct Loopback {
    private let group: MultiThreadedEventLoopGroup
    private let listener: any Channel
    private let from: any Channel
    private let to: any Channel
    private let arrival: Arrival

    /// Resumes a waiter when the expected bytes have arrived.
    private final class Arrival: Sendable {
        private struct State {
            var missing = 0
            var waiter: CheckedContinuation<Double, Never>?
        }

        private let state = Mutex(State())

        func expect(_ count: Int, _ waiter: CheckedContinuation<Double, Never>) {
            state.withLock { $0 = State(missing: count, waiter: waiter) }
        }

        func received(_ count: Int) {
            let now = Clock.now
            let waiter: CheckedContinuation<Double, Never>? = state.withLock { state in
                state.missing -= count
                guard state.missing <= 0 else { return nil }
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume(returning: now)
        }
    }

    private final class Receiver: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let arrival: Arrival

        init(_ arrival: Arrival) { self.arrival = arrival }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            arrival.received(unwrapInboundIn(data).readableBytes)
        }
    }

    static func open() async throws -> Loopback {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        let arrival = Arrival()
        let accepted = group.next().makePromise(of: (any Channel).self)
        let listener = try await ServerBootstrap(group: group)
            .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                accepted.succeed(channel)
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let to = try await ClientBootstrap(group: group)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Receiver(arrival))
                }
            }
            .connect(host: "127.0.0.1", port: listener.localAddress?.port ?? 0).get()
        let from = try await accepted.futureResult.get()
        return Loopback(group: group, listener: listener, from: from, to: to, arrival: arrival)
    }

    func write(byteCount: Int) async throws -> Double {
        let started = Instant()
        let arrived = await withCheckedContinuation { continuation in
            arrival.expect(byteCount, continuation)
            let from = from
            from.eventLoop.execute {
                started.seconds.withLock { $0 = Clock.now }
                from.writeAndFlush(ByteBuffer(repeating: 7, count: byteCount), promise: nil)
            }
        }
        return arrived - started.seconds.withLock { $0 }
    }

    private final class Instant: Sendable {
        let seconds = Mutex(0.0)
    }

    func close() async {
        try? await from.close().get()
        try? await listener.close().get()
        try? await group.shutdownGracefully()
    }
}
