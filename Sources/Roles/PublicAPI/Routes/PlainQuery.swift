import Catalog
import Execution
import Gateway
import HTTPServer
import JSON
import LiveModel
import NIOCore
import NIOHTTP1
import Observability
import Operations
import Sessions
import Synchronization

/// `GET /v1/connectors/C/queries/OP?variables={…}`: one-shot with `ETag`; long-poll with `Prefer: wait=N` and
/// `If-None-Match` (304 when nothing changed); an event stream by `Accept: text/event-stream`.
extension PublicRouter {
    func query(_ call: Call, connector: String, operation: String) {
        guard call.request.method == .GET || call.request.method == .HEAD else { return call.methodNotAllowed("GET") }
        let produced = ["application/json", "text/event-stream", "application/json-patch+json"]
        guard Preferences.allows(produced, in: call.request.header("accept")) else {
            return call.fail(
                RequestError(.notAcceptable, "only application/json and text/event-stream are produced"))
        }
        let isStream =
            call.request.method == .GET
            && Preferences.accepts("text/event-stream", in: call.request.header("accept") ?? "")
        let waitMs = call.request.header("prefer").flatMap {
            Preferences.waitMs($0, maximumMs: settings.longPollMaxMs)
        }
        let tag = call.request.header("if-none-match").flatMap { EntityTag(ifNoneMatch: $0) }
        if gateway != nil,
            PollRules.countsAsSession(isStream: isStream, isPoll: waitMs != nil, hasTag: tag != nil)
        {
            do throws(RequestError) {
                try admitSession(from: address(of: call.request))
            } catch {
                return call.fail(error)
            }
        }
        perform(call) { identity throws(RequestError) in
            let variables = try call.request.jsonObject(inQuery: "variables")
            let version = self.executor.projectVersion
            let resolved = try self.executor.resolve(
                OperationRequest(connector: connector, operationName: operation, variables: variables),
                for: identity, .only(.query, hint: ": POST it to …/mutations/\(operation)"))
            if isStream {
                try self.eventStream(call, resolved, identity)
                return
            }
            let liveQuery = resolved.liveQuery
            let known = tag?.known(of: liveQuery.key)
            // An API key is compared each time: another one may have got its name.
            if call.request.memo != nil, identity.apiKey == nil {
                call.exchange.eventLoop.execute {
                    call.request.memo?.value = PreparedQuery(
                        call, resolved, identity, waitMs: waitMs, version: version,
                        untilMs: self.executor.clock.nowMs() + self.settings.verifiedForMs)
                }
            }
            guard let waitMs else { return try await self.readOnce(call, resolved, liveQuery, known: known) }
            let session = try self.pollSession(call, resolved, liveQuery, identity)
            call.exchange.eventLoop.execute { self.longPoll(call, session, known: known, waitMs: waitMs, nil) }
        }
    }

    /// Performs a query that was prepared for a request with the same header. On the connection's event loop, without a
    /// task for a poll: one that waits, or is answered with what is there, is no request in flight.
    /// - Returns: false if it must be prepared again.
    func repeats(_ prepared: PreparedQuery, _ request: HTTPRequest, _ exchange: HTTPExchange) -> Bool {
        let nowMs = executor.clock.nowMs()
        guard prepared.holds(for: executor.projectVersion, nowMs: nowMs) else { return false }
        let call = Call(
            request: request, exchange: exchange, commonHeaders: prepared.headers,
            traceID: TraceID(continuing: prepared.traceparent).description)
        let tag = request.header("if-none-match").flatMap { EntityTag(ifNoneMatch: $0) }
        let known = tag?.known(of: prepared.liveQuery.key)
        let address = address(request.remoteIP, forwarded: prepared.forwarded)
        let identity = executor.quotas.charge(prepared.identity, at: address)
        var resolved = prepared.resolved
        resolved.caller = identity.caller
        do throws(RequestError) {
            if let refusal = executor.refusal(of: identity) ?? resolved.refusal(nowMs: nowMs) { throw refusal }
            guard let waitMs = prepared.waitMs else {
                let (ready, liveQuery) = (resolved, prepared.liveQuery)
                executor.withRequest(
                    identity, from: address, traceID: call.traceID, on: exchange.taskExecutor,
                    { _ throws(RequestError) in try await self.readOnce(call, ready, liveQuery, known: known) },
                    failed: { call.fail($0) })
                return true
            }
            if gateway != nil, PollRules.countsAsSession(isStream: false, isPoll: true, hasTag: tag != nil) {
                try admitSession(from: address)
            }
            let session = try pollSession(call, resolved, prepared.liveQuery, identity)
            longPoll(call, session, known: known, waitMs: waitMs, prepared)
        } catch {
            call.fail(error)
        }
        return true
    }

