import Glibc
import HTTPServer
import NIOCore
import NIOHPACK
import NIOHTTP2
import Pacing

/// One gRPC connection: the shell of an `HTTP2Machine`. Routes its events to calls, writes what calls send, and handles
/// pings, idle timeouts and graceful shutdown.
///
/// Long, because its timeouts, its shutdown and the calls share the connection's state, which nothing else may see. A
/// call's own state is in `GRPCStreamHandler`; frames and windows are in `HTTP2Machine`.
///
/// Bytes go to the socket as those of `Transport` do: directly with `send(2)` while NIO holds nothing for it. What the
/// kernel does not accept goes to the channel, and until that is written everything else waits in the machine.
///
/// Calls have no channel each: a channel and its pipeline would cost more than everything else of a connection. Owned
/// by its event loop.
final class GRPCConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let configuration: GRPCConfiguration
    let application: any GRPCHandler
    let server: HandoverContext
    let eventLoop: any EventLoop
    let taskExecutor: LoopTaskExecutor
    let remoteAddress: SocketAddress?
    private let onClosed: () -> Void
    private var context: ChannelHandlerContext?
    private var http2: HTTP2Machine
    private let scratch: WriteScratch
    /// The socket for direct writes; -1: none, because handlers below must see the bytes, or it may be closed.
    private var descriptor: CInt = -1
    /// Bytes that the channel holds for the socket.
    private var channelBytes = 0
    /// Control frames that wait for the socket; a client that causes more and reads none is cut off. Every call may end
    /// at one time, each with fields and a status.
    private var controlBytesMax: Int { 256 << 10 + configuration.callsMax << 10 }
    private var isPumping = false
    /// Bytes that are still read and dropped before the connection is closed; nil before the last frame.
    private var lingerBytesLeft: Int?
    /// Bounded by `callsMax`, which the machine enforces.
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
    private var pingedAt: NIODeadline?
    private var idleSince: NIODeadline
    private var lastRead: NIODeadline
    /// When the socket last took bytes that the channel held, or the channel got such.
    private var lastWritten: NIODeadline
    /// Set during a read, whose answers are written together at its end.
    private var isReading = false
    private var isGathering = false
    /// Limits control frames, which cost work although they request nothing.
    private let controlThrottle: InputThrottle

    init(
        _ channel: any Channel, configuration: GRPCConfiguration, application: any GRPCHandler, server: HandoverContext,
        http2: HTTP2Machine, scratch: WriteScratch, onClosed: @escaping () -> Void
    ) {
        self.http2 = http2
        self.scratch = scratch
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
        if server.writesDirectly {
            let handle = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(
                of: NIOBSDSocket.Handle.self
            ) { $0 }
            descriptor = handle ?? -1
        }
        // The server counted the connection itself.
        controlThrottle.count(
            for: remoteAddress?.ipAddress.flatMap { server.addressRates?.rate(ofPeer: $0, on: eventLoop) })
        schedule()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        guard self.context != nil else { return drop(bytes.readableBytes, context) }
        isReading = true
        http2.received(bytes)
        while self.context != nil, let event = http2.next(nowMs: nowMs) { take(event) }
        http2.settle()
    }

    private var nowMs: Int64 { Int64(eventLoop.now.uptimeNanoseconds / 1_000_000) }

    private func take(_ event: HTTP2Machine.Event) {
        switch event {
        case .call(let id, let headers, let endsInput):
            begin(id, headers)
            if endsInput { calls[id]?.inputEnded() }
        case .data(let id, let bytes, let windowBytes, let endsInput):
            calls[id]?.received(bytes, windowBytes: windowBytes, endsInput: endsInput)
        case .inputEnded(let id): calls[id]?.inputEnded()
        case .closed(let id): streamClosed(id)
        case .controlFrame: countControlFrame()
        case .pong(Self.shutdownPing): if isShuttingDown { refuseCalls() }
        case .pong: break
        case .cancelled: if controlThrottle.addressStep() == .over { pauseReading() }
        case .failed(let code): fail(code)
        }
    }

    /// Counts what still arrives after our last frame.
    private func drop(_ bytes: Int, _ context: ChannelHandlerContext) {
        guard let left = lingerBytesLeft else { return }
        lingerBytesLeft = left - bytes
        if left <= bytes { context.close(promise: nil) }
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
        flush()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) { flush() }

    private func streamClosed(_ id: HTTP2StreamID) {
        guard let call = calls.removeValue(forKey: id) else { return }
        call.closed()
        guard calls.isEmpty else { return }
        idleSince = eventLoop.now
        // On the loop's next turn, because the last frame may not have been flushed.
        if isRefusing { eventLoop.assumeIsolated().execute { [self] in closeIfDone() } }
    }

    /// An error of the channel or a handler below.
    func errorCaught(context: ChannelHandlerContext, error: any Error) { fail() }

    private func fail(_ code: HTTP2ErrorCode = .internalError) {
        guard context != nil else { return }
        if code == .enhanceYourCalm { server.countCutOff() }
        http2.goAway(lastID, code)
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
        descriptor = -1
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
        guard !isRefusing else { return reset(id, .refusedStream) }
        let call = GRPCStreamHandler(id, self)
        calls[id] = call
        lastID = max(lastID, id)
        call.begin(headers)
    }

    /// Sends the first header fields of a call.
    func sendHeaders(_ fields: HPACKHeaders, on id: HTTP2StreamID) { http2.sendHeaders(fields, on: id) }

    /// Appends a part of a message to what waits; `flush` writes it.
    func send(_ bytes: ByteBuffer, on id: HTTP2StreamID) { http2.send(bytes, on: id) }

    /// Ends a call after what was sent.
    func end(_ trailers: HPACKHeaders, on id: HTTP2StreamID) {
        if http2.end(trailers, on: id) { streamClosed(id) }
        flush()
    }

    /// Returns bytes to a call's window.
    func openWindow(of id: HTTP2StreamID, by increment: Int) {
        http2.opened(id, by: increment)
        flush()
    }

    private func reset(_ id: HTTP2StreamID, _ code: HTTP2ErrorCode) {
        if http2.reset(id, code) { streamClosed(id) }
        flush()
    }

    /// Sends everything that `body` writes in one flush.
    func gathered(_ body: () -> Void) {
        guard !isGathering else { return body() }
        isGathering = true
        body()
        isGathering = false
        flush()
    }

    // MARK: Writing

    /// Writes what may be written, unless more is about to come.
    func flush() {
        if !isReading, !isGathering { pump() }
    }

    private func pump() {
        guard !isPumping else { return }
        isPumping = true
        while let context, channelBytes == 0, context.channel.isWritable {
            let batch = http2.fill(scratch.memory)
            guard batch.byteCount > 0 else { break }
            write(UnsafeRawBufferPointer(rebasing: scratch.memory[..<batch.byteCount]), batch.data, context)
            for id in batch.closed { streamClosed(id) }
        }
        isPumping = false
        // Only a client that reads nothing gets there; it would not read a GOAWAY, either.
        guard http2.control.readableBytes > controlBytesMax, let context else { return }
        server.countCutOff()
        context.close(promise: nil)
    }

    /// Writes one message to the socket, if nothing is before it and nothing holds it back.
    /// - Returns: false if it is to be sent by `send`.
    func sendDirectly(prefix: [UInt8], shared: ByteBuffer, on id: HTTP2StreamID) -> Bool {
        let messageBytes = prefix.count + shared.readableBytes
        let count = GRPCMessages.headBytes + messageBytes
        guard descriptor >= 0, channelBytes == 0, !isReading, !isGathering, !isPumping, let context,
            http2.reserve(count, on: id)
        else { return false }
        let memory = scratch.memory.baseAddress!
        HTTP2WireFrame.writeHead(.data, id: id, payloadBytes: count, to: memory)
        var at = memory + HTTP2WireFrame.headBytes
        at.storeBytes(of: 0, as: UInt8.self)
        at.storeBytes(of: UInt32(messageBytes).bigEndian, toByteOffset: 1, as: UInt32.self)
        at += GRPCMessages.headBytes
        prefix.withUnsafeBytes { if let base = $0.baseAddress { at.copyMemory(from: base, byteCount: $0.count) } }
        at += prefix.count
        shared.withUnsafeReadableBytes { bytes in
            if let base = bytes.baseAddress { at.copyMemory(from: base, byteCount: bytes.count) }
        }
        let total = HTTP2WireFrame.headBytes + count
        let taken = attempt(UnsafeRawBufferPointer(start: memory, count: total))
        guard taken < total else { return true }
        calls[id]?.accepted(count)
        let rest = UnsafeRawBufferPointer(start: memory + taken, count: total - taken)
        writeToChannel(rest, [(id, count)], context)
        return true
    }

    private typealias Data = [(id: HTTP2StreamID, byteCount: Int)]

    private func write(_ bytes: UnsafeRawBufferPointer, _ data: Data, _ context: ChannelHandlerContext) {
        let taken = attempt(bytes)
        if taken == bytes.count {
            wrote(data)
        } else {
            writeToChannel(UnsafeRawBufferPointer(rebasing: bytes[taken...]), data, context)
        }
    }

    /// - Returns: the bytes that the kernel accepted.
    private func attempt(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard descriptor >= 0, context?.channel.isActive == true else { return 0 }
        let taken = Glibc.send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL))
        // The channel meets the same error and closes.
        return max(0, taken)
    }

    private func writeToChannel(_ bytes: UnsafeRawBufferPointer, _ data: Data, _ context: ChannelHandlerContext) {
        channelBytes += bytes.count
        lastWritten = eventLoop.now
        let count = bytes.count
        let promise = eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenComplete { [self] result in
            channelBytes -= count
            switch result {
            case .success:
                lastWritten = eventLoop.now
                wrote(data)
                // Otherwise the pump goes on by itself.
                flush()
            case .failure:
                // The socket is closed: nothing may be sent to this descriptor any more.
                descriptor = -1
            }
        }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: promise)
    }

    private func wrote(_ data: Data) {
        for (id, count) in data { calls[id]?.wrote(count) }
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
            if isDone { reset(id, .noError) }
        }
        flush()
        if let next = calls.values.compactMap(\.lingerDeadline).min() { checkLingering(at: next) }
    }

    // MARK: Clients that do not read

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
        if !stalled.isEmpty, channelBytes > 0, lastWritten + .milliseconds(timeoutMs) <= now {
            server.countCutOff()
            return context.close(promise: nil)
        }
        for id in stalled {
            server.countCutOff()
            reset(id, .enhanceYourCalm)
        }
        flush()
        if let next = deadlines.values.filter({ $0 > now }).min() { checkStalls(at: next) }
    }

    // MARK: The connection's life

    private static let alivePing: UInt64 = 1
    private static let shutdownPing: UInt64 = 2

    /// Starts a graceful shutdown; running calls may finish. As RFC 9113 section 6.8 describes, a first GOAWAY warns
    /// the client, and after a round trip (a ping and its acknowledgement) a second one names the last stream.
    func goAway() {
        guard !isShuttingDown, context != nil else { return }
        isShuttingDown = true
        http2.goAway(.maxID, .noError)
        http2.ping(Self.shutdownPing)
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
        http2.goAway(lastID, .noError)
        flush()
        closeIfDone()
    }

    private func closeIfDone() {
        if calls.isEmpty, context != nil { close() }
    }

    /// Closes our side. Further input is read and dropped for a while: unread input would reset the connection before
    /// the client has read the last frames.
    private func close() {
        guard let context else { return }
        let channel = context.channel
        writeControl(context)
        end()
        lingerBytesLeft = configuration.lingerBytesMax
        channel.close(mode: .output, promise: nil)
        timer = eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(configuration.lingerMs)) {
            channel.close(promise: nil)
        }
    }

    /// Writes the last control frames, whether or not the channel takes more.
    private func writeControl(_ context: ChannelHandlerContext) {
        let bytes = http2.control
        http2.control = ByteBuffer()
        let taken = channelBytes == 0 ? bytes.withUnsafeReadableBytes { attempt($0) } : 0
        var rest = bytes
        rest.moveReaderIndex(forwardBy: taken)
        if rest.readableBytes > 0 { context.writeAndFlush(wrapOutboundOut(rest), promise: nil) }
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
            http2.ping(Self.alivePing)
            flush()
        }
    }
}

@available(*, unavailable)
extension GRPCConnection: Sendable {}
