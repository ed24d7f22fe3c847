import Clocks
package import Logging
import NIOCore
package import NIOPosix
import Synchronization

/// A server for HTTP/1.1 and WebSocket on one port. It enforces the limits of its configuration and passes every
/// request to one handler, on the event loop of its connection, without a task, timer or thread per connection.
///
/// Call `start` once, later `stopAccepting` and `shutdown` in this order (the second implies the first).
package final class HTTPServer: Sendable {
    private let context: ServerContext
    private let group: MultiThreadedEventLoopGroup
    private let ownsGroup: Bool
    private let state = Mutex(State())

    private struct State {
        var listener: (any Channel)?
        var tables: [LoopTable] = []
    }

    /// A connection table and the only loop that may touch it.
    private struct LoopTable: @unchecked Sendable {
        // Unchecked: `table` is used only on `eventLoop`.
        let eventLoop: any EventLoop
        let table: ConnectionTable
    }

    /// - Parameters:
    ///   - group: event loops to share; nil makes `configuration.eventLoops` own ones.
    ///   - http2: takes over connections that begin with the HTTP/2 preface; without it they get a 400.
    ///   - tls: makes the handlers below HTTP for each accepted connection.
    ///   - addressRates: the rates of peers' addresses, where a new connection counts as a message; nil: no limit.
    ///   - addresses: the subjects of limits per address; nil: no limit.
    package init(
        configuration: HTTPServerConfiguration, handler: any HTTPHandler, logger: Logger,
        group: MultiThreadedEventLoopGroup? = nil, http2: HTTP2Setup? = nil, tls: TLSHandlers? = nil,
        addressRates: AddressRates? = nil, addresses: AddressSubjects? = nil
    ) {
        context = ServerContext(
            configuration: configuration, handler: handler, logger: logger, http2: http2, tls: tls,
            addressRates: addressRates, addresses: addresses)
        self.group = group ?? MultiThreadedEventLoopGroup(numberOfThreads: max(1, configuration.eventLoops))
        ownsGroup = group == nil
    }

    package var counters: HTTPServerCounters { context.snapshot() }

    /// Binds, starts to accept and returns the port. Throws the system's error if it cannot bind.
    package func start() async throws -> Int {
        let context = context
        var tables: [LoopTable] = []
        for eventLoop in group.makeIterator() {
            let entry = try await eventLoop.submit {
                let table = ConnectionTable(eventLoop: eventLoop, context: context)
                table.start()
                return LoopTable(eventLoop: eventLoop, table: table)
            }.get()
            tables.append(entry)
        }
        let loops = tables
        let configuration = context.configuration
        var bootstrap = ServerBootstrap(group: group)
        if let bytes = configuration.kernelSendBufferBytes {
            bootstrap = bootstrap.childChannelOption(.socketOption(.so_sndbuf), value: .init(bytes))
        }
        let listener =
            try await bootstrap
            .serverChannelOption(.backlog, value: configuration.backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(.recvAllocator, value: BurstAllocator())
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let entry = loops.first { $0.eventLoop === channel.eventLoop }!
                    try Self.accept(channel, entry.table)
                }
            }
            .bind(host: configuration.host, port: configuration.port).get()
        state.withLock {
            $0.listener = listener
            $0.tables = loops
        }
        let port = listener.localAddress?.port ?? configuration.port
        context.logger.info("listening", metadata: ["host": "\(configuration.host)", "port": "\(port)"])
        return port
    }

    private static func accept(_ channel: any Channel, _ table: ConnectionTable) throws {
        let context = table.context
        let open = context.counters.connectionsOpen.wrappingAdd(1, ordering: .relaxed).newValue
        do {
            let total = Room(for: open, max: context.configuration.connectionsMax)
            let room = max(total, Self.countForAddress(channel, context))
            // A peer past the limit gets a 503, but only a limited number of them at a time.
            if room > .free { context.counters.connectionsRefused.increment() }
            if room == .exceeded { throw HTTPFailure.overloaded }
            try HTTP1Handler.install(on: channel, table: table, refused: room == .full)
            context.counters.connectionsTotal.increment()
        } catch {
            context.counters.connectionsOpen.decrement()
            throw error
        }
    }

    /// The room for another connection.
    private enum Room: Int, Comparable {
        case free
        case full
        /// Too many even to answer with a refusal.
        case exceeded

        init(for open: Int, max: Int) {
            self = open <= max ? .free : open <= max + max / 8 + 1 ? .full : .exceeded
        }

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// Counts a connection for its peer's address until it is closed.
    private static func countForAddress(_ channel: any Channel, _ context: ServerContext) -> Room {
        let maximum = context.configuration.connectionsPerAddressMax
        guard maximum > 0, let address = channel.remoteAddress?.ipAddress,
            let subject = context.addresses?.peer(address)
        else { return .free }
        let count = context.connectionsByAddress.add(subject)
        channel.closeFuture.whenComplete { _ in context.connectionsByAddress.remove(subject) }
        return Room(for: count, max: maximum)
    }

    /// Closes the listening socket; open connections continue.
    package func stopAccepting() async {
        let listener = state.withLock { state in
            defer { state.listener = nil }
            return state.listener
        }
        try? await listener?.close().get()
    }

    /// Makes every response, including those that have begun, the last one of its connection.
    package func beginDraining() {
        context.isDraining.store(true, ordering: .relaxed)
    }

    /// Stops accepting, closes idle connections, closes WebSockets with 1001, lets responses in flight finish for up to
    /// `graceMs` and then closes the rest. Ends the event loops if the server made them.
    package func shutdown(graceMs: Int64) async {
        await stopAccepting()
        beginDraining()
        let tables = state.withLock { $0.tables }
        for entry in tables { entry.eventLoop.execute { entry.table.drainAll() } }
        let deadline = Deadline(afterMs: graceMs)
        while context.counters.connectionsOpen.load(ordering: .relaxed) > 0, !deadline.isReached {
            try? await Task.sleep(for: .milliseconds(min(20, max(1, graceMs))))
        }
        for entry in tables {
            try? await entry.eventLoop.submit {
                entry.table.closeAll()
                entry.table.stop()
            }.get()
        }
        if ownsGroup { try? await group.shutdownGracefully() }
    }
}