    private func readOnce(
        _ call: Call, _ resolved: ResolvedOperation, _ liveQuery: LiveQuery, known: KnownResult?
    ) async throws(RequestError) {
        let result = try await executor.read(resolved, traceID: call.traceID)
        let tag = EntityTag(KnownResult(digest: result.digest, position: nil), of: liveQuery.key)
        answer(call, tag: tag, known: known, result.digest, result.answer, resolved, liveQuery)
    }

    /// Sends 304 if the client has the result, a patch if it requested deltas and there is one, otherwise the whole
    /// result.
    /// - Parameter body: the whole result, if other responses have it, too.
    func answer(
        _ call: Call, tag: EntityTag, known: KnownResult?, _ digest: Digest, _ result: OperationAnswer,
        _ resolved: ResolvedOperation, _ liveQuery: LiveQuery, body: SharedBody? = nil
    ) {
        if known?.digest == digest { return answer(call, tag: tag, nil, resolved) }
        guard Preferences.acceptsDelta(call.request.header("a-im")),
            let hub = gateway?.hub(of: call.exchange.eventLoop)
        else { return answer(call, tag: tag, result, resolved, body: body) }
        call.exchange.eventLoop.execute {
            defer { hub.deltas.remember(digest, result) }
            guard let known, let patch = hub.deltas.patch(from: known.digest, to: digest, result) else {
                return self.answer(call, tag: tag, result, resolved, body: body)
            }
            var headers = self.headers(call, tag, resolved)
            let base = EntityTag(known, of: liveQuery.key)
            headers.replaceOrAdd(name: "im", value: "json-patch")
            headers.replaceOrAdd(name: "delta-base", value: call.holdsWeakTag ? base.weak : base.description)
            headers.replaceOrAdd(name: "content-type", value: "application/json-patch+json")
            let acceptsGzip = Preferences.acceptsCompressedDelta(call.request.header("a-im"))
            call.exchange.respond(.imUsed, headers: headers, body: patch, as: .patch(acceptsGzip: acceptsGzip))
        }
    }

    static func cacheControl(_ resolved: ResolvedOperation) -> String {
        resolved.operation.authReads == .nothing ? "no-cache" : "private, no-cache"
    }

    private func headers(_ call: Call, _ tag: EntityTag, _ resolved: ResolvedOperation) -> HTTPHeaders {
        var headers = call.headers
        headers.replaceOrAdd(name: "etag", value: tag.description)
        headers.replaceOrAdd(name: "cache-control", value: Self.cacheControl(resolved))
        var followed = call.followedInvalidations
        if let told = followed?.header(of: executor.invalidations) {
            headers.replaceOrAdd(name: FollowedInvalidations.header, value: told)
        }
        return headers
    }

    /// - Parameters:
    ///   - result: nil sends 304.
    ///   - body: the result, if other responses have it, too.
    private func answer(
        _ call: Call, tag: EntityTag, _ result: OperationAnswer?, _ resolved: ResolvedOperation,
        body: SharedBody? = nil
    ) {
        var headers = headers(call, tag, resolved)
        if let result {
            headers.replaceOrAdd(name: "content-type", value: "application/json")
            if let body {
                call.exchange.respond(.ok, headers: headers, result: body)
            } else {
                call.exchange.respond(.ok, headers: headers, body: result.envelope, as: .result)
            }
        } else {
            // The tag of the body that the client holds.
            if call.holdsWeakTag { headers.replaceOrAdd(name: "etag", value: tag.weak) }
            call.exchange.respond(.notModified, headers: headers, body: [], as: .result)
        }
    }

    private func pollSession(
        _ call: Call, _ resolved: ResolvedOperation, _ liveQuery: LiveQuery, _ identity: Identity
    ) throws(RequestError) -> HTTPSession {
        guard let hub = gateway?.hub(of: call.exchange.eventLoop) else {
            throw RequestError.servesNoLiveQueries
        }
        try requireRoomForSession()
        return try session(call, hub, resolved, liveQuery, identity)
    }

