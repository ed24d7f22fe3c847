package import LiveModel
package import NIOCore
package import Sessions

/// The live subscriptions of one event loop.
///
/// `@unchecked Sendable`: everything is touched on `eventLoop` only.
package final class LoopHub: @unchecked Sendable {
    package typealias Handle = SubscriptionTable<any LiveSession>.Handle

    package let eventLoop: any EventLoop
    private let index: Int
    private unowned let service: GatewayService
    private var table = SubscriptionTable<any LiveSession>()
    private var recent = RecentResults()
    /// For clients that asked for deltas.
    package var deltas: DeltaCache

    init(index: Int, eventLoop: any EventLoop, service: GatewayService, deltas: DeltaCache) {
        self.deltas = deltas
        self.index = index
        self.eventLoop = eventLoop
        self.service = service
    }

    /// Begins a subscription.
    /// - Parameter reportsTimerRuns: each run of a timer is delivered, also when the result is the same.
    /// - Returns: the subscription, and what the gateway has for it already: the caller delivers that to itself when it
    ///   has noted the handle.
    /// - Throws: `.limitExceeded` when the gateway can follow no further live query.
    package func subscribe(
        _ session: any LiveSession, id: String, query: LiveQuery, known: KnownResult?, reportsTimerRuns: Bool = false
    ) throws(RequestError) -> (handle: Handle, immediate: SessionDelivery?) {
        eventLoop.assertInEventLoop()
        let start = try service.subscribed(hub: index, query, known: known, reportsTimerRuns: reportsTimerRuns)
        let handle = table.insert(
            session, id: id, key: query.key, known: known, fromAnnouncement: start.fromAnnouncement,
            reportsTimerRuns: reportsTimerRuns)
        guard let immediate = start.immediate, table.deliver(immediate, to: handle) else { return (handle, nil) }
        return (handle, sessionDelivery(immediate, of: query.key))
    }

    package func unsubscribe(_ handle: Handle) {
        eventLoop.assertInEventLoop()
        if table.remove(handle) { service.unsubscribed(hub: index, handle.key) }
    }

    /// Has the live query run anew for this subscription; the answer is delivered also when it is the same.
    /// - Returns: false when its first result is still to come and will do.
    package func rerun(_ handle: Handle) -> Bool {
        eventLoop.assertInEventLoop()
        guard table.isServed(handle), let ask = service.rerun(handle.key) else { return false }
        table.owe(handle, from: ask)
        return true
    }

    /// Nil where a session has nothing to tell its client.
    private func sessionDelivery(_ delivery: InterestMachine.Delivery, of key: LiveQueryKey) -> SessionDelivery? {
        switch delivery {
        case .result(let result), .unchangedTick(let result): .result(recent.shared(result, of: key))
        case .failed(let error): .failed(error)
        case .unchanged: nil
        }
    }

    package var subscriptionCount: Int { table.count }

    func deliver(_ delivery: InterestMachine.Delivery, key: LiveQueryKey, answers: UInt64) {
        eventLoop.assertInEventLoop()
        let shared = sessionDelivery(delivery, of: key)
        let due = table.take(delivery, key: key, answers: answers)
        guard let shared else { return }
        // A session that got it may have ended others on its way.
        for (subscription, handle) in due where table.contains(handle) {
            subscription.session.deliver(shared, id: subscription.id)
        }
    }
}
