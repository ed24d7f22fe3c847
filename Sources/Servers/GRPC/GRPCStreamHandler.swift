import HTTPServer
import NIOCore
import NIOHPACK
import NIOHTTP2
import Pacing

/// One HTTP/2 stream: checks the call's headers, assembles messages and passes them to the application. Source: gRPC
/// over HTTP/2.
final class GRPCStreamHandler {
    private enum Role {
        case awaitingHeaders
        case unary(@Sendable (ByteBuffer, GRPCCall) -> Void)
        case stream(any GRPCStream)
        /// Further input is dropped.
        case over
    }

    private let id: HTTP2StreamID
    /// A strong reference until `closed`, when the connection releases this stream.
    private var connection: GRPCConnection?
    private let eventLoop: any EventLoop
    private let bodies: BytesBudget
    private let readPauseBytes: Int
    private let call: GRPCCall
    private var role = Role.awaitingHeaders
    private var messages: GRPCMessages
    /// Bytes of messages, reserved from the server's body budget.
    private var heldBytes = HeldBytes()
    private var window = InboundWindow()
    /// Window bytes received while paused.
    private var pausedBytes = 0
    private var isPaused = false
    private let throttle: InputThrottle
    private var hasMessage = false
    private(set) var inputHasEnded = false
    /// When the stream of an answered call is reset, unless its client ends it or still has data to receive.
    var lingerDeadline: NIODeadline?
    private var deadline: Scheduled<Void>?
    private static let full = GRPCStatus(
        code: 14, message: "the server's memory for request bodies is full", retryAfterMs: 1_000)
    private static let compressed = GRPCStatus(code: 12, message: "compressed messages are not supported")

    init(_ id: HTTP2StreamID, _ connection: GRPCConnection) {
        self.id = id
        self.connection = connection
        eventLoop = connection.eventLoop
        bodies = connection.server.bodies
        readPauseBytes = connection.configuration.readPauseBytes
        messages = GRPCMessages(bytesMax: connection.configuration.messageBytesMax)
        throttle = InputThrottle(
            perSecond: connection.configuration.messagesPerSecond, burst: connection.configuration.messagesBurst,
            on: eventLoop)
        call = GRPCCall(id, connection)
    }

    var pendingBytes: Int { call.pendingBytes }
    func stallDeadline(timeoutMs: Int64) -> NIODeadline? { call.stallDeadline(timeoutMs: timeoutMs) }
    /// Called when bytes of the call wait for the socket.
    func accepted(_ bytes: Int) { call.accepted(bytes) }
    /// Called when the socket took bytes of the call.
    func wrote(_ bytes: Int) { call.wrote(bytes) }

    private var isOver: Bool {
        if case .over = role { true } else { call.isOver }
    }

    func begin(_ headers: HPACKHeaders) {
        guard let connection else { return }
        let head = GRPCCallHead(
            path: headers.first(name: ":path") ?? "", metadata: headers, eventLoop: eventLoop,
            remoteAddress: connection.remoteAddress)
        if let addresses = connection.server.addresses, let peer = connection.remoteAddress?.ipAddress {
            heldBytes = HeldBytes(of: addresses.client(peer, head.forwarded))
        }
        let type = headers.first(name: "content-type") ?? ""
        guard type == "application/grpc" || type.hasPrefix("application/grpc+") || type.hasPrefix("application/grpc;")
        else {
            role = .over
            return call.refuse(httpStatus: 415)
        }
        guard headers.first(name: ":method") == "POST" else {
            return refuse(GRPCStatus(code: 12, message: "the method of a call must be POST"))
        }
        switch GRPCTimeout.milliseconds(headers.first(name: "grpc-timeout")) {
        case .none: break
        case .malformed:
            return refuse(GRPCStatus(code: 13, message: "grpc-timeout must be 1 to 8 digits and a unit"))
        case .after(let ms):
            // The client is no longer waiting.
            guard ms > 0 else { return refuse(GRPCTimeout.exceeded) }
            let bound = NIOLoopBound(self, eventLoop: eventLoop)
            deadline = eventLoop.scheduleTask(in: .milliseconds(ms)) {
                bound.value.deadline = nil
                bound.value.refuse(GRPCTimeout.exceeded)
            }
        }
        switch connection.application.accept(head) {
        case .refuse(let status): refuse(status)
        case .unary(let run): role = .unary(run)
        case .stream(let make):
            call.begin()
            role = .stream(make(call))
            throttle.count(for: call.addressRate)
            if !throttle.begin() { pauseInput() }
            call.onPendingBytesDecreased = { [weak self] in self?.writabilityChanged(pendingBytes: $0) }
            call.onFinish = { [weak self] in self?.endOfStream() }
        }
    }

