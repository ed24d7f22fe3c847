package import HTTPServer
package import LiveModel
package import NIOCore
import Sessions

/// One long-poll exchange: a subscription that lives until its first news or the end of the wait.
///
/// Lives on the exchange's event loop. Any gateway can serve the next poll: all state is in the entity tag.
package final class LongPoll: LiveSession, ManagedSession {
    package enum Ending: Sendable {
        case result(LiveResult)
        /// Nothing new within the wait.
        case waited
        case failed(RequestError)
    }

    private let hub: LoopHub
    private var handle: LoopHub.Handle?
    private var timeout: Scheduled<Void>?
    private var finish: ((Ending) -> Void)?
    private var onClosed: () -> Void = {}

    private let refusal: () -> RequestError?

    private init(hub: LoopHub, refusal: @escaping () -> RequestError?, finish: @escaping (Ending) -> Void) {
        self.hub = hub
        self.refusal = refusal
        self.finish = finish
    }

    /// Waits for a result other than `known`; calls `finish` once, on the loop, unless the client goes away first.
    /// - Parameter refusal: why the client's identity counts no more; nil: it does.
    package static func wait(
        _ query: LiveQuery, known: KnownResult?, waitMs: Int64, hub: LoopHub, exchange: HTTPExchange,
        refusal: @escaping () -> RequestError?, register: (LongPoll) -> UInt64, onClosed: @escaping (UInt64) -> Void,
        finish: @escaping (Ending) -> Void
    ) {
        let poll = LongPoll(hub: hub, refusal: refusal, finish: finish)
        let id = register(poll)
        poll.onClosed = { onClosed(id) }
        let bound = NIOLoopBound(poll, eventLoop: hub.eventLoop)
        if let refusal = refusal() { return poll.end(.failed(refusal)) }
        poll.timeout = hub.eventLoop.scheduleTask(in: .milliseconds(waitMs)) { bound.value.end(.waited) }
        do {
            let handle = try hub.subscribe(poll, id: "", query: query, known: known)
            // The answer may have come inside the call.
            if poll.finish == nil {
                hub.unsubscribe(handle)
            } else {
                poll.handle = handle
                exchange.onClose { bound.value.end(nil) }
                exchange.onInputEnd { bound.value.end(.waited) }
            }
        } catch {
            poll.end(.failed(error))
        }
    }

    package func deliver(_ delivery: SessionDelivery, id: String) {
        switch delivery {
        case .result(let shared): end(.result(shared.result))
        case .failed(let error): end(.failed(error))
        }
    }

    /// The node drains: the client gets its answer now and polls elsewhere.
    package func goAway() {
        end(.waited)
    }

    package func recheckIdentity() {
        if let refusal = refusal() { end(.failed(refusal)) }
    }

    private func end(_ ending: Ending?) {
        onClosed()
        onClosed = {}
        timeout?.cancel()
        timeout = nil
        if let handle {
            self.handle = nil
            hub.unsubscribe(handle)
        }
        let finish = self.finish
        self.finish = nil
        if let ending { finish?(ending) }
    }
}
