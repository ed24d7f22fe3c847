import Execution
package import HTTPServer
package import LiveModel
import NIOCore
import Sessions

/// Answers the long-polls of one client on one connection, all with the same header but for `If-None-Match`. Called on
/// the event loop.
package protocol PollAnswers: AnyObject {
    /// Returns how long the client's next poll waits; nil if identity, operation or project version changed, so that
    /// the poll must be prepared like a first one.
    func nextWaitMs() -> Int64?
    /// Whether there are invalidations that the client asks for.
    func wants(_ invalidations: Invalidations) -> Bool
    /// Sends the answer.
    /// - Parameter known: the result that the client has.
    func finish(_ ending: LongPoll.Ending, known: KnownResult?, _ session: HTTPSession)
}

/// The long-polls of one client on one connection: a subscription until the first new result or the end of the wait,
/// and from then, for a short time, until the client's next poll.
///
/// Belongs to the connection's event loop. Any gateway can serve the next poll: all state is in the entity tag. Between
/// two polls the subscription remains, so that a client which polls again at once costs no new one. `PollMachine`
/// decides which result answers which poll.
package final class LongPoll: LiveSession, ManagedSession, ResponseWaiter, ConnectionAttachment {
    package enum Ending {
        case result(SharedResult)
        /// The wait ended without a new result.
        case waited
        case failed(RequestError)
    }

    private var session: HTTPSession
    private let answers: any PollAnswers
    /// The time for which the subscription remains after an answer; 0 ends it with the answer.
    private let keptMs: Int64
    private var handle: LoopHub.Handle?
    private var machine: PollMachine<SharedResult>

    private init(_ session: HTTPSession, _ answers: any PollAnswers, known: KnownResult?, keptMs: Int64) {
        self.session = session
        self.answers = answers
        self.keptMs = keptMs
        machine = PollMachine(known: known)
    }

    /// Waits for a result other than `known`. Calls `answers` once, on the loop, unless the client disconnects first.
    package static func wait(
        _ session: HTTPSession, known: KnownResult?, waitMs: Int64, keptMs: Int64, _ answers: any PollAnswers
    ) {
        let hub = session.hub
        let poll = LongPoll(session, answers, known: known, keptMs: keptMs)
        if let refusal = session.register(poll) { return poll.end(.failed(refusal)) }
        do throws(RequestError) {
            let (handle, immediate) = try hub.subscribe(
                poll, id: "", query: session.liveQuery, known: known, client: session.permit.client)
            poll.handle = handle
            if let immediate { return poll.deliver(immediate, id: "") }
        } catch {
            return poll.end(.failed(error))
        }
        session.exchange.wait(waitMs, poll)
    }

    // MARK: ConnectionAttachment

    package func continues(_ exchange: HTTPExchange) -> Bool {
        switch machine.polledAgain(waitMs: answers.nextWaitMs()) {
        case .refuse:
            end(nil)
            return false
        case .deliver(let newer):
            session.exchange = exchange
            deliver(.result(newer), id: "")
        case .wait(let waitMs):
            session.exchange = exchange
            exchange.wait(waitMs, self)
        }
        return true
    }

    package func detached() { end(nil) }

    // MARK: ResponseWaiter

    package func deadlineReached() { end(.waited) }
    package func inputEnded() { end(.waited) }
    package func connectionLost() { end(nil) }

    // MARK: LiveSession

    package func deliver(_ delivery: SessionDelivery, id: String) {
        switch delivery {
        case .failed(let error): end(.failed(error))
        // A poll waits until its result has changed.
        case .unchanged: break
        case .result(let shared):
            let result = KnownResult(digest: shared.result.digest, position: shared.result.position)
            switch machine.delivered(shared, result, mayRemain: keptMs > 0 && session.exchange.mayAttach) {
            case .end: end(.result(shared))
            case .answer(let known):
                session.exchange.attach(self, tag: shared.entityTag, forMs: keptMs)
                answers.finish(.result(shared), known: known, session)
            case .keep: break
            }
        }
    }

    package var observed: ObservedSession? {
        ObservedSession(id: session.permit.id, uid: session.identity.auth?.uid ?? "", isBehind: false)
    }

    package var inspection: SessionInspection {
        SessionInspection(
            uid: session.identity.auth?.uid ?? "", expiresAtMs: session.identity.expiresAtMs, pendingBytes: 0,
            queuedResults: 0,
            subscriptions: handle.map {
                [.init(id: "", key: $0.key, known: session.hub.known($0), isSuspended: false)]
            } ?? [])
    }

    package var protocolName: String { "long-poll" }
    package var user: String? { session.identity.userName }
    package func followedKeys(max: Int) -> [LiveQueryKey] { [session.liveQuery.key] }

    /// Ends the wait because the node drains: the client gets its response now and polls elsewhere.
    package func goAway() {
        end(.waited)
    }

    package func recheckIdentity() {
        if let refusal = session.identityRefusal { end(.failed(refusal)) }
    }

    /// Answers a client that asks for invalidations now; the response has them.
    package func invalidate(_ invalidations: Invalidations) {
        if answers.wants(invalidations) { end(.waited) }
    }

    private func end(_ ending: Ending?) {
        let ended = machine.end()
        let lingers = session.permit.end(isAnswered: ending != nil)
        if let handle {
            self.handle = nil
            session.hub.unsubscribe(handle, lingers: lingers)
        }
        if let ending, case .answer(let known) = ended { answers.finish(ending, known: known, session) }
    }
}
