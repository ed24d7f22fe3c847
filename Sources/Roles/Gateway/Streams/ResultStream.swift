import Catalog
package import Execution
package import HTTPServer
package import LiveModel
import NIOCore
package import NIOHTTP1
import Operations
package import Sessions

/// An HTTP response that stays open and carries every result of a live query, as an event stream or a multipart
/// response. For a slow client only the newest result is kept.
package final class ResultStream: LiveSession {
    private let session: HTTPSession
    private let format: StreamFormat
    private var handle: LoopHub.Handle?
    private var keepAlive: RepeatedTask?
    private var expiry: Scheduled<Void>?
    private var outbox: DeliveryOutbox<SharedResult>
    private var delta: DeltaState
    private var isOver = false

    private init(_ session: HTTPSession, as format: StreamFormat, delta: DeltaState, bytesMax: Int) {
        self.session = session
        self.format = format
        self.delta = delta
        self.outbox = DeliveryOutbox(bytesMax: bytesMax)
    }

    private var exchange: HTTPExchange { session.exchange }
    private var hub: LoopHub { session.hub }

    /// - Parameters:
    ///   - known: the result that the client already has.
    ///   - wantsDelta: whether results may be sent as patches.
    ///   - headers: headers of the response in addition to its type.
    package static func start(
        _ session: HTTPSession, as format: StreamFormat, known: KnownResult?, wantsDelta: Bool,
        headers: HTTPHeaders, limits: SessionLimits
    ) {
        let stream = ResultStream(
            session, as: format, delta: DeltaState(wantsDelta && format.hasDeltas, held: known?.digest),
            bytesMax: limits.bytesMax)
        session.register(stream)
        stream.open(headers: headers, keepAliveMs: limits.keepAliveMs)
        // The client may have disconnected.
        if stream.isOver { return }
        // The identity may have been revoked since it was authenticated.
        if let refusal = session.identityRefusal { return stream.fail(refusal) }
        do throws(RequestError) {
            let (handle, immediate) = try stream.hub.subscribe(
                stream, id: "", query: session.resolved.liveQuery, known: known)
            stream.handle = handle
            if let immediate { stream.deliver(immediate, id: "") }
        } catch {
            stream.fail(error)
        }
    }

    private func open(headers: HTTPHeaders, keepAliveMs: Int64) {
        let eventLoop = hub.eventLoop
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        exchange.startStream(.ok, headers: Self.headers(headers, format))
        exchange.write(ByteBuffer(bytes: format.opening))
        let interval = TimeAmount.milliseconds(keepAliveMs)
        keepAlive = eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in
            let stream = bound.value
            if stream.exchange.pendingBytes == 0 {
                stream.exchange.write(ByteBuffer(bytes: stream.format.keepAlive))
            }
        }
        if let expiresAtMs = session.identity.expiresAtMs {
            let delayMs = max(0, expiresAtMs - session.executor.clock.nowMs())
            expiry = eventLoop.scheduleTask(in: .milliseconds(delayMs)) { bound.value.fail(.tokenExpired) }
        }
        exchange.onDrained { bound.value.drained() }
        exchange.onClose { bound.value.close() }
    }

    /// Adds the headers that keep intermediaries from buffering the response.
    package static func headers(_ headers: HTTPHeaders, _ format: StreamFormat) -> HTTPHeaders {
        var headers = headers
        headers.replaceOrAdd(name: "content-type", value: format.contentType)
        headers.replaceOrAdd(name: "cache-control", value: "no-cache")
        headers.replaceOrAdd(name: "x-accel-buffering", value: "no")
        return headers
    }

    package func deliver(_ delivery: SessionDelivery, id: String) {
        guard !isOver else { return }
        if session.resolved.operation.auth.readsRequestTime, let refusal = session.authorizationRefusal {
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

    /// Ends the stream; the client reconnects elsewhere.
    package func goAway() {
        end(with: format.leaving)
    }

    package func recheckIdentity() {
        if let refusal = session.identityRefusal { fail(refusal) }
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
        session.permit.end()
    }

    package var protocolName: String {
        switch format {
        case .resource: "event-stream"
        case .graphQLSSE: "graphql-sse"
        case .multipart: "multipart"
        }
    }
}
