import HTTPServer
import NIOCore
import NIOHPACK
import NIOHTTP2
import Pacing

/// One gRPC connection, above NIO's HTTP/2 handler, which keeps the connection's state, header tables and flow control.
/// Routes frames to calls, writes what calls send, and handles pings, idle timeouts and graceful shutdown.
///
/// Long, because its timeouts, its shutdown and the calls share the connection's state, which nothing else may see. A
/// call's own state is in `GRPCStreamHandler`, the windows are in `InboundWindow` and `WriteProgress`.
///
/// Calls have no channel each: a channel and its pipeline would cost more than everything else of a connection. Owned
/// by its event loop.
final class GRPCConnection: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    let configuration: GRPCConfiguration
    let application: any GRPCHandler
    let server: HandoverContext
    let eventLoop: any EventLoop
    let taskExecutor: LoopTaskExecutor
    let remoteAddress: SocketAddress?
    private let onClosed: () -> Void
    private var context: ChannelHandlerContext?
    /// Bounded by `callsMax`, which NIO enforces.
    private var calls: [HTTP2StreamID: GRPCStreamHandler] = [:]
    /// The highest stream that was processed; refused ones do not count.
    private var lastID = HTTP2StreamID.rootStream
    private var timer: Scheduled<Void>?
    /// Set while bytes may be pending for a client.
    private var stallCheck: Scheduled<Void>?
    /// Set while the stream of an answered call may still be open.
    private var lingerCheck: Scheduled<Void>?
    /// The shutdown of the connection has begun: GOAWAY without a last stream is out.
    private var isShuttingDown = false
    /// Starts `isRefusing` if the client does not answer the shutdown ping.
    private var shutdownTimer: Scheduled<Void>?
    /// New calls are refused.
    private var isRefusing = false
    /// The code of the GOAWAY that ended the connection.
    private var failure: HTTP2ErrorCode?
    /// A WINDOW_UPDATE of the connection is written and may wait in NIO until the socket is writable.
    private var isOpeningWindow = false
    private var pingedAt: NIODeadline?
    private var idleSince: NIODeadline
    private var lastRead: NIODeadline
    /// When the socket last took bytes of a message.
    private var lastWritten: NIODeadline
    /// Set from a frame to the end of its read, when NIO flushes.
    private var isReading = false
    private var isGathering = false
    /// Limits control frames, which cost work although they request nothing.
    private let controlThrottle: InputThrottle

    init(
        _ channel: any Channel, configuration: GRPCConfiguration, application: any GRPCHandler, server: HandoverContext,
        onClosed: @escaping () -> Void
    ) {
        self.configuration = configuration
        self.application = application
        self.server = server
        self.onClosed = onClosed
        eventLoop = channel.eventLoop
        taskExecutor = LoopTaskExecutor(channel.eventLoop)
        controlThrottle = InputThrottle(
            perSecond: configuration.controlFramesPerSecond, burst: 2 * configuration.controlFramesPerSecond,
            on: channel.eventLoop)
        remoteAddress = channel.remoteAddress
        idleSince = channel.eventLoop.now
        lastRead = idleSince
        lastWritten = idleSince
    }

    // MARK: Channel events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        // The server counted the connection itself.
        controlThrottle.count(
            for: remoteAddress?.ipAddress.flatMap { server.addressRates?.rate(ofPeer: $0, on: eventLoop) })
        schedule()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard self.context != nil else { return }
        isReading = true
        let frame = unwrapInboundIn(data)
        switch frame.payload {
        case .headers(let headers):
            if calls[frame.streamID] == nil { begin(frame.streamID, headers.headers) }
            if headers.endStream { calls[frame.streamID]?.inputEnded() }
        case .data(let data):
            let length = data.data.readableBytes + (data.paddingBytes.map { $0 + 1 } ?? 0)
            guard let call = calls[frame.streamID], case .byteBuffer(let bytes) = data.data else { return }
            call.received(bytes, windowBytes: length, endsInput: data.endStream)
        case .ping(Self.shutdownPing, ack: true): if isShuttingDown { refuseCalls() }
        // NIO answers these and reports closed streams by an event.
        case .ping(_, ack: false), .settings(.settings), .priority: countControlFrame()
        case .rstStream: if controlThrottle.addressStep() == .over { pauseReading() }
        case .windowUpdate, .settings, .ping, .goAway, .pushPromise, .alternativeService, .origin: break
        }
    }

    private func countControlFrame() {
        switch controlThrottle.arrived() {
        case .within: break
        case .over: pauseReading()
        case .excessive: fail(.enhanceYourCalm)
        }
    }

    /// The maximum pause for what others of the peer's address sent: the connection carries all calls of a client.
    private static let addressPauseMaxMs: Int64 = 1_000

    /// Reads nothing until the peer's rate permits it.
    private func pauseReading() {
        guard !controlThrottle.isPausing, let channel = context?.channel else { return }
        try? channel.syncOptions?.setOption(.autoRead, value: false)
        controlThrottle.pause(addressMaxMs: Self.addressPauseMaxMs) { [weak self] in
            guard let self else { return }
            // The peer was not silent: nothing was read from it.
            lastRead = eventLoop.now
            try? channel.syncOptions?.setOption(.autoRead, value: true)
        }
    }

    /// Counts any input as a sign of life, even part of an incomplete frame.
    func channelReadComplete(context: ChannelHandlerContext) {
        isReading = false
        lastRead = eventLoop.now
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case let event as NIOHTTP2WindowUpdatedEvent where event.streamID == .rootStream:
            if let left = event.inboundWindowSize { openWindow(left) }
        case let event as StreamClosedEvent: streamClosed(event.streamID)
        default: break
        }
    }

    /// Reopens the connection's window. Streams have their own windows for what the application has not taken; this one
    /// counts all bytes received, including those of closed streams, which NIO drops.
    private func openWindow(_ leftBytes: Int) {
        guard leftBytes < InboundWindow.bytes / 2 else {
            // This includes the event after the update, which adds more than half.
            isOpeningWindow = false
            return
        }
        guard !isOpeningWindow else { return }
        isOpeningWindow = true
        write(.windowUpdate(windowSizeIncrement: InboundWindow.bytes - leftBytes), on: .rootStream)
        flush()
    }

    private func streamClosed(_ id: HTTP2StreamID) {
        guard let call = calls.removeValue(forKey: id) else { return }
        call.closed()
        guard calls.isEmpty else { return }
        idleSince = eventLoop.now
        // On the loop's next turn, because the last frame may not have been flushed.
        if isRefusing { eventLoop.assumeIsolated().execute { [self] in closeIfDone() } }
    }

    /// NIO reports in the same way a peer's errors, which it has answered with RST_STREAM or GOAWAY (RFC 9113 section
    /// 5.4), and our frames that it could not send, which nothing has answered.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let failure {
            // The peer exceeded the limits for errors or cancellations.
            if failure == .enhanceYourCalm, self.context != nil { server.countCutOff() }
            return close()
        }
        switch error {
        case let error as NIOHTTP2Errors.StreamError:
            // One of our frames; irrelevant once its stream is gone.
            guard calls[error.streamID] != nil else { return }
            write(.rstStream(.internalError), on: error.streamID)
            flush()
        // The header tables of the two sides may differ after a header block that was not sent.
        case is NIOHTTP2Errors.UnableToSerializeFrame: fail()
        // An error of the peer on a stream, or a frame of ours for a stream that is gone.
        case is any NIOHTTP2Error: break
        default: fail()
        }
    }

    private func fail(_ code: HTTP2ErrorCode = .internalError) {
        if code == .enhanceYourCalm, context != nil { server.countCutOff() }
        write(.goAway(lastStreamID: lastID, errorCode: code, opaqueData: nil), on: .rootStream)
        context?.flush()
        close()
    }

    func channelInactive(context: ChannelHandlerContext) { gone() }
    func handlerRemoved(context: ChannelHandlerContext) { gone() }

    private func gone() {
        end()
        timer?.cancel()
        timer = nil
    }

    private func end() {
        guard let channel = context?.channel else { return }
        context = nil
        timer?.cancel()
        timer = nil
        stallCheck?.cancel()
        stallCheck = nil
        if controlThrottle.isPausing { try? channel.syncOptions?.setOption(.autoRead, value: true) }
        controlThrottle.cancel()
        lingerCheck?.cancel()
        lingerCheck = nil
        shutdownTimer?.cancel()
        shutdownTimer = nil
        let left = calls.sorted { $0.key < $1.key }
        calls = [:]
        for (_, call) in left { call.closed() }
        onClosed()
    }

    // MARK: Calls

    private func begin(_ id: HTTP2StreamID, _ headers: HPACKHeaders) {
        guard !isRefusing else {
            write(.rstStream(.refusedStream), on: id)
            return flush()
        }
        let call = GRPCStreamHandler(id, self)
        calls[id] = call
        lastID = max(lastID, id)
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

    /// Sends everything that `body` writes in one flush.
    func gathered(_ body: () -> Void) {
        guard !isGathering else { return body() }
        isGathering = true
        body()
        isGathering = false
        flush()
    }

    /// Called when a call has been answered. Its client may continue to send for a while (RFC 9113 section 8.1) and may
    /// take its time to receive what is pending, as long as there is progress.
    func answered(_ id: HTTP2StreamID) {
        guard let call = calls[id], !call.inputHasEnded else { return }
        let deadline = eventLoop.now + .milliseconds(configuration.lingerMs)
        call.lingerDeadline = deadline
        if lingerCheck == nil { checkLingering(at: deadline) }
    }

    /// Schedules one check for all lingering calls.
    private func checkLingering(at deadline: NIODeadline) {
        lingerCheck = eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in checkLingering() }
    }

    private func checkLingering() {
        lingerCheck = nil
        let now = eventLoop.now
        let due = calls.filter { $0.value.lingerDeadline.map { $0 <= now } == true }.sorted { $0.key < $1.key }
        for (id, call) in due {
            let isDone = call.pendingBytes == 0
            call.lingerDeadline = isDone ? nil : now + .milliseconds(configuration.lingerMs)
            if isDone { write(.rstStream(.noError), on: id) }
        }
        flush()
        if let next = calls.values.compactMap(\.lingerDeadline).min() { checkLingering(at: next) }
    }

    // MARK: Clients that do not read

    /// Called when the socket accepted bytes of a message.
    func wrote(_ now: NIODeadline) { lastWritten = now }

    /// Called when bytes are pending for a client.
    func awaitProgress() {
        guard stallCheck == nil, context != nil else { return }
        checkStalls(at: eventLoop.now + .milliseconds(configuration.writeStallTimeoutMs))
    }

    private func checkStalls(at deadline: NIODeadline) {
        stallCheck = eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in checkStalls() }
    }

    /// Resets the calls whose clients accepted nothing for too long. Pending data blocks trailers, so the reset carries
    /// the status: clients read ENHANCE_YOUR_CALM as RESOURCE_EXHAUSTED (gRPC over HTTP/2, "Errors").
    private func checkStalls() {
        stallCheck = nil
        guard let context else { return }
        let now = eventLoop.now
        let timeoutMs = configuration.writeStallTimeoutMs
        let deadlines = calls.compactMapValues { $0.stallDeadline(timeoutMs: timeoutMs) }
        let stalled = deadlines.filter { $0.value <= now }.keys.sorted()
        // A reset would wait in the socket behind the pending data.
        if !stalled.isEmpty, socketHoldsBytes, lastWritten + .milliseconds(timeoutMs) <= now {
            server.countCutOff()
            return context.close(promise: nil)
        }
        for id in stalled {
            server.countCutOff()
            calls[id]?.isReset = true
            write(.rstStream(.enhanceYourCalm), on: id)
        }
        flush()
        if let next = deadlines.values.filter({ $0 > now }).min() { checkStalls(at: next) }
    }

    /// Whether bytes passed HTTP/2's flow control but not the kernel.
    private var socketHoldsBytes: Bool {
        let held = try? context?.channel.syncOptions?.getOption(.bufferedWritableBytes)
        return (held ?? 0) > 0
    }

    // MARK: The connection's life

    private static let shutdownPing = HTTP2PingData(withInteger: 2)

    /// Starts a graceful shutdown; running calls may finish. As RFC 9113 section 6.8 describes, a first GOAWAY warns
    /// the client, and after a round trip (a ping and its acknowledgement) a second one names the last stream.
    func goAway() {
        guard !isShuttingDown, context != nil else { return }
        isShuttingDown = true
        announce(.maxID)
        write(.ping(Self.shutdownPing, ack: false), on: .rootStream)
        flush()
        shutdownTimer = eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(configuration.lingerMs)) { [self] in
            refuseCalls()
        }
    }

    /// Sends the second GOAWAY, which tells the client which calls were not processed and can be retried elsewhere.
    private func refuseCalls() {
        guard !isRefusing, context != nil else { return }
        isRefusing = true
        shutdownTimer?.cancel()
        shutdownTimer = nil
        announce(lastID)
        closeIfDone()
    }

    /// Sends a GOAWAY with NO_ERROR, bypassing NIO: after its own GOAWAY it accepts no new stream, and a frame on such
    /// a stream ends the connection with its running calls.
    private func announce(_ lastID: HTTP2StreamID) {
        guard let pipeline = context?.pipeline.syncOperations else { return }
        // Length, type, flags and stream of the frame; last stream; code.
        var frame = ByteBuffer(bytes: [0, 0, 8, 7, 0, 0, 0, 0, 0])
        frame.writeInteger(UInt32(Int(lastID)))
        frame.writeInteger(UInt32(HTTP2ErrorCode.noError.networkCode))
        let library = try? pipeline.context(handlerType: NIOHTTP2Handler.self)
        library?.writeAndFlush(NIOAny(IOData.byteBuffer(frame)), promise: nil)
    }

    private func closeIfDone() {
        if calls.isEmpty, context != nil { close() }
    }

    /// Closes our side. Further input is read and dropped for a while: unread input would reset the connection before
    /// the client has read the last frames.
    private func close() {
        guard let channel = context?.channel else { return }
        end()
        let pipeline = channel.pipeline.syncOperations
        if let library = try? pipeline.handler(type: NIOHTTP2Handler.self) {
            try? pipeline.addHandler(LingerHandler(bytesMax: configuration.lingerBytesMax), position: .before(library))
        }
        channel.close(mode: .output, promise: nil)
        timer = eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(configuration.lingerMs)) {
            channel.close(promise: nil)
        }
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
        let now = eventLoop.now
        if controlThrottle.isPausing {
            // Silent only because nothing is read.
            (lastRead, pingedAt) = (now, nil)
            return
        }
        if let pingedAt {
            if lastRead >= pingedAt {
                self.pingedAt = nil
            } else if now - pingedAt > .milliseconds(configuration.pingTimeoutMs) {
                server.countCutOff()
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

extension GRPCConnection: NIOHTTP2FrameDelegate {
    /// Called just before the frame's bytes go down the pipeline.
    func wroteFrame(_ frame: HTTP2Frame) {
        guard case .goAway(_, let code, _) = frame.payload, failure == nil else { return }
        failure = code
        guard let pipeline = context?.pipeline.syncOperations,
            let library = try? pipeline.handler(type: NIOHTTP2Handler.self)
        else { return }
        try? pipeline.addHandler(LastStreamHandler(lastID), position: .before(library))
    }
}
