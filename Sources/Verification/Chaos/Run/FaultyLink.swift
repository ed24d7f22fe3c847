import DequeModule
package import NIOCore
import NIOPosix

/// A TCP proxy on 127.0.0.1 between one node and one server, or between clients and a node, which can go bad.
///
/// Confined to its event loop, hence `@unchecked Sendable`. Bytes are not read from one side while the other does not
/// take them, so little is held; `slow` holds what its delay lets in.
package final class FaultyLink: @unchecked Sendable {
    package let port: Int
    private let eventLoop: any EventLoop
    private let serverPort: Int
    private var listener: (any Channel)?
    private var trouble: Fault.Trouble?
    private var pairs: [ObjectIdentifier: LinkPair] = [:]
    /// Accepted while nothing passes; connected onwards when it is over.
    private var waiting: [any Channel] = []

    private init(port: Int, serverPort: Int, on eventLoop: any EventLoop) {
        self.port = port
        self.serverPort = serverPort
        self.eventLoop = eventLoop
    }

    /// - Throws: NIO's error when it cannot listen.
    package static func start(
        to serverPort: Int, group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
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
        let link = FaultyLink(port: listener.localAddress?.port ?? 0, serverPort: serverPort, on: eventLoop)
        try await eventLoop.submit {
            link.listener = listener
            accept.link = link
        }.get()
        return link
    }

    /// Nil: all is well again.
    package func set(_ trouble: Fault.Trouble?) async {
        try? await eventLoop.submit { self.apply(trouble) }.get()
    }

    package func stop() async {
        try? await eventLoop.submit {
            self.apply(.cut)
            self.listener?.close(promise: nil)
        }.get()
    }

    // MARK: On the event loop

    private func apply(_ trouble: Fault.Trouble?) {
        self.trouble = trouble
        switch trouble {
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
        for pair in pairs.values { pair.set(trouble) }
    }

    private func accepted(_ channel: any Channel) {
        switch trouble {
        case .cut: channel.close(promise: nil)
        case .silent: waiting.append(channel)
        case .slow, nil: connect(channel)
        }
    }

    private func connect(_ near: any Channel) {
        ClientBootstrap(group: eventLoop)
            .channelOption(.autoRead, value: false)
            .channelOption(.socketOption(.tcp_nodelay), value: 1)
            .connect(host: "127.0.0.1", port: serverPort)
            .whenComplete { result in
                guard case .success(let far) = result, self.trouble != .cut else {
                    if case .success(let far) = result { far.close(promise: nil) }
                    near.close(promise: nil)
                    return
                }
                let pair = LinkPair(near, far)
                self.pairs[ObjectIdentifier(pair)] = pair
                pair.onEnd = { [weak pair] in
                    if let pair { self.pairs[ObjectIdentifier(pair)] = nil }
                }
                pair.start(self.trouble)
            }
    }
}

/// Written before the first connection, read on the event loop.
private final class Acceptor: @unchecked Sendable {
    var link: FaultyLink?
}

/// One connection of a node and its continuation. Confined to its event loop.
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

    func start(_ trouble: Fault.Trouble?) {
        for end in [near, far] {
            end.onEnd = { [weak self] in self?.close() }
            try? end.channel.pipeline.syncOperations.addHandler(end)
            end.set(trouble)
        }
    }

    func set(_ trouble: Fault.Trouble?) {
        near.set(trouble)
        far.set(trouble)
    }

    func close() {
        near.channel.close(promise: nil)
        far.channel.close(promise: nil)
        onEnd()
        onEnd = {}
    }
}

/// Passes on what one side sends. Confined to its event loop.
private final class LinkEnd: ChannelInboundHandler, @unchecked Sendable {
    typealias InboundIn = ByteBuffer

    let channel: any Channel
    private let target: any Channel
    weak var other: LinkEnd?
    var onEnd: () -> Void = {}
    private var trouble: Fault.Trouble?
    private var late: Deque<(due: NIODeadline, bytes: ByteBuffer)> = []
    private var timer: Scheduled<Void>?

    init(_ channel: any Channel, to target: any Channel) {
        self.channel = channel
        self.target = target
    }

    func set(_ trouble: Fault.Trouble?) {
        self.trouble = trouble
        if trouble == .silent { timer?.cancel() } else { sendLate() }
        updateReading()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        if case .slow(let delayMs)? = trouble {
            late.append((.now() + .milliseconds(Int64(delayMs)), bytes))
            if late.count == 1 { sendLate() }
        } else if trouble == nil, late.isEmpty {
            target.writeAndFlush(bytes, promise: nil)
        } else {
            // Read just before it went bad, or behind what is late: the order stays.
            late.append((.now(), bytes))
            if trouble == nil { sendLate() }
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        // This side takes bytes again, or not: the other one is read accordingly.
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
        let reads = trouble != .silent && target.isWritable
        channel.setOption(.autoRead, value: reads).whenComplete { _ in if reads { self.channel.read() } }
    }

    private func sendLate() {
        timer?.cancel()
        while let first = late.first {
            guard first.due <= .now() else {
                timer = channel.eventLoop.scheduleTask(deadline: first.due) { self.sendLate() }
                return
            }
            late.removeFirst()
            target.writeAndFlush(first.bytes, promise: nil)
        }
    }
}
