internal import HTTPServer
internal import NIOCore
internal import NIOHPACK
internal import NIOHTTP2

/// Above NIO's HTTP/2, which keeps the connection's state, its header tables and what its windows hold back: gives each
/// frame to its call, writes what calls say, and sees to pings, idleness and farewell.
///
/// Calls have no channel of their own: a channel and its pipeline for each would cost more than everything else of a
/// connection. Owned by its event loop.
final class GRPCConnection: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    let configuration: GRPCConfiguration
    let application: any GRPCHandler
    let bodies: BytesBudget
    let eventLoop: any EventLoop
    let taskExecutor: LoopTaskExecutor
    let remoteAddress: SocketAddress?
    private let onClosed: () -> Void
    private var context: ChannelHandlerContext?
    /// Bound: `callsMax`, which the library keeps.
    private var calls: [HTTP2StreamID: GRPCStreamHandler] = [:]
    private var window = InboundWindow()
    private var timer: Scheduled<Void>?
    private var isLeaving = false
    private var pingedAt: NIODeadline?
    private var idleSince = NIODeadline.now()
    private var lastRead = NIODeadline.now()
    /// From a frame to the end of its read, when the library flushes.
    private var isReading = false
    private var isGathering = false

    init(
        _ channel: any Channel, configuration: GRPCConfiguration, application: any GRPCHandler, bodies: BytesBudget,
        onClosed: @escaping () -> Void
    ) {
        self.configuration = configuration
        self.application = application
        self.bodies = bodies
        self.onClosed = onClosed
        eventLoop = channel.eventLoop
        taskExecutor = LoopTaskExecutor(channel.eventLoop)
        remoteAddress = channel.remoteAddress
    }

    // MARK: Channel events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        schedule()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isReading = true
        let frame = unwrapInboundIn(data)
        switch frame.payload {
        case .headers(let headers):
            if calls[frame.streamID] == nil { begin(frame.streamID, headers.headers) }
            if headers.endStream { calls[frame.streamID]?.inputEnded() }
        case .data(let data):
            let length = data.data.readableBytes + (data.paddingBytes.map { $0 + 1 } ?? 0)
            // Each stream has its own window for what its application does not take.
            if let increment = window.released(length) {
                write(.windowUpdate(windowSizeIncrement: increment), on: .rootStream)
            }
            guard let call = calls[frame.streamID], case .byteBuffer(let bytes) = data.data else { return }
            call.received(bytes, windowBytes: length, endsInput: data.endStream)
        // The library answers these, and tells of streams that are over by an event.
        case .rstStream, .windowUpdate, .settings, .ping, .goAway, .priority, .pushPromise, .alternativeService,
            .origin:
            break
        }
    }

    /// Every byte is a sign of life, also of a frame that is not whole.
    func channelReadComplete(context: ChannelHandlerContext) {
        isReading = false
        lastRead = .now()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let event = event as? StreamClosedEvent, let call = calls.removeValue(forKey: event.streamID) else {
            return
        }
        call.closed()
        guard calls.isEmpty else { return }
        idleSince = .now()
        // On the loop's next turn: the last frame may not have been flushed.
        if isLeaving { eventLoop.assumeIsolated().execute { self.context?.close(promise: nil) } }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Errors of one stream end that stream alone.
        if error is NIOHTTP2Errors.StreamError { return }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { end() }
    func handlerRemoved(context: ChannelHandlerContext) { end() }

    private func end() {
        guard context != nil else { return }
        context = nil
        timer?.cancel()
        timer = nil
        let left = calls.sorted { $0.key < $1.key }
        calls = [:]
        for (_, call) in left { call.closed() }
        onClosed()
    }

    // MARK: Calls

    private func begin(_ id: HTTP2StreamID, _ headers: HPACKHeaders) {
        let call = GRPCStreamHandler(id, self)
        calls[id] = call
        call.begin(headers)
    }

    func write(_ payload: HTTP2Frame.FramePayload, on id: HTTP2StreamID, promise: EventLoopPromise<Void>? = nil) {
        guard let context else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        context.write(wrapOutboundOut(HTTP2Frame(streamID: id, payload: payload)), promise: promise)
    }

    func flush() {
        if !isReading, !isGathering { context?.flush() }
    }

    /// What `body` writes goes out in one flush.
    func gathered(_ body: () -> Void) {
        guard !isGathering else { return body() }
        isGathering = true
        body()
        isGathering = false
        flush()
    }

    /// The call has its answer: its client may go on sending for a while (RFC 9113 section 8.1).
    func answered(_ id: HTTP2StreamID) {
        guard let call = calls[id], !call.inputHasEnded else { return }
        eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(configuration.lingerMs)) { [self] in
            guard calls[id] != nil else { return }
            write(.rstStream(.noError), on: id)
            flush()
        }
    }

    // MARK: The connection's life

    /// No new calls; those that run may end. Source: RFC 9113 section 6.8.
    func goAway() {
        guard !isLeaving, let context else { return }
        isLeaving = true
        write(.goAway(lastStreamID: .maxID, errorCode: .noError, opaqueData: nil), on: .rootStream)
        context.flush()
        if calls.isEmpty { context.close(promise: nil) }
    }

    private func schedule() {
        guard let context else { return }
        let interval = min(configuration.pingIntervalMs, configuration.pingTimeoutMs, configuration.idleTimeoutMs)
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleTask(in: .milliseconds(max(10, interval / 2))) { bound.value.tick() }
    }

    private func tick() {
        guard let context else { return }
        schedule()
        let now = NIODeadline.now()
        if let pingedAt {
            if lastRead > pingedAt {
                self.pingedAt = nil
            } else if now - pingedAt > .milliseconds(configuration.pingTimeoutMs) {
                context.close(promise: nil)
            }
            return
        }
        if calls.isEmpty {
            if now - idleSince > .milliseconds(configuration.idleTimeoutMs) { goAway() }
        } else if now - lastRead > .milliseconds(configuration.pingIntervalMs / 2) {
            pingedAt = now
            write(.ping(HTTP2PingData(withInteger: 1), ack: false), on: .rootStream)
            context.flush()
        }
    }
}

@available(*, unavailable)
extension GRPCConnection: Sendable {}
