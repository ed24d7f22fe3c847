import Clocks
package import NIOCore
import NIOWebSocket

/// One open WebSocket as the application sees it: whole messages out, and a say in reading and closing.
///
/// Bound to its event loop: call every method there (asserted in debug builds). It is `Sendable` so that other threads
/// can carry it to `eventLoop.execute`.
package final class WebSocketConnection: ConnectionOwner, @unchecked Sendable {
    // Unchecked: everything mutable belongs to the event loop.

    private enum Phase {
        case open
        /// A ping is out and nothing has come since.
        case awaitingPong
        /// Our close frame is out, the peer's is awaited.
        case closeSent
        /// Both sides are done; the peer is given a moment to close.
        case lingering
        case closed
    }

    /// Unique in this server.
    package let id: UInt64
    private let transport: Transport
    private var handler: (any WebSocketHandler)?
    private var phase = Phase.open
    private var deadlineMs: Int64
    private var message = WebSocketAssembler()
    /// Of a message that is not whole, taken from the server's budget for bodies.
    private var heldBytes = 0
    private var lingerBytesLeft = 0
    private var readIsDue = false

    init(transport: Transport) {
        self.transport = transport
        let configuration = transport.table.context.configuration
        id = transport.table.context.nextWebSocketID()
        // The first ping comes after half an interval to a whole one, so that clients which came together part.
        let half = max(1, configuration.webSocketPingIntervalMs / 2)
        deadlineMs =
            MonotonicClock.nowMs() + half + Int64(truncatingIfNeeded: (id &* 0x9E37_79B9_7F4A_7C15) >> 33) % half
    }

    static func install(
        on transport: Transport, pipeline: ChannelPipeline.SynchronousOperations, greeting: ByteBuffer,
        _ makeHandler: (WebSocketConnection) -> any WebSocketHandler
    ) throws {
        let connection = WebSocketConnection(transport: transport)
        let configuration = transport.table.context.configuration
        try pipeline.addHandlers([
            ByteToMessageHandler(
                WatchedFrameDecoder(connection, frameBytesMax: configuration.webSocketFrameBytesMax)),
            WebSocketChannelHandler(connection),
        ])
        transport.owner = connection
        transport.table.expect(transport, by: connection.deadlineMs)
        transport.table.context.counters.webSocketsOpen.increment()
        transport.table.context.counters.webSocketsTotal.increment()
        transport.write(greeting)
        connection.handler = makeHandler(connection)
        connection.readIfWanted()
    }

    package var eventLoop: any EventLoop { transport.channel.eventLoop }
    /// For tasks that work for this connection.
    package var taskExecutor: LoopTaskExecutor { transport.table.taskExecutor }

    /// False once either side has begun to close; sends do nothing then.
    package var isOpen: Bool {
        switch phase {
        case .open, .awaitingPong: !transport.isDead
        case .closeSent, .lingering, .closed: false
        }
    }

    /// Both sides are done: nothing that still comes is kept.
    var isLingering: Bool { if case .lingering = phase { true } else { false } }

    /// Accepted from the application and not yet taken by the kernel; may be read from any thread.
    package var pendingBytes: Int { transport.pendingBytes }

    /// While true nothing more is read from the peer (what has been read is still delivered).
    package var isReadingPaused = false {
        didSet { if !isReadingPaused { readIfWanted() } }
    }

    // MARK: Sending

    /// One text frame. The bytes must be valid UTF-8; they are not copied if they have to wait.
    package func send(text: ByteBuffer) {
        send(FrameHeader.text, prefix: [], shared: text, suffix: [])
    }

    package func send(binary: ByteBuffer) {
        send(FrameHeader.binary, prefix: [], shared: binary, suffix: [])
    }

    /// ONE text frame whose payload is `prefix`, `shared` and `suffix` in a row: the way of a result that many sessions
    /// share, each with its own envelope. `shared` is never copied into memory that stays.
    package func send(prefix: [UInt8], shared: ByteBuffer, suffix: [UInt8] = []) {
        send(FrameHeader.text, prefix: prefix, shared: shared, suffix: suffix)
    }

    /// A frame that many connections send without a difference.
    package func send(_ frame: EncodedTextFrame) {
        eventLoopAssert()
        if isOpen { transport.write(frame.bytes) }
    }

    /// Several sends in one: they leave in as few system calls as possible when `body` returns.
    package func gathered(_ body: () -> Void) {
        eventLoopAssert()
        transport.gathered(body)
    }

    private func send(_ first: UInt8, prefix: [UInt8], shared: ByteBuffer, suffix: [UInt8]) {
        eventLoopAssert()
        guard isOpen else { return }
        let length = prefix.count + shared.readableBytes + suffix.count
        withUnsafeTemporaryAllocation(byteCount: FrameHeader.bytesMax + prefix.count, alignment: 8) { head in
            let size = FrameHeader.write(first, length: length, to: head.baseAddress!)
            prefix.withUnsafeBytes {
                if $0.count > 0 {
                    (head.baseAddress! + size).copyMemory(from: $0.baseAddress!, byteCount: $0.count)
                }
            }
            transport.write(
                head: UnsafeRawBufferPointer(rebasing: head[..<(size + prefix.count)]), shared: shared, tail: suffix)
        }
    }

    private func sendControl(_ first: UInt8, _ payload: some Sequence<UInt8>) {
        var frame = ByteBuffer()
        frame.writeBytes([first, 0])
        let length = frame.writeBytes(payload)
        frame.setInteger(UInt8(length), at: 1)
        transport.write(frame)
    }

    /// A ping besides the periodic ones.
    package func ping() {
        eventLoopAssert()
        if isOpen { sendControl(FrameHeader.ping, []) }
    }

    /// Begins the closing handshake after everything sent so far. `code` 1000 to 4999; `reason` is cut to 123 bytes.
    /// The peer gets `webSocketCloseTimeoutMs` to answer; `closed` follows in any case.
    package func close(code: UInt16 = 1000, reason: String = "") {
        eventLoopAssert()
        guard isOpen else { return }
        sendClose(code, reason)
        phase = .closeSent
        setDeadline(transport.table.context.configuration.webSocketCloseTimeoutMs)
    }

    private func sendClose(_ code: UInt16, _ reason: String) {
        var reason = reason
        while reason.utf8.count > 123 { reason.removeLast() }
        sendControl(FrameHeader.close, [UInt8(code >> 8), UInt8(code & 0xFF)] + Array(reason.utf8))
    }

    // MARK: Receiving

    func received(_ frame: WebSocketFrame) {
        bytesCame()
        switch phase {
        case .lingering, .closed: return
        case .open, .awaitingPong, .closeSent: break
        }
        let maximum = transport.table.context.configuration.webSocketFrameBytesMax
        let outcome = message.add(frame, bytesMax: maximum)
        hold(frameBytes: 0)
        switch outcome {
        case .none: break
        case .text(let text): if case .open = phase { handler?.received(text: text) }
        case .binary(let binary): if case .open = phase { handler?.received(binary: binary) }
        case .ping(let payload): if case .open = phase { sendControl(FrameHeader.pong, payload.readableBytesView) }
        case .close(let code): peerClosed(code)
        case .fail(let code): fail(code)
        }
    }

    /// What has come of a message counts with all bodies of the server.
    /// - Parameter frameBytes: of a frame that is not whole.
    func hold(frameBytes: Int) {
        guard handler != nil else { return }
        let bodies = transport.table.context.bodies
        if !bodies.change(&heldBytes, to: message.heldBytes + frameBytes) { fail(1013) }
    }

    /// Any byte is a sign of life, even one of a frame that is long in coming.
    func bytesCame() {
        guard case .awaitingPong = phase else { return }
        phase = .open
        let configuration = transport.table.context.configuration
        deadlineMs += max(0, configuration.webSocketPingIntervalMs - configuration.webSocketPongTimeoutMs)
    }

    func failed(_ error: any Error) {
        if case .lingering = phase {
            if let error = error as? ByteToMessageDecoderError, case .dataReceivedInErrorState(_, let bytes) = error {
                countLingering(bytes.readableBytes)
            }
            return
        }
        switch error as? NIOWebSocketError {
        case .invalidFrameLength: fail(1009)
        case .fragmentedControlFrame, .multiByteControlFrameLength: fail(1002)
        case nil: transport.abort()
        }
    }

    /// Of no interest any more, but the peer may not go on for ever.
    func countLingering(_ bytes: Int) {
        lingerBytesLeft -= bytes
        if lingerBytesLeft < 0 { transport.channel.close(promise: nil) }
    }

    private func peerClosed(_ code: UInt16) {
        if case .open = phase { sendClose(code == 1005 ? 1000 : code, "") }
        end(code)
        linger()
    }

    /// Section 7.1.7: says why, and does not wait for an answer.
    private func fail(_ code: UInt16) {
        switch phase {
        case .open, .awaitingPong:
            transport.table.context.counters.peerErrorsTotal.increment()
            sendClose(code, "")
            end(code)
            linger()
        case .closeSent:
            end(nil)
            linger()
        case .lingering, .closed: break
        }
    }

    private func linger() {
        phase = .lingering
        let configuration = transport.table.context.configuration
        lingerBytesLeft = configuration.lingerBytesMax
        setDeadline(configuration.lingerTimeoutMs)
        if transport.pendingBytes == 0 { transport.closeOutput() }
    }

    private func end(_ code: UInt16?) {
        guard let handler else { return }
        self.handler = nil
        message = WebSocketAssembler()
        transport.table.context.bodies.give(heldBytes)
        heldBytes = 0
        transport.table.context.counters.webSocketsOpen.decrement()
        handler.closed(code: code)
    }

    /// Who sends no more cannot close as the protocol has it: the connection is over.
    func inputClosed() { transport.channel.close(promise: nil) }

    func connectionLost() {
        phase = .closed
        transport.closed()
        end(nil)
    }

    func readIfWanted() {
        let pauseBytes = transport.table.context.configuration.webSocketReadPauseBytes
        if isLingering || (!isReadingPaused && transport.pendingBytes <= pauseBytes) {
            readIsDue = false
            transport.channel.read()
        } else {
            readIsDue = true
        }
    }

    // MARK: ConnectionOwner

    private func setDeadline(_ afterMs: Int64) {
        deadlineMs = MonotonicClock.nowMs() + afterMs
        transport.table.expect(transport, by: deadlineMs)
    }

    func deadlineReached(nowMs: Int64) -> Int64 {
        let configuration = transport.table.context.configuration
        let stall = transport.stallDeadlineMs ?? ConnectionTable.never
        if stall <= nowMs { return cutOff() }
        if deadlineMs > nowMs { return min(deadlineMs, stall) }
        switch phase {
        case .open:
            ping()
            phase = .awaitingPong
            deadlineMs = nowMs + configuration.webSocketPongTimeoutMs
            return min(deadlineMs, stall)
        case .awaitingPong:
            // A peer that we do not read from may have answered: what is paused is our ear, not the peer.
            if !readIsDue { return cutOff() }
            deadlineMs = nowMs + configuration.webSocketPongTimeoutMs
            return min(deadlineMs, stall)
        case .closeSent, .lingering:
            transport.abort()
            transport.channel.close(promise: nil)
            return ConnectionTable.never
        case .closed:
            return ConnectionTable.never
        }
    }

    private func cutOff() -> Int64 {
        transport.table.context.counters.peersCutOffTotal.increment()
        transport.abort()
        return ConnectionTable.never
    }

    func pendingBytesFell() {
        if case .lingering = phase {
            if transport.pendingBytes == 0 { transport.closeOutput() }
            return
        }
        handler?.writabilityChanged(pendingBytes: transport.pendingBytes)
        if readIsDue { readIfWanted() }
    }

    func drain() {
        close(code: 1001, reason: "the server is stopping")
    }

    @inline(__always)
    private func eventLoopAssert() {
        assert(transport.channel.eventLoop.inEventLoop, "WebSocketConnection used outside its event loop")
    }
}

/// Hands frames from the pipeline to the connection.
final class WebSocketChannelHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame

    private let connection: WebSocketConnection

    init(_ connection: WebSocketConnection) { self.connection = connection }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { connection.received(unwrapInboundIn(data)) }

    func channelReadComplete(context: ChannelHandlerContext) {
        connection.bytesCame()
        connection.readIfWanted()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { connection.inputClosed() }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) { connection.connectionLost() }

    func handlerRemoved(context: ChannelHandlerContext) { connection.connectionLost() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { connection.failed(error) }
}

@available(*, unavailable)
extension WebSocketChannelHandler: Sendable {}
