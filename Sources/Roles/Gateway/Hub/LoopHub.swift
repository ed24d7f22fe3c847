package import LiveModel
package import NIOCore
package import Sessions

/// The shell of a `Hub` on its event loop.
///
/// `@unchecked Sendable`: everything is touched on `eventLoop` only.
package final class LoopHub: @unchecked Sendable {
    package typealias Handle = Hub.Handle

    package let eventLoop: any EventLoop
    private let index: Int
    private unowned let service: GatewayService
    private var hub = Hub()
    /// The sessions of the subscriptions, by slot; nil: the slot is free.
    private var subscribers: [(session: any LiveSession, id: String)?] = []
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
        let (handle, immediate) = hub.subscribed(
            query.key, known: known, reportsTimerRuns: reportsTimerRuns, start: start)
        while subscribers.count <= handle.slot { subscribers.append(nil) }
        subscribers[handle.slot] = (session, id)
        return (handle, immediate.map { sessionDelivery($0, of: query.key) })
    }

    /// - Parameter lingers: whether the client may be back soon; false if it ended the subscription itself.
    package func unsubscribe(_ handle: Handle, lingers: Bool = true) {
        eventLoop.assertInEventLoop()
        guard hub.unsubscribed(handle) else { return }
        subscribers[handle.slot] = nil
        if hub.subscriptionCount == 0 { subscribers.removeAll(keepingCapacity: subscribers.count <= 256) }
        service.unsubscribed(hub: index, handle.key, lingers: lingers)
    }

    /// Runs the live query again for this subscription and delivers the result even if it is unchanged.
    /// - Returns: false if the first result has not arrived yet, which is then the answer.
    package func rerun(_ handle: Handle) -> Bool {
        eventLoop.assertInEventLoop()
        guard hub.acceptsRerun(handle), let announcement = service.rerun(handle.key) else { return false }
        hub.rerunRequested(handle, announcement: announcement)
        return true
    }

    private func sessionDelivery(_ update: Hub.Update, of key: LiveQueryKey) -> SessionDelivery {
        switch update {
        case .result(let result): .result(recent.shared(result, of: key))
        case .failed(let error): .failed(error)
        }
    }

    package var subscriptionCount: Int { hub.subscriptionCount }

    func forgetPositions(_ key: LiveQueryKey, from announcement: UInt64) {
        eventLoop.assertInEventLoop()
        hub.forgetPositions(key, from: announcement)
    }

    func deliver(_ delivery: InterestMachine.Delivery, key: LiveQueryKey, answers: UInt64) {
        eventLoop.assertInEventLoop()
        guard let (update, due) = hub.take(delivery, key: key, answers: answers) else { return }
        let shared = sessionDelivery(update, of: key)
        for handle in due where hub.contains(handle) {
            guard let (session, id) = subscribers[handle.slot] else { continue }
            session.deliver(shared, id: id)
        }
    }
}
