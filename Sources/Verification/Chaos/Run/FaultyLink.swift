import DequeModule
package import NIOCore
import NIOPosix

/// A TCP proxy on 127.0.0.1 between a node and a server, or between clients and nodes, that can be impaired.
///
/// Confined to its event loop, hence `@unchecked Sendable`. One side is not read while the other does not accept bytes,
/// so little is buffered; `slow` buffers what arrives within its delay.
package final class FaultyLink: @unchecked Sendable {
    package let port: Int
    private let eventLoop: any EventLoop
    private let serverPorts: [Int]
    /// Connections made so far; each goes to the next server.
    private var connectionCount = 0
    private var listener: (any Channel)?
    private var impairment: Fault.Impairment?
    private var pairs: [ObjectIdentifier: LinkPair] = [:]
    /// Connections accepted while nothing passes; connected to the server afterwards.
    private var waiting: [any Channel] = []

    private init(port: Int, serverPorts: [Int], on eventLoop: any EventLoop) {
        self.port = port
        self.serverPorts = serverPorts
        self.eventLoop = eventLoop
    }

    /// Starts a link.
    /// - Parameter serverPorts: its connections go to each of these in turn.
    /// - Throws: NIO's error if it cannot listen.
    package static func start(
        to serverPorts: Int..., group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) async throws -> FaultyLink {
        let eventLoop = group.next()
        let accept = Acceptor()
        let listener = try await ServerBootstrap(group: eventLoop)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                accept.link?.accepted(channel)
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let link = FaultyLink(port: listener.localAddress?.port ?? 0, serverPorts: serverPorts, on: eventLoop)
        try await eventLoop.submit {
            link.listener = listener
            accept.link = link
        }.get()
        return link
    }

    /// Sets the impairment; nil ends it.
    package func set(_ impairment: Fault.Impairment?) async {
        try? await eventLoop.submit { self.apply(impairment) }.get()
    }

    package func stop() async {
        try? await eventLoop.submit {
            self.apply(.cut)
            self.listener?.close(promise: nil)
        }.get()
    }

    // MARK: On the event loop

    private func apply(_ impairment: Fault.Impairment?) {
        self.impairment = impairment
        switch impairment {
        case .cut:
            for pair in pairs.values { pair.close() }
            pairs = [:]
            for channel in waiting { channel.close(promise: nil) }
            waiting = []
        case .silent: break
        case .slow, nil:
            let channels = waiting
            waiting = []
            for channel in channels { connect(channel) }
        }
        for pair in pairs.values { pair.set(impairment) }
    }

    private func accepted(_ channel: any Channel) {
        switch impairment {
        case .cut: channel.close(promise: nil)
        case .silent: waiting.append(channel)
        case .slow, nil: connect(channel)
        }
    }

    private func connect(_ near: any Channel) {
        let serverPort = serverPorts[connectionCount % serverPorts.count]
        connectionCount += 1
        ClientBootstrap(group: eventLoop)
            .channelOption(.autoRead, value: false)
            .channelOption(.socketOption(.tcp_nodelay), value: 1)
            .connect(host: "127.0.0.1", port: serverPort)
            .whenComplete { result in
                guard case .success(let far) = result, self.impairment != .cut else {
                    if case .success(let far) = result { far.close(promise: nil) }
                    near.close(promise: nil)
                    return
                }
                let pair = LinkPair(near, far)
                self.pairs[ObjectIdentifier(pair)] = pair
                pair.onEnd = { [weak pair] in
                    if let pair { self.pairs[ObjectIdentifier(pair)] = nil }
                }
                pair.start(self.impairment)
            }
    }
}

/// Written before the first connection, read on the event loop.
private final class Acceptor: @unchecked Sendable {
    var link: FaultyLink?
}

/// A node's connection and its counterpart to the server. Confined to its event loop.
private final class LinkPair: @unchecked Sendable {
    private let near: LinkEnd
    private let far: LinkEnd
    var onEnd: () -> Void = {}

    init(_ near: any Channel, _ far: any Channel) {
        self.near = LinkEnd(near, to: far)
        self.far = LinkEnd(far, to: near)
        self.near.other = self.far
        self.far.other = self.near
    }

    func start(_ impairment: Fault.Impairment?) {
        for end in [near, far] {
            end.onEnd = { [weak self] in self?.close() }
            try? end.channel.pipeline.syncOperations.addHandler(end)
            end.set(impairment)
        }
    }

    func set(_ impairment: Fault.Impairment?) {
        near.set(impairment)
        far.set(impairment)
    }

    func close() {
        near.channel.close(promise: nil)
        far.channel.close(promise: nil)
        onEnd()
        onEnd = {}
    }
}

/// Forwards what one side sends. Confined to its event loop.
private final class LinkEnd: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer

    let channel: any Channel
    private let target: any Channel
    weak var other: LinkEnd?
    var onEnd: () -> Void = {}
    private var impairment: Fault.Impairment?
    private var delayed: Deque<(due: NIODeadline, bytes: ByteBuffer)> = []
    private var timer: Scheduled<Void>?

    init(_ channel: any Channel, to target: any Channel) {
        self.channel = channel
        self.target = target
    }

    func set(_ impairment: Fault.Impairment?) {
        self.impairment = impairment
        if impairment == .silent { timer?.cancel() } else { sendDelayed() }
        updateReading()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        if case .slow(let delayMs)? = impairment {
            delayed.append((.now() + .milliseconds(Int64(delayMs)), bytes))
            if delayed.count == 1 { sendDelayed() }
        } else if impairment == nil, delayed.isEmpty {
            target.writeAndFlush(bytes, promise: nil)
        } else {
            // Read just before the impairment, or while earlier bytes are delayed: keep the order.
            delayed.append((.now(), bytes))
            if impairment == nil { sendDelayed() }
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        // This side's writability changed, so reading from the other side may start or stop.
        other?.updateReading()
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        onEnd()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func updateReading() {
        let reads = impairment != .silent && target.isWritable
        channel.setOption(.autoRead, value: reads).whenComplete { _ in if reads { self.channel.read() } }
    }

    private func sendDelayed() {
        timer?.cancel()
        while let first = delayed.first {
            guard first.due <= .now() else {
                timer = channel.eventLoop.scheduleTask(deadline: first.due) { self.sendDelayed() }
                return
            }
            delayed.removeFirst()
            target.writeAndFlush(first.bytes, promise: nil)
        }
    }
}
