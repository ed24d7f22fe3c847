import Clocks
import Logging
import NIOCore
import NIOHTTP1
import Synchronization

/// One connection's HTTP/1.1 conversation: gathers requests, lets the application answer one at a time and in order,
/// keeps limits and timeouts.
///
/// Reading is asked for explicitly and stops, while a request is being answered, as soon as anything more has come, so a
/// client that pipelines can have at most two receive buffers of requests queued here, and one that does not read its
/// answers gets no further ones made. (It would be one if reading stopped with the request; then each request would cost
/// two more system calls, to tell epoll so.)
///
/// Owned by its event loop.
final class HTTP1Handler: ChannelInboundHandler, RemovableChannelHandler, ConnectionOwner {
    typealias InboundIn = HTTPServerRequestPart

    /// Where in a request the parser is.
    private enum Phase {
        /// Between requests; `begun` once a byte of the next one has arrived.
        case awaitingHead(begun: Bool)
        case body(PartialRequest)
        /// A failure is queued or sent: nothing more is parsed.
        case failed
        /// Our last word is out: waiting for the peer to close.
        case lingering
        /// Another protocol has the connection.
        case handedOver
    }

    private enum Item {
        case request(PartialRequest)
        case failure(HTTPFailure)
    }

    let transport: Transport
    let context: ServerContext
    /// The last handler of those below (TLS), which this one hands connections over above.
    private(set) var below: (any ChannelHandler)?
    private(set) var wire: WireHandler!
    private(set) var decoder: ByteToMessageHandler<HTTPRequestDecoder>!
    private(set) var channelContext: ChannelHandlerContext?
    private var phase = Phase.awaitingHead(begun: false)
    /// Whole requests not yet given to the application; bounded by two receive buffers (`BurstAllocator.burstBytesMax`),
    /// and by `pipelinedMax`, since what a peer sent before its end is read at once, whatever it is.
    private var queue: [Item] = []
    private var current: HTTPExchange?
    /// Taken from the server's budget for bodies: of all requests here, and of the current one.
    private var bodyBytesHeld = 0
    private var currentBodyBytes = 0
    /// Behind a request that offers an upgrade, until it is answered.
    private var isParserStopped = false
    private var isAdvancing = false
    /// Asked for and not answered yet: asking again would only walk the pipeline.
    private var isReading = false
    private var continueIsDue = false
    private var sawTargetEnd = false
    private var lastWordSent = false
    /// The peer sends nothing more.
    private var inputHasEnded = false
    private var deadlineMs: Int64

