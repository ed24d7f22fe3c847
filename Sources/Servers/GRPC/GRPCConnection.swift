import HTTPServer
import NIOCore
import NIOHPACK
import NIOHTTP2

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
    let server: ServerShare
    let eventLoop: any EventLoop
    let taskExecutor: LoopTaskExecutor
    let remoteAddress: SocketAddress?
    private let onClosed: () -> Void
    private var context: ChannelHandlerContext?
    /// Bound: `callsMax`, which the library keeps.
    private var calls: [HTTP2StreamID: GRPCStreamHandler] = [:]
    /// The highest stream that was looked at; those that are refused are not.
    private var lastID = HTTP2StreamID.rootStream
    private var timer: Scheduled<Void>?
    /// Set while something may wait for the client.
    private var stallCheck: Scheduled<Void>?
    /// Set while the stream of an answered call may be open.
    private var lingerCheck: Scheduled<Void>?
    private var isLeaving = false
    /// Begins `isRefusing`.
    private var farewell: Scheduled<Void>?
    /// New calls.
    private var isRefusing = false
    /// The connection has ended by a GOAWAY of this code.
    private var failure: HTTP2ErrorCode?
    /// A WINDOW_UPDATE of the connection is written, and may wait in the library until the socket is writable.
    private var isOpeningWindow = false
    private var pingedAt: NIODeadline?
    private var idleSince: NIODeadline
    private var lastRead: NIODeadline
    /// When the socket last took bytes of a message.
    private var lastWritten: NIODeadline
    /// From a frame to the end of its read, when the library flushes.
    private var isReading = false
    private var isGathering = false

    init(
        _ channel: any Channel, configuration: GRPCConfiguration, application: any GRPCHandler, server: ServerShare,
        onClosed: @escaping () -> Void
    ) {
        self.configuration = configuration
        self.application = application
        self.server = server
        self.onClosed = onClosed
        eventLoop = channel.eventLoop
        taskExecutor = LoopTaskExecutor(channel.eventLoop)
        remoteAddress = channel.remoteAddress
        idleSince = channel.eventLoop.now
        lastRead = idleSince
        lastWritten = idleSince
    }

    // MARK: Channel events

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
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
        case .ping(Self.farewellPing, ack: true): if isLeaving { refuseCalls() }
        // The library answers these, and tells of streams that are over by an event.
        case .rstStream, .windowUpdate, .settings, .ping, .goAway, .priority, .pushPromise, .alternativeService,
            .origin:
            break
        }
    }

    /// Every byte is a sign of life, also of a frame that is not whole.
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

    /// Each stream has its own window for what its application does not take; this one is for all bytes that came, also
    /// those of streams that are over, which the library drops.
    private func openWindow(_ leftBytes: Int) {
        guard leftBytes < InboundWindow.bytes / 2 else {
            // Also after the update: it adds more than half.
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
        // On the loop's next turn: the last frame may not have been flushed.
        if isRefusing { eventLoop.assumeIsolated().execute { [self] in leaveIfDone() } }
    }

    /// The library tells alike what the peer did wrong, which it has answered by RST_STREAM or by GOAWAY (RFC 9113 section
    /// 5.4), and what it could not send, which nobody has answered.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let failure {
            // More mistakes or cancellations than a connection may have.
            if failure == .enhanceYourCalm, self.context != nil { server.countCutOff() }
            return close()
        }
        switch error {
        case let error as NIOHTTP2Errors.StreamError:
            // A frame of ours; of no interest once its stream is gone.
            guard calls[error.streamID] != nil else { return }
            write(.rstStream(.internalError), on: error.streamID)
            flush()
        // Of a header block the peer's table may miss what ours has.
        case is NIOHTTP2Errors.UnableToSerializeFrame: fail()
        // The peer's mistake on a stream, or a frame of ours for a stream that is gone.
        case is any NIOHTTP2Error: break
        default: fail()
        }
    }

    private func fail() {
        write(.goAway(lastStreamID: lastID, errorCode: .internalError, opaqueData: nil), on: .rootStream)
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
        guard context != nil else { return }
        context = nil
        timer?.cancel()
        timer = nil
        stallCheck?.cancel()
        stallCheck = nil
        lingerCheck?.cancel()
        lingerCheck = nil
        farewell?.cancel()
        farewell = nil
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

    /// What `body` writes goes out in one flush.
    func gathered(_ body: () -> Void) {
        guard !isGathering else { return body() }
        isGathering = true
        body()
        isGathering = false
        flush()
    }

    /// The call has its answer. Its client may go on sending for a while (RFC 9113 section 8.1), and takes what still waits
    /// for it in its own time, as long as it takes something.
    func answered(_ id: HTTP2StreamID) {
        guard let call = calls[id], !call.inputHasEnded else { return }
        let deadline = eventLoop.now + .milliseconds(configuration.lingerMs)
        call.lingerDeadline = deadline
        if lingerCheck == nil { checkLingering(at: deadline) }
    }

    /// One check at a time for all calls; streams that have ended meanwhile are no longer among them.
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

    /// The socket took bytes of a message.
    func wrote(_ now: NIODeadline) { lastWritten = now }

    /// Bytes of a call wait for its client.
    func awaitProgress() {
        guard stallCheck == nil, context != nil else { return }
        checkStalls(at: eventLoop.now + .milliseconds(configuration.writeStallTimeoutMs))
    }

    private func checkStalls(at deadline: NIODeadline) {
        stallCheck = eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in checkStalls() }
    }

    /// Resets the calls whose clients took nothing for too long. What waits holds trailers back, so the status is told by
    /// the reset: clients read ENHANCE_YOUR_CALM as RESOURCE_EXHAUSTED (gRPC over HTTP/2, "Errors").
    private func checkStalls() {
        stallCheck = nil
        guard let context else { return }
        let now = eventLoop.now
        let timeoutMs = configuration.writeStallTimeoutMs
        let deadlines = calls.compactMapValues { $0.stallDeadline(timeoutMs: timeoutMs) }
        let stalled = deadlines.filter { $0.value <= now }.keys.sorted()
        // A reset would wait in the socket behind what waits there.
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

    /// Past the windows of HTTP/2, and not taken by the kernel.
    private var socketHoldsBytes: Bool {
        let held = try? context?.channel.syncOptions?.getOption(.bufferedWritableBytes)
        return (held ?? 0) > 0
    }

    // MARK: The connection's life

    private static let farewellPing = HTTP2PingData(withInteger: 2)

    /// No new calls, but for those that are on their way; those that run may end. Source: RFC 9113 section 6.8: the client
    /// is warned, and after a round trip is told which calls were the last. It answers the ping after it read the warning.
    func goAway() {
        guard !isLeaving, context != nil else { return }
        isLeaving = true
        announce(.maxID)
        write(.ping(Self.farewellPing, ack: false), on: .rootStream)
        flush()
        farewell = eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(configuration.lingerMs)) { [self] in
            refuseCalls()
        }
    }

    /// Clients are told which calls nobody looks at, and can begin them elsewhere.
    private func refuseCalls() {
        guard !isRefusing, context != nil else { return }
        isRefusing = true
        farewell?.cancel()
        farewell = nil
        announce(lastID)
        leaveIfDone()
    }

    /// GOAWAY with NO_ERROR, past the library: having sent one it takes no new stream, and what a client sends on such a
    /// stream ends the connection with the calls that run.
    private func announce(_ lastID: HTTP2StreamID) {
        guard let pipeline = context?.pipeline.syncOperations else { return }
        // Length, type, flags and stream of the frame; last stream; code.
        var frame = ByteBuffer(bytes: [0, 0, 8, 7, 0, 0, 0, 0, 0])
        frame.writeInteger(UInt32(Int(lastID)))
        frame.writeInteger(UInt32(HTTP2ErrorCode.noError.networkCode))
        let library = try? pipeline.context(handlerType: NIOHTTP2Handler.self)
        library?.writeAndFlush(NIOAny(IOData.byteBuffer(frame)), promise: nil)
    }

    private func leaveIfDone() {
        if calls.isEmpty, context != nil { close() }
    }

    /// Our last word is out. What the client still sends is read for a while and dropped: not read, it would reset the
    /// connection before the client has read that word.
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
    /// Comes just before the bytes of the frame go down the pipeline.
    func wroteFrame(_ frame: HTTP2Frame) {
        guard case .goAway(_, let code, _) = frame.payload, failure == nil else { return }
        failure = code
        guard let pipeline = context?.pipeline.syncOperations,
            let library = try? pipeline.handler(type: NIOHTTP2Handler.self)
        else { return }
        try? pipeline.addHandler(LastStreamHandler(lastID), position: .before(library))
    }
}
