import Clocks
import Logging
import NIOCore
import NIOHTTP1
import Synchronization

/// One HTTP/1.1 connection: collects requests, has the application answer them one at a time and in order, and enforces
/// limits and timeouts.
///
/// Reads are explicit. While a request is being answered, reading stops as soon as more input has arrived: a pipelining
/// client can queue at most two receive buffers of requests, and a client that does not read its responses gets no
/// further ones. (Stopping with the request itself would save one of those buffers but cost two more system calls per
/// request to update epoll.)
///
/// Long, because reading, answering, the parser's phase and the end of the connection depend on each other's state,
/// which nothing else may see. What can be decided without it is in `PartialRequest`, `HTTPFailure` and `ResponseHead`.
///
/// Owned by its event loop.
final class HTTP1Handler: ChannelInboundHandler, RemovableChannelHandler, ConnectionOwner {
    typealias InboundIn = HTTPServerRequestPart

    /// The parser's position within a request.
    private enum Phase {
        /// Nothing is in progress; `begun` after the first byte of the next request.
        case awaitingHead(begun: Bool)
        case body(PartialRequest)
        /// An error response is queued or sent; nothing more is parsed.
        case failed
        /// The final response is out; waiting for the peer to close.
        case lingering
        /// Another protocol owns the connection.
        case handedOver
    }

    private struct Attached {
        let attachment: any ConnectionAttachment
        /// The next request: the same as this one, with the tag as its `If-None-Match`.
        let known: RepeatedRequests.Known
        let tag: [UInt8]
        let untilMs: Int64
    }

    private enum Item {
        case request(PartialRequest)
        /// A failure, with the `Origin` of the request if that was read.
        case failure(HTTPFailure, origin: String?)
    }

    let transport: Transport
    let context: ServerContext
    /// The topmost handler below this one (TLS); another protocol's handlers go above it.
    private(set) var below: (any ChannelHandler)?
    private(set) var wire: WireHandler!
    /// The parser of requests; nil while a response takes long, because it would be a quarter of the connection's
    /// memory.
    private(set) var decoder: ByteToMessageHandler<HTTPRequestDecoder>?
    /// Input that came while the parser was being removed. Bound: what one turn of the event loop reads, a few receive
    /// buffers of `BurstAllocator.burstBytesMax`.
    private var held: [ByteBuffer] = []
    private var isParserLeaving = false
    private var currentTakesLong = false
    private(set) var channelContext: ChannelHandlerContext?
    private var phase = Phase.awaitingHead(begun: false)
    /// Complete requests that the application has not seen. Bounded by two receive buffers
    /// (`BurstAllocator.burstBytesMax`) and by `pipelinedMax`: input that arrived before the peer's FIN is read at
    /// once, however much it is.
    private var queue: [Item] = []
    private var current: HTTPExchange?
    /// The current request, if clients repeat it.
    private var currentKnown: RepeatedRequests.Known?
    /// The attachment that the last response left for the next request.
    private var attached: Attached?
    /// Reserved from the server's body budget by all requests of this connection.
    private var bodyBytesHeld = HeldBytes()
    /// The part of `bodyBytesHeld` that belongs to the current request.
    private var currentBodyBytes = 0
    /// Whether the parser waits for the answer to a request that offers an upgrade.
    private var isParserStopped = false
    private var isAdvancing = false
    /// A read is pending; another one would only walk the pipeline.
    private var isReading = false
    private var continueIsDue = false
    private var sawTargetEnd = false
    private var finalResponseSent = false
    /// The bounds of the input that is read and dropped after the final response.
    private var discard: HTTPServerConfiguration.Discard
    /// The peer closed its write side.
    private var inputHasEnded = false
    private var deadlineMs: Int64
    /// A read that may be exactly one request, while the parser takes it.
    private var wholeRead: ByteBuffer?
    /// The bytes read of an incomplete header, to find its `Origin` if it never becomes complete. Bound: one receive
    /// buffer beyond `headerBytesMax`.
    private var headerBytes: ByteBuffer?
    /// Whether the parser holds no bytes of a following request. It reports a request's end before consuming the rest
    /// of the read, so only a read that ends with a header proves it.
    private var isParserClean = true
    private var wasParserClean = true
    /// The requests that ended in the current read, and the length of the last one's body.
    private var endedInRead = (requests: 0, bodyBytes: 0)
    /// Whether another parser took over, which passes on the rest of a read later.
    private var wasParserRestarted = false
    private var remoteIP: String?
    /// There are too many connections: whatever arrives is answered with a 503.
    let isRefused: Bool
    /// Whether nothing is read yet, because the rate of the peer's address does not permit it.
    private var awaitsRate = false

