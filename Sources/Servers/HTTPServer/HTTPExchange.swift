package import NIOCore
package import NIOHTTP1
import Synchronization

/// One request's answer: `respond` once, or `startStream`, any number of `write`, `end`.
///
/// May be called from any thread; calls from other threads take a turn of the event loop and keep their order. After the
/// connection is lost every call does nothing. A second answer is a mistake of the caller: ignored, and asserted in
/// debug builds.
package final class HTTPExchange: @unchecked Sendable {
    // Unchecked: everything mutable below `eventLoop` belongs to the event loop, except the atomics.

    private enum Phase {
        case waiting
        case streaming(chunked: Bool)
        case over
    }

    package let eventLoop: any EventLoop
    private let isOver = Atomic<Bool>(false)
    private let transport: Transport
    private let isHead: Bool
    private let isHTTP10: Bool
    private var keepAlive: Bool
    private var phase = Phase.waiting
    private var lost = false
    private var finished: ((_ keepAlive: Bool) -> Void)?
    private var closeCallbacks: [@Sendable () -> Void] = []
    private var drainCallback: (@Sendable () -> Void)?
    private var inputHasEnded = false
    private var inputEndCallback: (@Sendable () -> Void)?

    init(
        transport: Transport, isHead: Bool, isHTTP10: Bool, keepAlive: Bool,
        finished: @escaping (_ keepAlive: Bool) -> Void
    ) {
        eventLoop = transport.channel.eventLoop
        self.transport = transport
        self.isHead = isHead
        self.isHTTP10 = isHTTP10
        self.keepAlive = keepAlive
        self.finished = finished
    }

    /// The answer is complete or its connection is lost.
    package var isClosed: Bool { isOver.load(ordering: .acquiring) }

    /// For tasks that work on this request.
    package var taskExecutor: LoopTaskExecutor { transport.table.taskExecutor }

    /// Bytes of this connection that wait for a slow client.
    package var pendingBytes: Int { transport.pendingBytes }

    /// Answers with a whole body. A HEAD request gets its length only; 204 and 304 never have one.
    package func respond(_ status: HTTPResponseStatus, headers: HTTPHeaders = [:], body: ByteBuffer = ByteBuffer()) {
        onLoop { $0.respondNow(status, headers, body) }
    }

    package func respond(_ status: HTTPResponseStatus, headers: HTTPHeaders = [:], body: [UInt8]) {
        respond(status, headers: headers, body: ByteBuffer(bytes: body))
    }

    /// Begins an answer of unknown length (SSE, multipart).
    package func startStream(_ status: HTTPResponseStatus, headers: HTTPHeaders = [:]) {
        onLoop { $0.startNow(status, headers) }
    }

    /// Sends one piece of a stream at once. The bytes are not copied if they have to wait.
    package func write(_ chunk: ByteBuffer) {
        onLoop { $0.writeNow(chunk) }
    }

    /// The same for a piece that begins with bytes of its own and goes on with bytes that many answers share.
    package func write(prefix: [UInt8], shared: ByteBuffer) {
        onLoop { $0.writeNow(prefix: prefix, shared) }
    }

    package func end() {
        onLoop { $0.endNow() }
    }

    /// `body` is called once, on the event loop, when the client goes away before its answer is complete; at once if it
    /// has gone already. Not called for an answer that was completed.
    package func onClose(_ body: @escaping @Sendable () -> Void) {
        onLoop { exchange in
            if exchange.lost {
                body()
            } else if case .over = exchange.phase {
                return
            } else {
                exchange.closeCallbacks.append(body)
            }
        }
    }

    /// `body` is called on the event loop each time that everything held back for this client has gone out, until the
    /// answer is complete. One callback at a time: the last one set counts.
    package func onDrained(_ body: @escaping @Sendable () -> Void) {
        onLoop { $0.drainCallback = body }
    }

    /// `body` is called on the event loop when the client says that it sends nothing more and the answer has not begun;
    /// at once if it has said so already. It may be gone, so an answer that waits for something is due now; one that has
    /// begun and has no end in sight is broken off by the server.
    package func onInputEnd(_ body: @escaping @Sendable () -> Void) {
        onLoop { exchange in
            guard case .waiting = exchange.phase else { return }
            if exchange.inputHasEnded { body() } else { exchange.inputEndCallback = body }
        }
    }

    private func onLoop(_ body: @escaping @Sendable (HTTPExchange) -> Void) {
        if eventLoop.inEventLoop {
            body(self)
        } else {
            eventLoop.execute { body(self) }
        }
    }

    // MARK: On the event loop

    private func respondNow(_ status: HTTPResponseStatus, _ headers: HTTPHeaders, _ body: ByteBuffer) {
        guard case .waiting = phase else { return mistake("answered twice") }
        settleKeepAlive(headers)
        let noBody = ResponseHead.hasNoBody(status)
        sendHead(status, headers, noBody ? .none : .length(body.readableBytes), body: isHead || noBody ? nil : body)
        finish()
    }

    private func startNow(_ status: HTTPResponseStatus, _ headers: HTTPHeaders) {
        guard case .waiting = phase else { return mistake("answered twice") }
        let chunked = !isHTTP10
        if !chunked { keepAlive = false }
        settleKeepAlive(headers)
        phase = .streaming(chunked: chunked)
        let noBody = ResponseHead.hasNoBody(status)
        sendHead(status, headers, noBody ? .none : chunked ? .chunked : .untilClose, body: nil)
        inputEndCallback = nil
        if inputHasEnded { breakOff() }
    }

    func inputEnded() {
        inputHasEnded = true
        switch phase {
        case .waiting:
            let callback = inputEndCallback
            inputEndCallback = nil
            callback?()
        case .streaming: breakOff()
        case .over: break
        }
    }

    /// On the loop's next turn: a stream that ends by itself, as a query read once, is whole by then.
    private func breakOff() {
        let transport = transport
        eventLoop.assumeIsolated().execute { [self] in
            if case .streaming = phase { transport.channel.close(promise: nil) }
        }
    }

    private func writeNow(prefix: [UInt8] = [], _ chunk: ByteBuffer) {
        guard case .streaming(let chunked) = phase else { return mistake("wrote outside a stream") }
        let length = prefix.count + chunk.readableBytes
        if isHead || length == 0 { return }
        let head = chunked ? Array((String(length, radix: 16) + "\r\n").utf8) + prefix : prefix
        head.withUnsafeBytes { transport.write(head: $0, shared: chunk, tail: chunked ? [0x0D, 0x0A] : []) }
    }

    private func endNow() {
        guard case .streaming(let chunked) = phase else { return mistake("ended outside a stream") }
        if chunked, !isHead { transport.write(ByteBuffer(staticString: "0\r\n\r\n")) }
        finish()
    }

    /// A connection that stays would keep its client on a node that goes away.
    private var isDraining: Bool { transport.table.context.isDraining.load(ordering: .relaxed) }

    private func settleKeepAlive(_ headers: HTTPHeaders) {
        if isDraining
            || headers.contains(name: "connection")
                && headers[canonicalForm: "connection"].contains(where: { $0.lowercased() == "close" })
        {
            keepAlive = false
        }
    }

    private func sendHead(
        _ status: HTTPResponseStatus, _ headers: HTTPHeaders, _ framing: ResponseHead.Framing, body: ByteBuffer?
    ) {
        let head = ResponseHead(
            status: status, headers: headers, framing: framing, keepAlive: keepAlive, isHTTP10: isHTTP10)
        var buffer = transport.channel.allocator.buffer(capacity: 256)
        head.encode(into: &buffer, date: transport.table.date())
        buffer.withUnsafeReadableBytes { transport.write(head: $0, shared: body ?? ByteBuffer(), tail: []) }
    }

    private func finish() {
        phase = .over
        isOver.store(true, ordering: .releasing)
        closeCallbacks = []
        drainCallback = nil
        inputEndCallback = nil
        let finished = finished
        self.finished = nil
        finished?(keepAlive && !isDraining)
    }

    private func mistake(_ what: String) {
        assert(lost, "HTTPExchange: \(what)")
    }

    /// The connection is gone.
    func connectionLost() {
        if case .over = phase { return }
        phase = .over
        lost = true
        isOver.store(true, ordering: .releasing)
        finished = nil
        drainCallback = nil
        inputEndCallback = nil
        let callbacks = closeCallbacks
        closeCallbacks = []
        for callback in callbacks { callback() }
    }

    func pendingBytesFell() {
        if transport.pendingBytes == 0 { drainCallback?() }
    }
}
