import Clocks
package import NIOCore
package import NIOHTTP1
import Synchronization

/// The response to one request: either `respond` once, or `startStream`, any number of `write`, and `end`.
///
/// May be called from any thread; calls from other threads run on the event loop in order. After the connection is lost
/// every call does nothing. A second response is a caller's error: it is ignored, and asserts in debug builds.
///
/// `HTTPExchange+Streaming` has the responses of unknown length.
package final class HTTPExchange: @unchecked Sendable {
    // Unchecked: everything mutable below `eventLoop` belongs to the event loop, except the atomics.

    enum Phase {
        case waiting
        case streaming(chunked: Bool)
        case over
    }

    package let eventLoop: any EventLoop
    private let isOver = Atomic<Bool>(false)
    let transport: Transport
    let isHead: Bool
    let isHTTP10: Bool
    /// Whether the client prefers compressed results.
    package let prefersGzip: Bool
    /// The compressed stream so far; nil: the response is not compressed.
    var gzip: GzipStream?
    var keepAlive: Bool
    var phase = Phase.waiting
    private var lost = false
    private var finished: ((_ keepAlive: Bool) -> Void)?
    private var closeCallbacks: [@Sendable () -> Void] = []
    private var drainCallback: (@Sendable () -> Void)?
    private(set) var inputHasEnded = false
    private var waiter: (any ResponseWaiter)?
    private let isRepeated: Bool
    /// Whether the request's `If-None-Match` is a weak tag, if an attachment handles it; nil for any other request.
    package internal(set) var attachedTagIsWeak: Bool?
    /// The attachment that this response leaves for the next request, the entity tag expected there, and for how long.
    private(set) var left: (attachment: any ConnectionAttachment, tag: [UInt8], ms: Int64)?
    /// The time at which the waiter's time is over, or the next keep-alive of a stream is due.
    private(set) var deadlineMs = ConnectionTable.never
    private var keepAlives: (everyMs: Int64, due: () -> Void)?
    /// Whether the server's end abandons the stream instead of waiting for it. On the event loop.
    package var isAbandonedAtEnd = false

    init(
        transport: Transport, isHead: Bool, isHTTP10: Bool, keepAlive: Bool, prefersGzip: Bool = false,
        isRepeated: Bool = false, finished: @escaping (_ keepAlive: Bool) -> Void
    ) {
        eventLoop = transport.channel.eventLoop
        self.transport = transport
        self.isHead = isHead
        self.isHTTP10 = isHTTP10
        self.keepAlive = keepAlive
        self.isRepeated = isRepeated
        self.prefersGzip = prefersGzip
        self.finished = finished
    }

    /// Whether the response is complete or its connection is lost.
    package var isClosed: Bool { isOver.load(ordering: .acquiring) }

    /// The executor for tasks that work on this request.
    package var taskExecutor: LoopTaskExecutor { transport.table.taskExecutor }

    /// Bytes queued on this connection for a slow client.
    package var pendingBytes: Int { transport.pendingBytes }

    /// Sends a complete response. A HEAD request gets only the length of the body; 204 and 304 have none.
    package func respond(
        _ status: HTTPResponseStatus, headers: HTTPHeaders = [:], body: ByteBuffer = ByteBuffer(),
        as kind: ResponseKind = .other
    ) {
        onLoop { $0.respondNow(status, headers, body, kind) }
    }

    package func respond(
        _ status: HTTPResponseStatus, headers: HTTPHeaders = [:], body: [UInt8], as kind: ResponseKind = .other
    ) {
        respond(status, headers: headers, body: ByteBuffer(bytes: body), as: kind)
    }

    /// Sends a complete response with a result that other responses have, too; it is compressed once for all.
    package func respond(_ status: HTTPResponseStatus, headers: HTTPHeaders, result: SharedBody) {
        onLoop { $0.respondNow(status, headers, result.bytes, .result, shared: result) }
    }

    /// Sends a complete 200 to a GET request, of which the last fields and the body are the same for many requests.
    /// - Parameters:
    ///   - field: the name of the field that this response alone has, in the capitals that are sent.
    ///   - value: its value, without control characters.
    ///   - shared: the other fields as lines, with `Content-Length`, an empty line and the body.
    ///   - plainBytes: the length of the body without compression; nil: it is not compressed.
    package func respond(_ field: StaticString, _ value: String, shared: ByteBuffer, plainBytes: Int? = nil) {
        eventLoop.assertInEventLoop()
        guard case .waiting = phase else { return misuse("responded twice") }
        settleKeepAlive([:])
        var head = ByteBuffer()
        swap(&head, &transport.table.head)
        head.clear()
        head.writeStaticString("HTTP/1.1 200 OK\r\n")
        if !keepAlive {
            head.writeStaticString("Connection: close\r\n")
        } else if isHTTP10 {
            head.writeStaticString("Connection: keep-alive\r\n")
        }
        head.writeStaticString("Date: ")
        head.writeBytes(transport.table.date())
        head.writeStaticString("\r\n")
        head.writeStaticString(field)
        head.writeStaticString(": ")
        head.writeString(value)
        head.writeStaticString("\r\n")
        if let plainBytes { compression?.sent(plainBytes: plainBytes, sentBytes: shared.readableBytes) }
        head.withUnsafeReadableBytes { transport.write(head: $0, shared: shared, tail: []) }
        swap(&head, &transport.table.head)
        finish()
    }

    /// Gathers the writes of `body` into as few system calls as possible, if called on the event loop.
    package func gathered(_ body: () -> Void) {
        if eventLoop.inEventLoop { transport.gathered(body) } else { body() }
    }

    /// Calls `body` once, on the event loop, if the client disconnects before the response is complete; at once if it
    /// already has.
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

    /// Closes the connection of a stream that is not complete, as if the client had left.
    package func abandonStream() {
        onLoop { exchange in
            if case .streaming = exchange.phase { exchange.closeUnfinishedStream() }
        }
    }

    /// Calls `body` on the event loop whenever all queued bytes have been sent, until the response is complete. Setting
    /// a callback replaces the previous one.
    package func onDrained(_ body: @escaping @Sendable () -> Void) {
        onLoop { $0.drainCallback = body }
    }

    /// Calls `waiter` at most once: when `ms` have passed, up to half a second late; when the client half-closes or is
    /// lost; at once if it already has. Not after the response. On the event loop.
    package func wait(_ ms: Int64, _ waiter: any ResponseWaiter) {
        eventLoop.assertInEventLoop()
        if lost { return waiter.connectionLost() }
        guard case .waiting = phase else { return }
        if inputHasEnded { return waiter.inputEnded() }
        self.waiter = waiter
        deadlineMs = MonotonicClock.nowMs() + max(0, ms)
        transport.table.expect(transport, by: deadlineMs)
        transport.owner?.responseTakesLong()
    }

    /// Calls `due` again and again until the stream is over, each time up to half a second late. On the event loop.
    package func keepAlive(everyMs: Int64, _ due: @escaping () -> Void) {
        eventLoop.assertInEventLoop()
        guard case .streaming = phase else { return }
        keepAlives = (max(1, everyMs), due)
        deadlineMs = MonotonicClock.nowMs() + max(1, everyMs)
        transport.table.expect(transport, by: deadlineMs)
    }

    private func takeWaiter() -> (any ResponseWaiter)? {
        deadlineMs = ConnectionTable.never
        keepAlives = nil
        defer { waiter = nil }
        return waiter
    }

    func deadlineReached(nowMs: Int64) {
        guard deadlineMs <= nowMs else { return }
        if let keepAlives {
            deadlineMs = max(nowMs + 1, deadlineMs + keepAlives.everyMs)
            keepAlives.due()
        } else {
            takeWaiter()?.deadlineReached()
        }
    }

    /// Whether the request is one that clients repeat, and its connection can bring another one.
    package var mayAttach: Bool {
        guard case .waiting = phase else { return false }
        return isRepeated && keepAlive && !inputHasEnded && !isDraining
    }

    /// Leaves something for the request after this one, just before the response. On the event loop.
    /// - Parameters:
    ///   - tag: the entity tag of the response, weak or not, which the next request has as its `If-None-Match`.
    ///   - ms: the time for which the next request is awaited.
    package func attach(_ attachment: any ConnectionAttachment, tag: [UInt8], forMs ms: Int64) {
        eventLoop.assertInEventLoop()
        left = (attachment, tag, ms)
    }

    func onLoop(_ body: @escaping @Sendable (HTTPExchange) -> Void) {
        if eventLoop.inEventLoop {
            body(self)
        } else {
            eventLoop.execute { body(self) }
        }
    }

    // MARK: On the event loop

    private func respondNow(
        _ status: HTTPResponseStatus, _ headers: HTTPHeaders, _ body: ByteBuffer, _ kind: ResponseKind,
        shared: SharedBody? = nil
    ) {
        guard case .waiting = phase else { return misuse("responded twice") }
        settleKeepAlive(headers)
        let noBody = ResponseHead.hasNoBody(status)
        var (headers, body) = (headers, body)
        if let compression, kind.mayBeCompressed {
            kind.encode(
                &headers, &body, shared: shared, prefersGzip: prefersGzip && !noBody, isSent: !isHead, compression)
        }
        sendHead(status, headers, noBody ? .none : .length(body.readableBytes), body: isHead || noBody ? nil : body)
        finish()
    }

    func inputEnded() {
        inputHasEnded = true
        switch phase {
        case .waiting: takeWaiter()?.inputEnded()
        case .streaming: closeUnfinishedStream()
        case .over: break
        }
    }

    /// Whether the server is draining: a connection kept alive would tie its client to a node that is going away.
    private var isDraining: Bool { transport.table.context.isDraining.load(ordering: .relaxed) }

    func settleKeepAlive(_ headers: HTTPHeaders) {
        if isDraining
            || headers.contains(name: "connection")
                && headers[canonicalForm: "connection"].contains(where: { $0.lowercased() == "close" })
        {
            keepAlive = false
        }
    }

    func sendHead(
        _ status: HTTPResponseStatus, _ headers: HTTPHeaders, _ framing: ResponseHead.Framing, body: ByteBuffer?
    ) {
        let head = ResponseHead(
            status: status, headers: headers, framing: framing, keepAlive: keepAlive, isHTTP10: isHTTP10)
        var buffer = transport.channel.allocator.buffer(capacity: 256)
        head.encode(into: &buffer, date: transport.table.date())
        buffer.withUnsafeReadableBytes { transport.write(head: $0, shared: body ?? ByteBuffer(), tail: []) }
    }

    func finish() {
        phase = .over
        isOver.store(true, ordering: .releasing)
        closeCallbacks = []
        drainCallback = nil
        _ = takeWaiter()
        let finished = finished
        self.finished = nil
        finished?(keepAlive && !isDraining)
        // An attachment may hold this exchange.
        left = nil
    }

    func misuse(_ what: String) {
        assert(lost, "HTTPExchange: \(what)")
    }

    /// Called when the connection is lost.
    func connectionLost() {
        if case .over = phase { return }
        phase = .over
        lost = true
        isOver.store(true, ordering: .releasing)
        finished = nil
        drainCallback = nil
        let callbacks = closeCallbacks
        closeCallbacks = []
        for callback in callbacks { callback() }
        takeWaiter()?.connectionLost()
        left?.attachment.detached()
        left = nil
    }

    func pendingBytesDecreased() { if transport.pendingBytes == 0 { drainCallback?() } }
}