    /// Adds the HTTP/1.1 handlers to an accepted channel, on its event loop.
    static func install(on channel: any Channel, table: ConnectionTable, refused: Bool) throws {
        let pipeline = channel.pipeline.syncOperations
        let tls = try table.context.tls?() ?? []
        for handler in tls { try pipeline.addHandler(handler) }
        let transport = Transport(channel: channel, table: table, direct: tls.isEmpty)
        // TLS has no usable half-closed state: the end of input ends the connection.
        if tls.isEmpty { try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true) }
        let handler = HTTP1Handler(transport: transport, isRefused: refused)
        handler.below = tls.last
        let wire = WireHandler(transport: transport, http1: handler)
        let decoder = Self.makeDecoder(table.context.configuration)
        handler.wire = wire
        handler.decoder = decoder
        try pipeline.addHandlers([wire, decoder, handler])
        transport.owner = handler
        table.add(transport, deadlineMs: handler.deadlineMs)
    }

    private init(transport: Transport, isRefused: Bool) {
        self.transport = transport
        self.isRefused = isRefused
        context = transport.table.context
        discard = context.configuration.linger
        let headerMs = context.configuration.headerTimeoutMs
        deadlineMs = MonotonicClock.nowMs() + (isRefused ? min(headerMs, discard.timeoutMs) : headerMs)
    }

    // MARK: Channel events

    func handlerAdded(context: ChannelHandlerContext) { channelContext = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        channelContext = nil
        connectionLost()
    }

    func channelActive(context: ChannelHandlerContext) {
        // A refused connection reads, too: its answer depends on the request's `Origin`.
        if isRefused { read() } else { readWhenPermitted() }
    }

    /// Reads once the rate of the peer's address permits a connection, which is refused if that takes longer than a
    /// header may.
    private func readWhenPermitted() {
        guard let rates = context.addressRates else { return read() }
        let eventLoop = transport.channel.eventLoop
        let waitMs = peerIP().map { rates.begin($0, on: eventLoop) } ?? 0
        awaitsRate = waitMs > 0
        guard awaitsRate else { return read() }
        eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(waitMs)) { [weak self] in
            if let self, channelContext != nil, !finalResponseSent { readWhenPermitted() }
        }
    }

    func channelInactive(context: ChannelHandlerContext) { connectionLost() }

    private func connectionLost() {
        if case .handedOver = phase { return }
        transport.closed()
        releaseBodies()
        queue = []
        let exchange = current
        current = nil
        exchange?.connectionLost()
        detach()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        wholeRead = nil
        isReading = false
        dropIdleParser()
        readIfWanted()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { inputClosed() }
        context.fireUserInboundEventTriggered(event)
    }

    /// A peer that half-closes still gets its responses (RFC 9112 section 9.6), and the connection ends with the last
    /// of them. A peer that is gone altogether looks the same, so no request may keep waiting.
    private func inputClosed() {
        inputHasEnded = true
        switch phase {
        case .handedOver: return
        case .lingering: if transport.pendingBytes == 0 { transport.channel.close(promise: nil) }
        case .awaitingHead, .body, .failed:
            if let current { return current.inputEnded() }
            if isRefused, queue.isEmpty { return refuse() }
            if queue.isEmpty { finishConnection() }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? HTTPParserError {
            fail(HTTPFailure(parser: error, inTarget: !sawTargetEnd))
        } else {
            transport.abort()
        }
    }

    /// Refuses a connection that does not begin with an HTTP/1 request.
    func refuse() { fail(.overloaded) }

    /// Dispatches a request that this loop knows, without the parser.
    /// - Returns: whether that was done.
    func takesWhole(_ bytes: ByteBuffer) -> Bool {
        guard isBetweenRequests else { return false }
        if let attached, let isWeak = attached.known.isWeak(bytes, tag: attached.tag) {
            self.attached = nil
            let exchange = begin(attached.known.partial, attached.known)
            exchange.attachedTagIsWeak = isWeak
            if attached.attachment.continues(exchange) { return true }
            let tag = (isWeak ? "W/" : "") + String(decoding: attached.tag, as: UTF8.self)
            handle(attached.known.partial, exchange, ifNoneMatch: tag, memo: attached.known.memo)
            return true
        }
        guard let (known, ifNoneMatch) = transport.table.repeated.find(bytes) else { return false }
        dispatch(known.partial, known, ifNoneMatch: ifNoneMatch, memo: known.memo)
        return true
    }

    /// Whether the next bytes begin a request that can be answered at once.
    private var isBetweenRequests: Bool {
        guard case .awaitingHead(begun: false) = phase, isParserClean, !wasParserRestarted, !isParserStopped,
            current == nil, queue.isEmpty, !isRefused
        else { return false }
        return !finalResponseSent && !isAdvancing && transport.pendingBytes == 0 && !transport.isDead
    }

    func bytesArrive(_ bytes: ByteBuffer) {
        wholeRead = isBetweenRequests ? bytes : nil
        wasParserClean = isParserClean
        isParserClean = false
        endedInRead = (0, 0)
        guard case .awaitingHead(let begun) = phase else { return }
        if !begun {
            phase = .awaitingHead(begun: true)
            sawTargetEnd = false
            if current == nil, !isRefused { setDeadline(context.configuration.headerTimeoutMs) }
        }
        if !sawTargetEnd { sawTargetEnd = bytes.readableBytesView.contains(UInt8(ascii: "\n")) }
        if headerBytes == nil {
            headerBytes = bytes
        } else if headerBytes?.readableBytes ?? 0 < context.configuration.headerBytesMax {
            headerBytes?.writeImmutableBuffer(bytes)
        }
    }

    func bytesParsed(_ bytes: ByteBuffer) {
        guard case .awaitingHead(begun: false) = phase else { return }
        isParserClean =
            bytes.readableBytesView.suffix(4).elementsEqual(Self.headEnd)
            || wasParserClean && endedInRead.requests == 1 && isOneRequest(bytes)
    }

    /// Whether bytes that begin with a request and its body hold nothing else.
    private func isOneRequest(_ bytes: ByteBuffer) -> Bool {
        let headBytes = bytes.readableBytes - endedInRead.bodyBytes
        return headBytes >= 4 && bytes.readableBytesView.prefix(headBytes).suffix(4).elementsEqual(Self.headEnd)
    }

    private static let headEnd = Array("\r\n\r\n".utf8)

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            guard case .awaitingHead = phase else { return }
            headerBytes = nil
            if isRefused { return fail(.overloaded, origin: head.headers.first(name: "origin")) }
            do {
                let request = try PartialRequest(head, self.context.configuration)
                phase = .body(request)
                continueIsDue = request.expectsContinue
                if current == nil { setDeadline(self.context.configuration.bodyTimeoutMs) }
                advance()
            } catch {
                fail(error, origin: head.headers.first(name: "origin"))
            }
        case .body(var bytes):
            guard case .body(var request) = phase else { return }
            phase = .failed  // releases the only other reference: the body grows in place
            continueIsDue = false
            let count = bytes.readableBytes
            if request.body.readableBytes + count > self.context.configuration.bodyBytesMax {
                fail(.bodyTooLarge, origin: request.origin)
            } else if !holdsBody(count, of: request) {
                fail(.bodiesFull, origin: request.origin)
            } else {
                request.body.writeBuffer(&bytes)
                phase = .body(request)
            }
        case .end:
            guard case .body(let request) = phase else { return }
            continueIsDue = false
            phase = .awaitingHead(begun: false)
            sawTargetEnd = false
            guard queue.count < self.context.configuration.pipelinedMax else { return context.close(promise: nil) }
            queue.append(.request(request))
            endedInRead = (endedInRead.requests + 1, request.body.readableBytes)
            advance()
        }
    }

    // MARK: One request after the other

    private func fail(_ failure: HTTPFailure, origin: String? = nil) {
        let failure = isRefused ? .overloaded : failure
        var origin = origin
        switch phase {
        case .lingering, .handedOver: return
        case .awaitingHead: origin = origin ?? headerBytes.flatMap { PartialRequest.origin(in: $0.readableBytesView) }
        case .body(let request): origin = request.origin
        case .failed: break
        }
        headerBytes = nil
        guard !finalResponseSent else { return }
        if !isRefused { context.counters.peerErrorsTotal.increment() }
        phase = .failed
        continueIsDue = false
        queue.append(.failure(failure, origin: origin))
        advance()
    }

    /// Dispatches queued requests while each is answered at once and the peer accepts the responses.
    private func advance() {
        guard !isAdvancing else { return }
        isAdvancing = true
        defer { isAdvancing = false }
        while current == nil, !queue.isEmpty, !finalResponseSent, transport.pendingBytes == 0, !transport.isDead {
            switch queue.removeFirst() {
            case .request(let request):
                let memo = wholeRead.flatMap { transport.table.repeated.learn($0, request) }
                wholeRead = nil
                dispatch(request, memo: memo)
            case .failure(let failure, let origin): answer(failure, origin: origin)
            }
        }
        guard current == nil, queue.isEmpty, !finalResponseSent else { return }
        if continueIsDue {
            continueIsDue = false
            transport.write(ByteBuffer(staticString: "HTTP/1.1 100 Continue\r\n\r\n"))
        }
    }

    private func dispatch(
        _ partial: PartialRequest, _ known: RepeatedRequests.Known? = nil, ifNoneMatch: String? = nil,
        memo: RequestMemo? = nil
    ) {
        detach()
        handle(partial, begin(partial, known), ifNoneMatch: ifNoneMatch, memo: memo)
    }

    private func begin(_ partial: PartialRequest, _ known: RepeatedRequests.Known?) -> HTTPExchange {
        context.counters.requestsTotal.increment()
        let exchange = HTTPExchange(
            transport: transport, isHead: partial.isHead, isHTTP10: partial.isHTTP10, keepAlive: partial.keepAlive,
            prefersGzip: partial.prefersGzip, isRepeated: known != nil
        ) { [unowned self] keepAlive in
            answered(keepAlive: keepAlive)
        }
        current = exchange
        currentKnown = known
        if inputHasEnded { exchange.inputEnded() }
        isParserStopped = partial.wantsUpgrade
        currentBodyBytes = partial.body.readableBytes
        deadlineMs = ConnectionTable.never
        return exchange
    }

    private func handle(
        _ partial: PartialRequest, _ exchange: HTTPExchange, ifNoneMatch: String?, memo: RequestMemo?
    ) {
        let remoteAddress = transport.channel.remoteAddress
        let request = partial.request(
            remoteAddress: remoteAddress, remoteIP: peerIP(), ifNoneMatch: ifNoneMatch, memo: memo)
        guard partial.isWebSocket else {
            context.handler.handle(request, exchange)
            return
        }
        do {
            try upgrade(request, partial, exchange)
        } catch {
            context.counters.peerErrorsTotal.increment()
            answer(error, origin: partial.origin)
        }
    }

    private func answer(_ failure: HTTPFailure, origin: String?) {
        current = nil
        if failure.mayInterruptPeer { discard = context.configuration.refusedInput }
        let exchange = HTTPExchange(transport: transport, isHead: false, isHTTP10: false, keepAlive: false) {
            [unowned self] _ in finishConnection()
        }
        var headers = failure.headers
        headers.add(name: "content-type", value: "application/json")
        headers.add(contentsOf: context.handler.failureHeaders(origin: origin))
        exchange.respond(failure.status, headers: headers, body: failure.body)
    }

    private func answered(keepAlive: Bool) {
        let left = current?.left
        let known = currentKnown
        current = nil
        currentKnown = nil
        currentTakesLong = false
        releaseBody(currentBodyBytes)
        currentBodyBytes = 0
        if let left, let known {
            let untilMs = MonotonicClock.nowMs() + left.ms
            attached = Attached(attachment: left.attachment, known: known, tag: left.tag, untilMs: untilMs)
            transport.table.expect(transport, by: untilMs)
        }
        guard keepAlive, !inputHasEnded || !queue.isEmpty else { return finishConnection() }
        setDeadline(context.configuration.idleTimeoutMs)
        switch phase {
        case .awaitingHead(begun: true): setDeadline(context.configuration.headerTimeoutMs)
        case .body: setDeadline(context.configuration.bodyTimeoutMs)
        case .awaitingHead(begun: false), .failed, .lingering, .handedOver: break
        }
        if isParserStopped {
            isParserStopped = false
            restartParser()
        }
        advance()
        readIfWanted()
    }

    /// Reserves more bytes for a request's body. The client of the first one is charged for those that follow it before
    /// it is answered.
    private func holdsBody(_ bytes: Int, of request: PartialRequest) -> Bool {
        if bodyBytesHeld.count == 0, let addresses = context.addresses, let peer = peerIP() {
            bodyBytesHeld.charge(addresses.client(peer, request.forwarded))
        }
        return context.bodies.change(&bodyBytesHeld, to: bodyBytesHeld.count + bytes)
    }

    private func peerIP() -> String? {
        if remoteIP == nil { remoteIP = transport.channel.remoteAddress?.ipAddress }
        return remoteIP
    }

    private func releaseBody(_ bytes: Int) {
        _ = context.bodies.change(&bodyBytesHeld, to: bodyBytesHeld.count - bytes)
    }

    /// Releases every reservation; no request of this connection continues here.
    private func releaseBodies() {
        releaseBody(bodyBytesHeld.count)
        currentBodyBytes = 0
    }

    /// Ends this handler's responsibility; the connection's new owner takes over.
    func leaveConnection() {
        phase = .handedOver
        current = nil
        releaseBodies()
    }

    // MARK: The parser of an idle connection

    func responseTakesLong() {
        currentTakesLong = current != nil
        dropIdleParser()
    }

    /// Removes the parser while a response takes long and no part of another request has come.
    private func dropIdleParser() {
        guard currentTakesLong, let decoder, isParserClean, !wasParserRestarted, !isParserStopped, queue.isEmpty,
            case .awaitingHead(begun: false) = phase, let channelContext
        else { return }
        self.decoder = nil
        isParserLeaving = true
        // NIO removes it on the loop's next turn.
        let removed = channelContext.eventLoop.makePromise(of: Void.self)
        removed.futureResult.assumeIsolated().whenComplete { [self] _ in
            isParserLeaving = false
            let held = held
            self.held = []
            for bytes in held where self.channelContext != nil {
                channelContext.pipeline.syncOperations.fireChannelRead(NIOAny(bytes))
            }
            if !held.isEmpty { channelContext.pipeline.fireChannelReadComplete() }
        }
        channelContext.pipeline.syncOperations.removeHandler(decoder, promise: removed)
    }

    /// Keeps input until the parser has been removed.
    /// - Returns: whether it is kept.
    func holds(_ bytes: ByteBuffer) -> Bool {
        if isParserLeaving { held.append(bytes) }
        return isParserLeaving
    }

    func addMissingParser() {
        guard decoder == nil, let pipeline = channelContext?.pipeline.syncOperations else { return }
        let new = Self.makeDecoder(context.configuration)
        do {
            try pipeline.addHandler(new, position: .after(wire))
            decoder = new
        } catch {
            transport.abort()
        }
    }

    /// Replaces the parser, which stops after a request with `Upgrade`; used when the upgrade is not accepted.
    private func restartParser() {
        guard let pipeline = channelContext?.pipeline.syncOperations, let old = decoder else { return }
        wasParserRestarted = true
        let new = Self.makeDecoder(context.configuration)
        decoder = new
        do {
            try pipeline.addHandler(new, position: .after(old))
            pipeline.removeHandler(old, promise: nil)
        } catch {
            transport.abort()
        }
    }

    private func readIfWanted() {
        switch phase {
        case .failed where !finalResponseSent: return
        case .handedOver: return
        case .awaitingHead, .body, .failed, .lingering: break
        }
        if finalResponseSent { return read() }
        guard queue.isEmpty, transport.pendingBytes == 0 else { return }
        if current == nil || mayReadAhead { read() }
    }

    /// Whether to read while a request is being answered. Not with TLS: the peer's close_notify would close the
    /// connection before the response.
    private var mayReadAhead: Bool {
        guard case .awaitingHead(begun: false) = phase else { return false }
        return !isParserStopped && below == nil
    }

    private func read() {
        guard !isReading else { return }
        isReading = true
        channelContext?.read()
    }

    private func detach() {
        guard let attached else { return }
        self.attached = nil
        attached.attachment.detached()
    }

    private func finishConnection() {
        detach()
        guard !finalResponseSent else { return }
        finalResponseSent = true
        queue = []
        phase = .lingering
        wire.linger(bytesMax: discard.bytesMax)
        if transport.pendingBytes == 0 { beginLinger() }
    }

    private func beginLinger() {
        guard !inputHasEnded else { return transport.channel.close(promise: nil) }
        transport.closeOutput()
        setDeadline(discard.timeoutMs)
        read()
    }

    // MARK: ConnectionOwner

    private func setDeadline(_ afterMs: Int64) {
        deadlineMs = MonotonicClock.nowMs() + afterMs
        transport.table.expect(transport, by: deadlineMs)
    }

    func deadlineReached(nowMs: Int64) -> Int64 {
        current?.deadlineReached(nowMs: nowMs)
        if let attached, attached.untilMs <= nowMs { detach() }
        return min(ownDeadlineReached(nowMs: nowMs), attached?.untilMs ?? ConnectionTable.never)
    }

    private func ownDeadlineReached(nowMs: Int64) -> Int64 {
        if let stall = transport.stallDeadlineMs {
            if stall > nowMs { return min(stall, current?.deadlineMs ?? ConnectionTable.never) }
            context.counters.peersCutOffTotal.increment()
            transport.abort()
            return ConnectionTable.never
        }
        if deadlineMs > nowMs { return min(deadlineMs, current?.deadlineMs ?? ConnectionTable.never) }
        deadlineMs = ConnectionTable.never
        switch phase {
        case .lingering: transport.channel.close(promise: nil)
        case .awaitingHead(begun: false) where current == nil && !isRefused && !awaitsRate: finishConnection()
        case .awaitingHead, .body: if current == nil { fail(awaitsRate ? .overloaded : .requestTimeout) }
        case .failed, .handedOver: break
        }
        return deadlineMs
    }

    func pendingBytesDecreased() {
        current?.pendingBytesDecreased()
        guard transport.pendingBytes == 0 else { return }
        if finalResponseSent {
            beginLinger()
        } else {
            advance()
            readIfWanted()
        }
    }

    func drain() {
        if let current, current.isAbandonedAtEnd { current.abandonStream() }
        if current == nil, queue.isEmpty, case .awaitingHead(begun: false) = phase { finishConnection() }
    }
}

@available(*, unavailable)
extension HTTP1Handler: Sendable {}
