import Execution
import HTTPServer
package import LiveModel
import NIOCore
import Sessions

/// One long-poll exchange: a subscription until the first new result or the end of the wait.
///
/// Belongs to the exchange's event loop. Any gateway can serve the next poll: all state is in the entity tag.
package final class LongPoll: LiveSession, ManagedSession, ResponseWaiter {
    package enum Ending {
        case result(SharedResult)
        /// The wait ended without a new result.
        case waited
        case failed(RequestError)
    }

    private let session: HTTPSession
    private var handle: LoopHub.Handle?
    private var finish: ((Ending) -> Void)?

    private init(_ session: HTTPSession, finish: @escaping (Ending) -> Void) {
        self.session = session
        self.finish = finish
    }

    /// Waits for a result other than `known`. Calls `finish` once, on the loop, unless the client disconnects first.
    package static func wait(
        _ session: HTTPSession, known: KnownResult?, waitMs: Int64, finish: @escaping (Ending) -> Void
    ) {
        let hub = session.hub
        let poll = LongPoll(session, finish: finish)
        if let refusal = session.register(poll) { return poll.end(.failed(refusal)) }
        do throws(RequestError) {
            let (handle, immediate) = try hub.subscribe(
                poll, id: "", query: session.liveQuery, known: known)
            poll.handle = handle
            if let immediate { return poll.deliver(immediate, id: "") }
        } catch {
            return poll.end(.failed(error))
        }
        session.exchange.wait(waitMs, poll)
    }

    // MARK: ResponseWaiter

    package func deadlineReached() { end(.waited) }
    package func inputEnded() { end(.waited) }
    package func connectionLost() { end(nil) }

    // MARK: LiveSession

    package func deliver(_ delivery: SessionDelivery, id: String) {
        switch delivery {
        case .result(let shared): end(.result(shared))
        case .failed(let error): end(.failed(error))
        }
    }

    package var protocolName: String { "long-poll" }

    /// Ends the wait because the node drains: the client gets its response now and polls elsewhere.
    package func goAway() {
        end(.waited)
    }

    package func recheckIdentity() {
        if let refusal = session.identityRefusal { end(.failed(refusal)) }
    }

    private func end(_ ending: Ending?) {
        let lingers = session.permit.end()
        if let handle {
            self.handle = nil
            session.hub.unsubscribe(handle, lingers: lingers)
        }
        let finish = self.finish
        self.finish = nil
        if let ending { finish?(ending) }
    }
}