    private func refuse(_ status: GRPCStatus) {
        call.finish(status)
        endOfStream()
    }

    // MARK: Events of the connection

    /// Receives bytes of messages.
    /// - Parameter windowBytes: what they used of the window, padding included.
    func received(_ bytes: ByteBuffer, windowBytes: Int, endsInput: Bool) {
        // Nothing follows, so no window is needed.
        if endsInput { inputHasEnded = true }
        guard !isOver else { return release(windowBytes) }
        messages.append(bytes)
        // While paused, the window stays closed.
        if isPaused { pausedBytes += windowBytes } else { release(windowBytes) }
        takeMessages()
        hold()
        endInputWhenTaken()
    }

    func inputEnded() {
        inputHasEnded = true
        endInputWhenTaken()
    }

    /// Called when the stream is over. The application is notified on the loop's next turn, because it may be sending.
    func closed() {
        call.lost()
        connection = nil
        eventLoop.assumeIsolated().execute { [self] in endOfStream() }
    }

    private func release(_ bytes: Int) {
        guard let increment = window.released(bytes), !inputHasEnded, let connection else { return }
        connection.openWindow(of: id, by: increment)
    }

    // MARK: Messages

    private func takeMessages() {
        while !isOver, !isPaused {
            switch messages.next() {
            case .incomplete: return
            case .compressed: return refuse(Self.compressed)
            case .tooLong:
                return refuse(GRPCStatus(code: 8, message: "a message is larger than \(messages.bytesMax) bytes"))
            case .message(let message):
                switch role {
                case .unary(let run):
                    guard !hasMessage else {
                        return refuse(GRPCStatus(code: 3, message: "a unary call takes one message"))
                    }
                    hasMessage = true
                    run(message, call)
                case .stream(let stream):
                    // The window bounds what has arrived, so no debt is excessive.
                    if throttle.arrived() != .within { pauseInput() }
                    stream.received(message)
                    regulate()
                case .awaitingHeaders, .over: return
                }
            }
        }
    }

    /// Counts unread messages against the server's body budget.
    private func hold() {
        guard !isOver else { return }
        if !bodies.change(&heldBytes, to: messages.heldBytes) { refuse(Self.full) }
    }

    private func endInputWhenTaken() {
        guard inputHasEnded, !isPaused, !isOver else { return }
        switch role {
        case .unary where !hasMessage: refuse(GRPCStatus(code: 3, message: "the call has no message"))
        case .stream(let stream): stream.inputEnded()
        case .awaitingHeaders, .unary, .over: break
        }
    }

    private func pauseInput() {
        throttle.pause { [weak self] in self?.goOn() }
        regulate()
    }

    private func writabilityChanged(pendingBytes: Int) {
        if case .stream(let stream) = role { stream.writabilityChanged(pendingBytes: pendingBytes) }
        goOn()
    }

    private func goOn() {
        guard isPaused else { return }
        regulate()
        guard !isPaused else { return }
        takeMessages()
        hold()
        endInputWhenTaken()
    }

    /// Pauses a client that does not read, so that its requests cannot grow our responses, or that sends too fast.
    private func regulate() {
        isPaused = throttle.isPausing || call.pendingBytes > readPauseBytes
        guard !isPaused, pausedBytes > 0 else { return }
        let bytes = pausedBytes
        pausedBytes = 0
        release(bytes)
    }

    /// Ends the application's part; the client may continue to send for a while.
    private func endOfStream() {
        deadline?.cancel()
        deadline = nil
        throttle.cancel()
        call.onPendingBytesDecreased = nil
        call.onFinish = nil
        messages = GRPCMessages(bytesMax: messages.bytesMax)
        bodies.release(&heldBytes)
        // Reopen the window, so that a client that is still sending can finish.
        let bytes = pausedBytes
        pausedBytes = 0
        release(bytes)
        let former = role
        role = .over
        if case .stream(let stream) = former { stream.closed() }
    }
}

@available(*, unavailable)
extension GRPCStreamHandler: Sendable {}