    /// Adds the HTTP/1.1 handlers to an accepted channel, on its event loop.
    static func install(on channel: any Channel, table: ConnectionTable, refused: Bool) throws {
        let pipeline = channel.pipeline.syncOperations
        let tls = try table.context.tls?() ?? []
        for handler in tls { try pipeline.addHandler(handler) }
        let transport = Transport(channel: channel, table: table, direct: tls.isEmpty)
        // Over TLS the end of input is the end of the connection.
        if tls.isEmpty { try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true) }
        let handler = HTTP1Handler(transport: transport)
        handler.below = tls.last
        let wire = WireHandler(transport: transport, http1: handler)
        let decoder = Self.makeDecoder(table.context.configuration)
        handler.wire = wire
        handler.decoder = decoder
        if refused { handler.queue.append(.failure(.overloaded)) }
        try pipeline.addHandlers([wire, decoder, handler])
        transport.owner = handler
        table.add(transport, deadlineMs: handler.deadlineMs)
    }

    private init(transport: Transport) {
        self.transport = transport
        context = transport.table.context
        deadlineMs = MonotonicClock.nowMs() + context.configuration.headerTimeoutMs
    }

    // MARK: Channel events

    func handlerAdded(context: ChannelHandlerContext) { channelContext = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        channelContext = nil
        connectionLost()
    }

    func channelActive(context: ChannelHandlerContext) {
        if !queue.isEmpty {
            phase = .failed
            advance()
        }
        // Also for whom there is no room: over TLS nothing can be said before the peer has been heard.
        read()
    }

    func channelInactive(context: ChannelHandlerContext) { connectionLost() }

    private func connectionLost() {
        if case .handedOver = phase { return }
        transport.closed()
        giveBackBodies()
        queue = []
        let exchange = current
        current = nil
        exchange?.connectionLost()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        isReading = false
        readIfWanted()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { inputClosed() }
        context.fireUserInboundEventTriggered(event)
    }

    /// A peer that only sends no more gets its answers (RFC 9112 section 9.6 has both sides end on their own), and the
    /// connection ends with the last of them. Whether it is gone altogether cannot be seen, so nothing goes on waiting.
    private func inputClosed() {
        inputHasEnded = true
        switch phase {
        case .handedOver: return
        case .lingering: if transport.pendingBytes == 0 { transport.channel.close(promise: nil) }
        case .awaitingHead, .body, .failed:
            if let current { return current.inputEnded() }
            if queue.isEmpty { sendLastWord() }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if let error = error as? HTTPParserError {
            fail(HTTPFailure(parser: error, inTarget: !sawTargetEnd))
        } else {
            transport.abort()
        }
    }

    func bytesArrive(_ bytes: ByteBuffer) {
        guard case .awaitingHead(let begun) = phase else { return }
        if !begun {
            phase = .awaitingHead(begun: true)
            sawTargetEnd = false
            if current == nil { setDeadline(context.configuration.headerTimeoutMs) }
        }
        if !sawTargetEnd { sawTargetEnd = bytes.readableBytesView.contains(UInt8(ascii: "\n")) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            guard case .awaitingHead = phase else { return }
            do {
                let request = try PartialRequest(head, self.context.configuration)
                phase = .body(request)
                continueIsDue = request.expectsContinue
                if current == nil { setDeadline(self.context.configuration.bodyTimeoutMs) }
                advance()
            } catch {
                fail(error)
            }
        case .body(var bytes):
            guard case .body(var request) = phase else { return }
            phase = .failed  // so that the body is not copied while it grows
            continueIsDue = false
            let count = bytes.readableBytes
            if request.body.readableBytes + count > self.context.configuration.bodyBytesMax {
                fail(.bodyTooLarge)
            } else if !self.context.bodies.take(count) {
                fail(.bodiesFull)
            } else {
                bodyBytesHeld += count
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
            advance()
        }
    }

    // MARK: One request after the other

    private func fail(_ failure: HTTPFailure) {
        switch phase {
        case .lingering, .handedOver: return
        case .awaitingHead, .body, .failed: break
        }
        guard !lastWordSent else { return }
        context.counters.peerErrorsTotal.increment()
        phase = .failed
        continueIsDue = false
        queue.append(.failure(failure))
        advance()
    }

    /// Gives out queued requests as long as each is answered at once and the peer takes the answers.
    private func advance() {
        guard !isAdvancing else { return }
        isAdvancing = true
        defer { isAdvancing = false }
        while current == nil, !queue.isEmpty, !lastWordSent, transport.pendingBytes == 0, !transport.isDead {
            switch queue.removeFirst() {
            case .request(let request): dispatch(request)
            case .failure(let failure): answer(failure)
            }
        }
        guard current == nil, queue.isEmpty, !lastWordSent else { return }
        if continueIsDue {
            continueIsDue = false
            transport.write(ByteBuffer(staticString: "HTTP/1.1 100 Continue\r\n\r\n"))
        }
    }

    private func dispatch(_ partial: PartialRequest) {
        context.counters.requestsTotal.increment()
        let request = partial.request(remoteAddress: transport.channel.remoteAddress)
        let exchange = HTTPExchange(
            transport: transport, isHead: request.method == .HEAD, isHTTP10: partial.isHTTP10,
            keepAlive: partial.keepAlive
        ) { [unowned self] keepAlive in
            answered(keepAlive: keepAlive)
        }
        current = exchange
        if inputHasEnded { exchange.inputEnded() }
        isParserStopped = partial.wantsUpgrade
        currentBodyBytes = request.body.readableBytes
        deadlineMs = ConnectionTable.never
        guard partial.isWebSocket else {
            context.handler.handle(request, exchange)
            return
        }
        do {
            try upgrade(request, partial, exchange)
        } catch {
            context.counters.peerErrorsTotal.increment()
            answer(error)
        }
    }

    private func answer(_ failure: HTTPFailure) {
        current = nil
        let exchange = HTTPExchange(transport: transport, isHead: false, isHTTP10: false, keepAlive: false) {
            [unowned self] _ in sendLastWord()
        }
        var headers = failure.headers
        headers.add(name: "content-type", value: "application/json")
        exchange.respond(failure.status, headers: headers, body: failure.body)
    }

    private func answered(keepAlive: Bool) {
        current = nil
        giveBack(currentBodyBytes)
        currentBodyBytes = 0
        guard keepAlive, !inputHasEnded || !queue.isEmpty else { return sendLastWord() }
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

    private func giveBack(_ bytes: Int) {
        context.bodies.give(bytes)
        bodyBytesHeld -= bytes
    }

    /// No request of this connection goes on here.
    private func giveBackBodies() {
        giveBack(bodyBytesHeld)
        currentBodyBytes = 0
    }

    /// Whoever has the connection now answers for it.
    func leaveConnection() {
        phase = .handedOver
        current = nil
        giveBackBodies()
    }

    /// The parser stops behind a request with `Upgrade`; when we do not take the offer, a new one continues after it.
    private func restartParser() {
        guard let pipeline = channelContext?.pipeline.syncOperations, let old = decoder else { return }
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
        case .failed where !lastWordSent: return
        case .handedOver: return
        case .awaitingHead, .body, .failed, .lingering: break
        }
        if lastWordSent { return read() }
        guard queue.isEmpty, transport.pendingBytes == 0 else { return }
        if current == nil || mayReadAhead { read() }
    }

    /// Over TLS a peer that says it sends no more would be closed by that before it is answered.
    private var mayReadAhead: Bool {
        guard case .awaitingHead(begun: false) = phase else { return false }
        return !isParserStopped && below == nil
    }

    private func read() {
        guard !isReading else { return }
        isReading = true
        channelContext?.read()
    }

    private func sendLastWord() {
        guard !lastWordSent else { return }
        lastWordSent = true
        queue = []
        phase = .lingering
        wire.linger()
        if transport.pendingBytes == 0 { beginLinger() }
    }

    private func beginLinger() {
        guard !inputHasEnded else { return transport.channel.close(promise: nil) }
        transport.closeOutput()
        setDeadline(context.configuration.lingerTimeoutMs)
        read()
    }

    // MARK: ConnectionOwner

    private func setDeadline(_ afterMs: Int64) {
        deadlineMs = MonotonicClock.nowMs() + afterMs
        transport.table.expect(transport, by: deadlineMs)
    }

    func deadlineReached(nowMs: Int64) -> Int64 {
        if let stall = transport.stallDeadlineMs {
            if stall > nowMs { return stall }
            context.counters.peersCutOffTotal.increment()
            transport.abort()
            return ConnectionTable.never
        }
        if deadlineMs > nowMs { return deadlineMs }
        deadlineMs = ConnectionTable.never
        switch phase {
        case .lingering: transport.channel.close(promise: nil)
        case .awaitingHead(begun: false) where current == nil: sendLastWord()
        case .awaitingHead, .body: if current == nil { fail(.requestTimeout) }
        case .failed, .handedOver: break
        }
        return deadlineMs
    }

    func pendingBytesFell() {
        current?.pendingBytesFell()
        guard transport.pendingBytes == 0 else { return }
        if lastWordSent {
            beginLinger()
        } else {
            advance()
            readIfWanted()
        }
    }

    func drain() {
        if current == nil, queue.isEmpty, case .awaitingHead(begun: false) = phase { sendLastWord() }
    }
}

@available(*, unavailable)
extension HTTP1Handler: Sendable {}
