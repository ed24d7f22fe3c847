import Catalog
package import Execution
package import HTTPServer
package import LiveModel
import NIOCore
package import NIOHTTP1
import Operations
package import Sessions

/// One HTTP answer that stays open and carries every result of a live query: an event stream or a multipart answer. A
/// slow client holds one pending result, the newest.
package final class ResultStream: LiveSession {
    private let exchange: HTTPExchange
    private let format: StreamFormat
    private let hub: LoopHub
    private let resolved: ResolvedOperation
    private let clock: ServiceClock
    private let refusal: () -> RequestError?
    private var handle: LoopHub.Handle?
    private var keepAlive: RepeatedTask?
    private var expiry: Scheduled<Void>?
    private var outbox: DeliveryOutbox<SharedResult>
    private var delta = DeltaState.off
    private var isOver = false
    private var onClosed: () -> Void = {}

    private init(
        _ exchange: HTTPExchange, format: StreamFormat, hub: LoopHub, resolved: ResolvedOperation, bytesMax: Int,
        clock: ServiceClock, refusal: @escaping () -> RequestError?
    ) {
        self.exchange = exchange
        self.format = format
        self.hub = hub
        self.resolved = resolved
        self.clock = clock
        self.refusal = refusal
        self.outbox = DeliveryOutbox(bytesMax: bytesMax)
    }

    /// - Parameters:
    ///   - known: what the client holds already.
    ///   - wantsDelta: results may come as patches.
    ///   - headers: of the answer, besides its type.
    ///   - refusal: why the client's identity counts no more; nil: it does.
    package static func start(
        _ resolved: ResolvedOperation, as format: StreamFormat, known: KnownResult?, wantsDelta: Bool,
        expiresAtMs: Int64?,
        limits: SessionLimits, hub: LoopHub, exchange: HTTPExchange, headers: HTTPHeaders, clock: ServiceClock,
        refusal: @escaping () -> RequestError?, register: (ResultStream) -> UInt64, onClosed: @escaping (UInt64) -> Void
    ) {
        let stream = ResultStream(
            exchange, format: format, hub: hub, resolved: resolved, bytesMax: limits.bytesMax, clock: clock,
            refusal: refusal)
        stream.delta = DeltaState(wantsDelta && format.hasDeltas, held: known?.digest)
        let id = register(stream)
        stream.onClosed = { onClosed(id) }
        let bound = NIOLoopBound(stream, eventLoop: hub.eventLoop)
        exchange.startStream(.ok, headers: Self.headers(headers, format))
        exchange.write(ByteBuffer(bytes: format.opening))
        stream.keepAlive = hub.eventLoop.scheduleRepeatedTask(
            initialDelay: .milliseconds(limits.keepAliveMs), delay: .milliseconds(limits.keepAliveMs)
        ) { _ in
            let stream = bound.value
            if stream.exchange.pendingBytes == 0 {
                stream.exchange.write(ByteBuffer(bytes: stream.format.keepAlive))
            }
        }
        if let expiresAtMs {
            stream.expiry = hub.eventLoop.scheduleTask(in: .milliseconds(max(0, expiresAtMs - clock.nowMs()))) {
                bound.value.fail(.tokenExpired)
            }
        }
        exchange.onDrained { bound.value.drained() }
        exchange.onClose { bound.value.close() }
        // It may have been revoked since it was judged.
        if let refusal = refusal() { return stream.fail(refusal) }
        do {
            let handle = try hub.subscribe(stream, id: "", query: resolved.liveQuery, known: known)
            if stream.isOver { hub.unsubscribe(handle) } else { stream.handle = handle }
        } catch {
            stream.fail(error)
        }
    }

    /// Headers of an answer that no intermediary is to hold back.
    package static func headers(_ headers: HTTPHeaders, _ format: StreamFormat) -> HTTPHeaders {
        var headers = headers
        headers.replaceOrAdd(name: "content-type", value: format.contentType)
        headers.replaceOrAdd(name: "cache-control", value: "no-cache")
        headers.replaceOrAdd(name: "x-accel-buffering", value: "no")
        return headers
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
            if case .on = delta { delta = .on(held: nil) }
            exchange.write(ByteBuffer(bytes: format.refreshFailed([error])))
        }
    }

    private func drained() {
        while !isOver, exchange.pendingBytes == 0, let (_, shared) = outbox.next() { write(shared) }
    }

    private func write(_ shared: SharedResult) {
        if case .on(let held) = delta {
            delta = .on(held: shared.result.digest)
            defer { hub.deltas.remember(shared.result.digest, shared.result.answer) }
            if let held, let text = shared.delta(from: held, as: format, &hub.deltas) { return exchange.write(text) }
        }
        exchange.write(shared.text(as: format))
    }

    private func fail(_ error: RequestError) {
        end(with: format.failed([error]))
    }

    /// The node drains: the client comes back elsewhere.
    package func goAway() {
        end(with: format.leaving)
    }

    package func recheckIdentity() {
        if let refusal = refusal() { fail(refusal) }
    }

    private func end(with last: [UInt8]) {
        guard !isOver else { return }
        exchange.write(ByteBuffer(bytes: last))
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

    package var protocolName: String {
        switch format {
        case .resource: "event-stream"
        case .graphQLSSE: "graphql-sse"
        case .multipart: "multipart"
        }
    }
}
