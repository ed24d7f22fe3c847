import Catalog
import Execution
import HTTPServer
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
    private var operation: FollowedOperation?
    private var timers = SessionTimers()
    private var results: DeliveryQueue<SharedResult>
    private var invalidations: FollowedInvalidations?
    private var isOver = false
    /// Why the live query is left, for the recorder; nil: the client leaves it.
    private var leaving: String?

    private init(
        _ session: HTTPSession, as format: StreamFormat, bytesMax: Int, invalidations: FollowedInvalidations?
    ) {
        self.session = session
        self.format = format
        self.invalidations = invalidations
        self.results = DeliveryQueue(bytesMax: bytesMax)
    }

    private var exchange: HTTPExchange { session.exchange }
    private var hub: LoopHub { session.hub }

    /// - Parameters:
    ///   - known: the result that the client already has.
    ///   - wantsDelta: whether results may be sent as patches.
    ///   - wantsTags: whether results come with their resume tags.
    ///   - invalidations: those that the client knows; nil: it does not ask for them.
    ///   - headers: headers of the response in addition to its type.
    package static func start(
        _ session: HTTPSession, as format: StreamFormat, known: KnownResult?, wantsDelta: Bool,
        wantsTags: Bool, invalidations: FollowedInvalidations? = nil, headers: HTTPHeaders, limits: SessionLimits
    ) {
        let tagged = wantsTags ? format.tagged : nil
        let stream = ResultStream(
            session, as: tagged ?? format, bytesMax: limits.bytesMax, invalidations: invalidations)
        let refusal = session.register(stream)
        stream.open(headers: headers, keepAliveMs: limits.keepAliveMs)
        // The client may have disconnected.
        if stream.isOver { return }
        if let refusal { return stream.fail(refusal) }
        stream.invalidate(session.executor.invalidations)
        do throws(RequestError) {
            let (handle, immediate) = try stream.hub.subscribe(
                stream, id: "", query: session.liveQuery, known: known, confirmsKnown: tagged != nil,
                client: session.permit.client)
            stream.operation = FollowedOperation(
                session.resolved, handle: handle,
                delta: DeltaState(wantsDelta && format.hasDeltas, held: known?.digest),
                resume: ResumeState(tagged != nil, held: known?.digest))
            if let immediate { stream.deliver(immediate, id: "") }
        } catch {
            stream.fail(error)
        }
    }

    private func open(headers: HTTPHeaders, keepAliveMs: Int64) {
        let eventLoop = hub.eventLoop
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        exchange.startStream(.ok, headers: Self.headers(headers, format), as: .result)
        exchange.write(ByteBuffer(bytes: format.opening))
        exchange.keepAlive(everyMs: keepAliveMs) { [exchange, format] in
            if exchange.pendingBytes == 0 { exchange.write(ByteBuffer(bytes: format.keepAlive)) }
        }
        timers.expiry = eventLoop.scheduleExpiry(of: session.identity, session.executor.clock) {
            if bound.value.session.needsToken { bound.value.fail(.tokenExpired, "token_expired") }
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
        guard let operation else { return }
        switch operation.deliver(
            delivery, id: "", into: &results, unwrittenBytes: exchange.pendingBytes, session.executor)
        {
        case .write(let shared): write(shared)
        case .confirm(let known):
            exchange.write(ByteBuffer(bytes: format.unchanged(EntityTag(known, of: operation.handle.key))))
        case .hold: break
        case .close: fail(RequestError(.limitExceeded, "the client reads too slowly"), "client_stalled")
        case .fail(let error): exchange.write(ByteBuffer(bytes: format.refreshFailed([error])))
        case .end(let refusal): fail(refusal, "auth_refused")
        }
    }

    private func drained() {
        while let (_, shared) = results.next(unwrittenBytes: exchange.pendingBytes) { write(shared) }
    }

    private func write(_ shared: SharedResult) {
        if operation?.isHeld(shared) == true {
            return exchange.write(ByteBuffer(bytes: format.unchanged(shared.tag)))
        }
        let patch = operation?.patch(to: shared, hub) { shared.delta(from: $0, as: format, &$1) }
        exchange.write(shared: patch ?? shared.text(as: format))
    }

    private func fail(_ error: RequestError, _ reason: String? = nil) {
        leaving = reason
        end(with: format.failed([error]))
    }

    /// Ends the stream; the client reconnects elsewhere.
    package func goAway() {
        leaving = "drained"
        end(with: format.leaving)
    }

    package func recheckIdentity() {
        if let refusal = session.identityRefusal { fail(refusal, "user_revoked") }
    }

    package func invalidate(_ invalidations: Invalidations) {
        guard !isOver, let told = self.invalidations?.told(of: invalidations), let text = format.invalidated(told)
        else { return }
        exchange.write(ByteBuffer(bytes: text))
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
        timers.cancel()
        let lingers = session.permit.end()
        if let operation { hub.unsubscribe(operation.handle, lingers: lingers) }
        operation = nil
        results.removeAll()
    }

    package var observed: ObservedSession? {
        ObservedSession(
            id: session.permit.id, uid: session.identity.auth?.uid ?? "", isBehind: exchange.pendingBytes > 0,
            leaving: leaving)
    }

    package var inspection: SessionInspection {
        SessionInspection(
            uid: session.identity.auth?.uid ?? "", expiresAtMs: session.identity.expiresAtMs,
            pendingBytes: exchange.pendingBytes, queuedResults: results.count,
            subscriptions: operation.map { operation in
                [
                    .init(
                        id: "", key: operation.handle.key, known: hub.known(operation.handle), isSuspended: false)
                ]
            } ?? [])
    }

    package var user: String? { session.identity.userName }
    package func followedKeys(max: Int) -> [LiveQueryKey] { [session.liveQuery.key] }
    package var protocolName: String {
        switch format {
        case .resource: "event-stream"
        case .graphQLSSE, .taggedGraphQLSSE: "graphql-sse"
        case .multipart, .multipartWithLengths: "multipart"
        }
    }
}
