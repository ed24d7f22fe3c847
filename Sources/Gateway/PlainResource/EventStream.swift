internal import Catalog
package import Execution
package import HTTPServer
package import LiveModel
package import NIOCore
package import NIOHTTP1
package import Sessions

/// One `text/event-stream` answer: every result of a live query as an event `next`, its entity tag as the event's id, so
/// that `Last-Event-ID` resumes on any gateway. A slow client holds one pending result, the newest.
package final class EventStream: LiveSession {
    private let exchange: HTTPExchange
    private let hub: LoopHub
    private let resolved: ResolvedOperation
    private let clock: ServiceClock
    private var handle: LoopHub.Handle?
    private var keepAlive: RepeatedTask?
    private var expiry: Scheduled<Void>?
    private var outbox: DeliveryOutbox<SharedResult>
    private var isOver = false
    private var onClosed: () -> Void = {}

    private init(
        _ exchange: HTTPExchange, hub: LoopHub, resolved: ResolvedOperation, bytesMax: Int, clock: ServiceClock
    ) {
        self.exchange = exchange
        self.hub = hub
        self.resolved = resolved
        self.clock = clock
        self.outbox = DeliveryOutbox(bytesMax: bytesMax)
    }

    package static func start(
        _ resolved: ResolvedOperation, known: KnownResult?, expiresAtMs: Int64?, limits: SessionLimits, hub: LoopHub,
        exchange: HTTPExchange, headers: HTTPHeaders, clock: ServiceClock, register: (EventStream) -> UInt64,
        onClosed: @escaping (UInt64) -> Void
    ) {
        let stream = EventStream(exchange, hub: hub, resolved: resolved, bytesMax: limits.bytesMax, clock: clock)
        let id = register(stream)
        stream.onClosed = { onClosed(id) }
        let bound = NIOLoopBound(stream, eventLoop: hub.eventLoop)
        var headers = headers
        headers.replaceOrAdd(name: "content-type", value: "text/event-stream")
        headers.replaceOrAdd(name: "cache-control", value: "no-cache")
        exchange.startStream(.ok, headers: headers)
        exchange.write(ByteBuffer(bytes: ServerSentEvent.keepAlive))
        stream.keepAlive = hub.eventLoop.scheduleRepeatedTask(
            initialDelay: .milliseconds(limits.keepAliveMs), delay: .milliseconds(limits.keepAliveMs)
        ) { _ in
            let stream = bound.value
            if stream.exchange.pendingBytes == 0 { stream.exchange.write(ByteBuffer(bytes: ServerSentEvent.keepAlive)) }
        }
        if let expiresAtMs {
            stream.expiry = hub.eventLoop.scheduleTask(in: .milliseconds(max(0, expiresAtMs - clock.nowMs()))) {
                bound.value.fail(RequestError(.unauthenticated, "the token has expired"))
            }
        }
        exchange.onDrained { bound.value.drained() }
        exchange.onClose { bound.value.close() }
        do {
            let handle = try hub.subscribe(stream, id: "", query: resolved.liveQuery, known: known)
            if stream.isOver { hub.unsubscribe(handle) } else { stream.handle = handle }
        } catch {
            stream.fail(error)
        }
    }

    package func deliver(_ delivery: SessionDelivery, id: String) {
        guard !isOver else { return }
        if resolved.operation.auth.readsRequestTime,
            let refusal = resolved.operation.authorize(
                auth: resolved.auth, variables: resolved.variables, nowMs: clock.nowMs())
        {
            return fail(refusal)
        }
        switch delivery {
        case .result(let shared):
            switch outbox.offer(shared, id: "", bytes: shared.byteCount, unwrittenBytes: exchange.pendingBytes) {
            case .write: write(shared)
            case .hold: break
            case .close: fail(RequestError(.limitExceeded, "the client reads too slowly"))
            }
        case .failed(let error):
            outbox.discard(id: "")
            exchange.write(
                ByteBuffer(bytes: ServerSentEvent.event("error", id: nil, data: ResultEnvelope.errors([error]))))
        }
    }

    private func write(_ shared: SharedResult) {
        let tag = EntityTag(KnownResult(digest: shared.result.digest, position: shared.result.position))
        exchange.write(
            ByteBuffer(
                bytes: ServerSentEvent.event("next", id: tag.bare, data: ResultEnvelope.data(shared.result.body))))
    }

    private func drained() {
        while !isOver, exchange.pendingBytes == 0, let (_, shared) = outbox.next() { write(shared) }
    }

    private func fail(_ error: RequestError) {
        guard !isOver else { return }
        exchange.write(
            ByteBuffer(bytes: ServerSentEvent.event("error", id: nil, data: ResultEnvelope.errors([error]))))
        exchange.write(ByteBuffer(bytes: ServerSentEvent.event("complete", id: nil, data: [])))
        exchange.end()
        close()
    }

    /// The node drains: the client reconnects by itself, elsewhere, with the last event's id.
    package func goAway() {
        guard !isOver else { return }
        exchange.end()
        close()
    }

    private func close() {
        guard !isOver else { return }
        isOver = true
        keepAlive?.cancel()
        expiry?.cancel()
        keepAlive = nil
        expiry = nil
        if let handle { hub.unsubscribe(handle) }
        handle = nil
        onClosed()
    }
}
