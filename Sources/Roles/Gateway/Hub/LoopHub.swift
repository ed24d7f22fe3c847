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
    /// The cache of patches, for clients that requested deltas.
    package var deltas: DeltaCache

    init(index: Int, eventLoop: any EventLoop, service: GatewayService, deltas: DeltaCache) {
        self.deltas = deltas
        self.index = index
        self.eventLoop = eventLoop
        self.service = service
    }

    /// Starts a subscription.
    /// - Parameter reportsTimerRuns: delivers every run of a timer, even if the result is unchanged.
    /// - Returns: the subscription and the result that the gateway already has; the caller delivers that to itself
    ///   after storing the handle.
    /// - Throws: `.limitExceeded` if the gateway cannot follow another live query.
    package func subscribe(
        _ session: any LiveSession, id: String, query: LiveQuery, known: KnownResult?, reportsTimerRuns: Bool = false
    ) throws(RequestError) -> (handle: Handle, immediate: SessionDelivery?) {
        eventLoop.assertInEventLoop()
        let start = try service.subscribed(hub: index, query, known: known, reportsTimerRuns: reportsTimerRuns)
        let handle = table.insert(
            session, id: id, key: query.key, known: known, fromAnnouncement: start.fromAnnouncement,
            claimUntil: start.claimUntil, reportsTimerRuns: reportsTimerRuns)
        guard let immediate = start.immediate, table.deliver(immediate, to: handle) else { return (handle, nil) }
        return (handle, sessionDelivery(immediate, of: query.key))
    }

    /// - Parameter lingers: whether the client may be back soon; false if it ended the subscription itself.
    package func unsubscribe(_ handle: Handle, lingers: Bool = true) {
        eventLoop.assertInEventLoop()
        if table.remove(handle) { service.unsubscribed(hub: index, handle.key, lingers: lingers) }
    }

    /// Runs the live query again for this subscription and delivers the result even if it is unchanged.
    /// - Returns: false if the first result, which will do, has not arrived yet.
    package func rerun(_ handle: Handle) -> Bool {
        eventLoop.assertInEventLoop()
        guard table.isServed(handle), let announcement = service.rerun(handle.key) else { return false }
        table.owe(handle, from: announcement)
        return true
    }

    /// Converts a delivery; nil if there is nothing to send to the client.
    private func sessionDelivery(_ delivery: InterestMachine.Delivery, of key: LiveQueryKey) -> SessionDelivery? {
        switch delivery {
        case .result(let result), .unchangedTick(let result): .result(recent.shared(result, of: key))
        case .failed(let error), .unanswered(let error): .failed(error)
        case .unchanged: nil
        }
    }

    package var subscriptionCount: Int { table.count }

    func forgetPositions(_ key: LiveQueryKey, from announcement: UInt64) {
        eventLoop.assertInEventLoop()
        table.forgetPositions(key, from: announcement)
    }

    func deliver(_ delivery: InterestMachine.Delivery, key: LiveQueryKey, answers: UInt64) {
        eventLoop.assertInEventLoop()
        let shared = sessionDelivery(delivery, of: key)
        let due = table.take(delivery, key: key, answers: answers)
        guard let shared else { return }
        // Delivering to a session may have ended others.
        for (subscription, handle) in due where table.contains(handle) {
            subscription.session.deliver(shared, id: subscription.id)
        }
    }
}
