import Clocks
package import NIOCore
import NIOWebSocket
import Pacing

/// One open WebSocket: sends complete messages and controls reading and closing.
///
/// Bound to its event loop: call every method there (asserted in debug builds). `Sendable` so that other threads can
/// pass it to `eventLoop.execute`.
///
/// This file contains the connection's life; `WebSocketConnection+Sending` writes the frames and
/// `WebSocketConnection+Inflating` decompresses messages; `WebSocketConnection+Rates` pauses peers that send too much.
package final class WebSocketConnection: ConnectionOwner, @unchecked Sendable {
    // Unchecked: everything mutable belongs to the event loop.

    private enum Phase {
        case open
        /// A ping has been sent and nothing has arrived since.
        case awaitingPong
        /// Our close frame has been sent, the peer's has not arrived.
        case closeSent
        /// The closing handshake is over; the peer has a moment to close.
        case lingering
        case closed
    }

    /// A number that is unique in this server.
    package let id: UInt64
    let transport: Transport
    /// The window of compressed messages; nil: the client offered no compression.
    package let deflateWindow: DeflateWindow?
    private(set) var handler: (any WebSocketHandler)?
    private var phase = Phase.open
    private var deadlineMs: Int64
    private var handlerDeadlineMs = ConnectionTable.never
    private(set) var message = WebSocketAssembler()
    /// Bytes of an incomplete message, reserved from the server's body budget.
    var heldBytes: HeldBytes
    private var lingerBytesLeft = 0
    var readIsDue = false
    let throttle: InputThrottle

    /// - Parameter address: the subject that is charged for incomplete messages; nil: nobody.
    init(transport: Transport, deflateWindow: DeflateWindow? = nil, address: String? = nil) {
        heldBytes = HeldBytes(of: address)
        self.transport = transport
        self.deflateWindow = deflateWindow
        let configuration = transport.table.context.configuration
        id = transport.table.context.nextWebSocketID()
        throttle = InputThrottle(
            perSecond: configuration.webSocketFramesPerSecond, burst: configuration.webSocketFramesBurst,
            on: transport.channel.eventLoop)
        // The first ping comes after between half an interval and a whole one, which spreads clients that connected
        // together.
        let half = max(1, configuration.webSocketPingIntervalMs / 2)
        deadlineMs =
            MonotonicClock.nowMs() + half + Int64(truncatingIfNeeded: (id &* 0x9E37_79B9_7F4A_7C15) >> 33) % half
    }

    static func install(
        on transport: Transport, pipeline: ChannelPipeline.SynchronousOperations, greeting: ByteBuffer,
        deflate: MessageDeflate?, address: String?, _ makeHandler: (WebSocketConnection) -> any WebSocketHandler
    ) throws {
        let connection = WebSocketConnection(transport: transport, deflateWindow: deflate?.window, address: address)
        let configuration = transport.table.context.configuration
        try pipeline.addHandlers([
            ByteToMessageHandler(
                BudgetedFrameDecoder(connection, frameBytesMax: configuration.webSocketFrameBytesMax)),
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
    /// The executor for tasks that work for this connection.
    package var taskExecutor: LoopTaskExecutor { transport.table.taskExecutor }

    /// Whether neither side has begun to close; otherwise sends do nothing.
    package var isOpen: Bool {
        switch phase {
        case .open, .awaitingPong: !transport.isDead
        case .closeSent, .lingering, .closed: false
        }
    }

    /// Whether the closing handshake is over: further input is discarded.
    var isLingering: Bool { if case .lingering = phase { true } else { false } }

    /// Bytes accepted from the application that the kernel has not taken yet; may be read from any thread.
    package var pendingBytes: Int { transport.pendingBytes }

    /// Whether nothing more is read from the peer; what has been read is still delivered.
    package var isReadingPaused = false {
        didSet { if !isReadingPaused { readIfWanted() } }
    }

    // MARK: Closing

    /// Starts the closing handshake after everything sent so far. `code` is 1000 to 4999; `reason` is cut to 123 bytes.
    /// The peer has `webSocketCloseTimeoutMs` to respond; `closed` follows in any case.
    package func close(code: UInt16 = 1000, reason: String = "") {
        eventLoopAssert()
        guard isOpen else { return }
        sendClose(code, reason)
        phase = .closeSent
        setDeadline(transport.table.context.configuration.webSocketCloseTimeoutMs)
    }

    // MARK: Receiving

    func received(_ frame: WebSocketFrame) {
        inputArrived()
        switch phase {
        case .lingering, .closed: return
        case .open, .awaitingPong, .closeSent: break
        }
        switch throttle.arrived(isAnswer: frame.opcode == .pong) {
        case .within: break
        case .over: pauseReading()
        case .excessive: return fail(1008, "too many messages")
        }
        let maximum = transport.table.context.configuration.webSocketFrameBytesMax
        let outcome = message.add(frame, bytesMax: maximum, allowsCompressed: deflateWindow != nil)
        hold(frameBytes: 0)
        perform(outcome)
    }

    func perform(_ outcome: WebSocketAssembler.Outcome) {
        switch outcome {
        case .none: break
        case .text(let text): if case .open = phase { handler?.received(text: text) }
        case .binary(let binary): if case .open = phase { handler?.received(binary: binary) }
        case .compressed(let isText, let payload): if case .open = phase { inflate(payload, isText: isText) }
        case .ping(let payload): if case .open = phase { sendControl(FrameHeader.pong, payload.readableBytesView) }
        case .close(let code): peerClosed(code)
        case .fail(let code): fail(code)
        }
    }

    /// Counts any input as a sign of life, even part of an incomplete frame.
    func inputArrived() {
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

    /// Counts discarded input, so that the peer cannot go on for ever.
    func countLingering(_ bytes: Int) {
        lingerBytesLeft -= bytes
        if lingerBytesLeft < 0 { transport.channel.close(promise: nil) }
    }

    private func peerClosed(_ code: UInt16) {
        if case .open = phase { sendClose(code == 1005 ? 1000 : code, "") }
        end(code)
        linger()
    }

    /// Fails the connection (section 7.1.7): sends the code and does not wait for the peer's close frame.
    func fail(_ code: UInt16, _ reason: String = "") {
        switch phase {
        case .open, .awaitingPong:
            transport.table.context.counters.peerErrorsTotal.increment()
            sendClose(code, reason)
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
        lingerBytesLeft = configuration.linger.bytesMax
        setDeadline(configuration.linger.timeoutMs)
        if transport.pendingBytes == 0 { transport.closeOutput() }
    }

    private func end(_ code: UInt16?) {
        throttle.cancel()
        guard let handler else { return }
        self.handler = nil
        handlerDeadlineMs = ConnectionTable.never
        message = WebSocketAssembler()
        transport.table.context.bodies.release(&heldBytes)
        transport.table.context.counters.webSocketsOpen.decrement()
        handler.closed(code: code)
    }

    /// A peer that half-closes can no longer take part in the closing handshake.
    func inputClosed() { transport.channel.close(promise: nil) }

    func connectionLost() {
        phase = .closed
        transport.closed()
        end(nil)
    }

    func readIfWanted() {
        let pauseBytes = transport.table.context.configuration.webSocketReadPauseBytes
        if isLingering || (!isReadingPaused && !throttle.isPausing && transport.pendingBytes <= pauseBytes) {
            readIsDue = false
            transport.channel.read()
        } else {
            readIsDue = true
        }
    }

    /// Calls the handler's `deadlineReached` at this time of `MonotonicClock`, up to half a second late. Another call
    /// replaces the time.
    package func wake(atMs: Int64) {
        eventLoopAssert()
        handlerDeadlineMs = atMs
        transport.table.expect(transport, by: handlerDeadlineMs)
    }

    // MARK: ConnectionOwner

    private func setDeadline(_ afterMs: Int64) {
        deadlineMs = MonotonicClock.nowMs() + afterMs
        transport.table.expect(transport, by: deadlineMs)
    }

    func deadlineReached(nowMs: Int64) -> Int64 {
        if handlerDeadlineMs <= nowMs {
            handlerDeadlineMs = ConnectionTable.never
            handler?.deadlineReached(nowMs: nowMs)
        }
        return min(ownDeadlineReached(nowMs: nowMs), handlerDeadlineMs)
    }

    private func ownDeadlineReached(nowMs: Int64) -> Int64 {
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
            // While reading is paused the peer may have responded: extend the deadline.
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

    func pendingBytesDecreased() {
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
}
