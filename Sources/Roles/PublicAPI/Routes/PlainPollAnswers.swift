import Execution
import Gateway
import HTTPServer
import LiveModel
import NIOHTTP1
import Observability
import Sessions

/// Answers the long-polls of `PlainQuery` that one client sends on one connection.
final class PlainPollAnswers: PollAnswers {
    private let router: PublicRouter
    private let first: Call
    /// The wait that the client requested.
    private let waitMs: Int64
    /// The request of all polls; nil: there is only one.
    private let prepared: PreparedQuery?
    /// Whether an answer consists of what is shared by all clients.
    private let isShared: Bool

    init(_ router: PublicRouter, _ first: Call, waitMs: Int64, _ prepared: PreparedQuery?) {
        (self.router, self.first, self.waitMs, self.prepared) = (router, first, waitMs, prepared)
        isShared =
            first.commonHeaders.isEmpty && first.request.method == .GET
            && !Preferences.acceptsDelta(first.request.header("a-im"))
            && first.request.header(FollowedInvalidations.header) == nil
    }

    /// The wait ends with the sender's token. A client does not wait if there are invalidations for it.
    func waitMs(_ identity: Identity) -> Int64 {
        if wants(router.executor.invalidations) { return 0 }
        return PollRules.waitMs(
            requestedMs: waitMs, expiresAtMs: identity.expiresAtMs, nowMs: router.executor.clock.nowMs())
    }

    func nextWaitMs() -> Int64? {
        guard let prepared else { return nil }
        let executor = router.executor
        let nowMs = executor.clock.nowMs()
        guard prepared.holds(for: executor.projectVersion, nowMs: nowMs),
            executor.refusal(of: prepared.identity) == nil, prepared.resolved.refusal(nowMs: nowMs) == nil
        else { return nil }
        return waitMs(prepared.identity)
    }

    func wants(_ invalidations: Invalidations) -> Bool {
        var followed = first.followedInvalidations
        return followed?.told(of: invalidations) != nil
    }

    func finish(_ ending: LongPoll.Ending, known: KnownResult?, _ session: HTTPSession) {
        let isResult = if case .result = ending { true } else { false }
        let refusal = PollRules.refusal(
            session.authorizationRefusal, isResult: isResult, isExpired: session.isExpired)
        if let refusal { return call(session).fail(refusal) }
        switch ending {
        case .result(let shared): answer(shared, known: known, session)
        case .waited: read(known: known, session)
        case .failed(let error): call(session).fail(error)
        }
    }

    /// The response is encoded once and shared unless the request needs headers of its own.
    private func answer(_ shared: SharedResult, known: KnownResult?, _ session: HTTPSession) {
        let result = shared.result
        guard isShared, known?.digest != result.digest else {
            let tag = EntityTag(
                KnownResult(digest: result.digest, position: result.position), of: session.liveQuery.key)
            return router.answer(
                call(session), tag: tag, known: known, result.digest, result.answer, session.resolved,
                session.liveQuery, body: session.exchange.prefersGzip ? shared.envelope : nil)
        }
        let exchange = session.exchange
        let answer = shared.pollAnswer(cacheControl: PublicRouter.cacheControl(session.resolved), to: exchange)
        exchange.respond("X-Trace-Id", traceID(session), shared: answer.text, plainBytes: answer.plainBytes)
    }

    /// Reads the result at the end of the wait: the owner may not have responded at all, so the database decides.
    private func read(known: KnownResult?, _ session: HTTPSession) {
        let readMs = PollRules.finalReadMs(requestedMs: waitMs)
        let (call, router) = (call(session), router)
        let (resolved, liveQuery) = (session.resolved, session.liveQuery)
        router.perform(call) { _ throws(RequestError) in
            let read = try await PublicRouter.answering(call, withinMs: readMs) { () async throws(RequestError) in
                try await router.executor.read(resolved, traceID: call.traceID)
            }
            guard let result = read else { return }
            let tag = EntityTag(PollRules.read(result.digest, known: known), of: liveQuery.key)
            router.answer(call, tag: tag, known: known, result.digest, result.answer, resolved, liveQuery)
        }
    }

    // MARK: The poll that is answered

    private func call(_ session: HTTPSession) -> Call {
        if session.exchange === first.exchange { return first }
        return Call(
            request: first.request, exchange: session.exchange, commonHeaders: first.commonHeaders,
            traceID: traceID(session))
    }

    /// Each poll is a trace of its own unless the client names one.
    private func traceID(_ session: HTTPSession) -> String {
        if session.exchange === first.exchange { return first.traceID }
        return TraceID(continuing: prepared?.traceparent).description
    }
}