    /// Waits for a new result and responds. Call it on the connection's event loop.
    /// - Parameter prepared: the request, if its next poll can be recognized.
    private func longPoll(
        _ call: Call, _ session: HTTPSession, known: KnownResult?, waitMs: Int64, _ prepared: PreparedQuery?
    ) {
        let answers = PlainPollAnswers(self, call, waitMs: waitMs, prepared)
        LongPoll.wait(
            session, known: known, waitMs: answers.waitMs(session.identity),
            keptMs: prepared == nil ? 0 : settings.longPollKeptMs, answers)
    }

    /// Runs `work` to its end, and the request counts as in flight until then. A client whose result takes longer than
    /// `ms` is answered `.unavailable` meanwhile.
    /// - Returns: nil if the client has its answer.
    static func answering<Value: Sendable>(
        _ call: Call, withinMs ms: Int64, _ work: () async throws(RequestError) -> Value
    ) async throws(RequestError) -> Value? {
        let isAnswered = Mutex(false)
        // The first answer counts.
        let isFirst: @Sendable () -> Bool = {
            !isAnswered.withLock { value in
                defer { value = true }; return value
            }
        }
        let timer = call.exchange.eventLoop.scheduleTask(in: .milliseconds(ms)) {
            if isFirst() {
                call.fail(RequestError(.unavailable, "the query did not run in time", retryAfterMs: 1_000))
            }
        }
        defer { timer.cancel() }
        do throws(RequestError) {
            let value = try await work()
            return isFirst() ? value : nil
        } catch {
            if isFirst() { throw error }
            return nil
        }
    }

    private func eventStream(
        _ call: Call, _ resolved: ResolvedOperation, _ identity: Identity
    ) throws(RequestError) {
        let known = call.request.header("last-event-id").flatMap { EntityTag(bare: $0) }?
            .known(of: resolved.liveQuery.key)
        // Browsers' EventSource cannot set headers.
        let wantsDelta =
            Preferences.acceptsDelta(call.request.header("a-im")) || call.request.query("delta") == "json-patch"
        try stream(call, resolved, identity, as: .resource, known: known, wantsDelta: wantsDelta, wantsTags: false)
    }

    /// Follows a live query in a response that stays open. The caller has already been admitted; the node may have
    /// filled up since.
    func stream(
        _ call: Call, _ resolved: ResolvedOperation, _ identity: Identity, as format: StreamFormat, known: KnownResult?,
        wantsDelta: Bool, wantsTags: Bool
    ) throws(RequestError) {
        guard let hub = gateway?.hub(of: call.exchange.eventLoop) else {
            throw RequestError.servesNoLiveQueries
        }
        try requireRoomForSession()
        let session = try session(call, hub, resolved, resolved.liveQuery, identity)
        call.exchange.eventLoop.execute {
            ResultStream.start(
                session, as: format, known: known, wantsDelta: wantsDelta, wantsTags: wantsTags,
                invalidations: call.followedInvalidations, headers: call.headers, limits: self.settings.session)
        }
    }

    private func session(
        _ call: Call, _ hub: LoopHub, _ resolved: ResolvedOperation, _ liveQuery: LiveQuery, _ identity: Identity
    ) throws(RequestError) -> HTTPSession {
        HTTPSession(
            call.exchange, hub: hub, executor: executor, resolved: resolved, liveQuery: liveQuery, identity: identity,
            permit: try SessionPermit(
                streamOf: liveQuery.key, for: subjects(call, identity), sessions, executor.quotas),
            peer: call.request.remoteAddress, client: ClientDescription { call.request.header($0) })
    }
}

extension Call {
    /// The invalidations that the client knows; nil: it does not ask for them.
    var followedInvalidations: FollowedInvalidations? {
        request.header(FollowedInvalidations.header).map { FollowedInvalidations($0) }
    }

    /// Whether the client holds a compressed result.
    fileprivate var holdsWeakTag: Bool {
        exchange.attachedTagIsWeak ?? request.header("if-none-match").map { EntityTag.isWeak(ifNoneMatch: $0) } ?? false
    }
}
