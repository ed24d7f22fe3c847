package import LiveModel
package import NIOCore
import Recording
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
    /// The sessions that wait for what was committed, with their ids of the waits.
    private var waits: [InterestMachine.WaitID: (session: ClientSession, id: String)] = [:]
    /// The cache of patches, for clients that requested deltas.
    package var deltas: DeltaCache

    init(index: Int, eventLoop: any EventLoop, service: GatewayService, deltas: DeltaCache) {
        self.deltas = deltas
        self.index = index
        self.eventLoop = eventLoop
        self.service = service
    }

    /// The node's recorder for operators; nil where nothing can be recorded.
    var recorder: NodeRecorder? { service.recorder }

    /// Starts a subscription.
    /// - Parameters:
    ///   - reportsTimerRuns: delivers every run of a timer, even if the result is unchanged.
    ///   - confirmsKnown: confirms once that the client's result is still current.
    ///   - client: who subscribes; nil if that is unknown.
    /// - Returns: the subscription and the result that the gateway already has; the caller delivers that to itself
    ///   after storing the handle.
    /// - Throws: `.limitExceeded` if the gateway cannot follow another live query.
    package func subscribe(
        _ session: any LiveSession, id: String, query: LiveQuery, known: KnownResult?, reportsTimerRuns: Bool = false,
        confirmsKnown: Bool = false, client: ClientID? = nil
    ) throws(RequestError) -> (handle: Handle, immediate: SessionDelivery?) {
        eventLoop.assertInEventLoop()
        let start = try service.subscribed(
            hub: index, query, known: known, reportsTimerRuns: reportsTimerRuns, client: client)
        let (handle, immediate) = hub.subscribed(
            query.key, known: known, reportsTimerRuns: reportsTimerRuns, confirmsKnown: confirmsKnown, start: start)
        while subscribers.count <= handle.slot { subscribers.append(nil) }
        subscribers[handle.slot] = (session, id)
        if let recorder = service.recorder, recorder.isOn, let observed = session.observed {
            recorder.session(observed.id, uid: observed.uid, query.key, of: query.operation, leaves: nil)
        }
        return (handle, immediate.map { sessionDelivery($0, of: query.key) })
    }

    /// - Parameter lingers: whether the client may be back soon; false if it ended the subscription itself.
    package func unsubscribe(_ handle: Handle, lingers: Bool = true) {
        eventLoop.assertInEventLoop()
        guard hub.unsubscribed(handle) else { return }
        if let recorder = service.recorder, let observed = subscribers[handle.slot]?.session.observed,
            recorder.isOn || observed.leaving != nil
        {
            recorder.session(
                observed.id, uid: observed.uid, handle.key, of: service.held(handle.key)?.query.operation,
                leaves: observed.leaving ?? NodeRecorder.left)
        }
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

    /// Begins a wait of a session until it has the results of what was committed before; it ends with
    /// `ClientSession.waited`.
    /// - Parameters:
    ///   - position: the id of the mutation's event; nil: what is in the shards' streams already.
    ///   - keys: the live queries that the session follows.
    /// - Throws: `.limitExceeded`.
    func wait(
        _ session: ClientSession, id: String, for position: String?, keys: Set<LiveQueryKey>
    ) throws(RequestError) -> InterestMachine.WaitID {
        eventLoop.assertInEventLoop()
        let wait = try service.waitBegan(hub: index, for: position, keys: keys)
        waits[wait] = (session, id)
        return wait
    }

    func endWait(_ wait: InterestMachine.WaitID) {
        eventLoop.assertInEventLoop()
        if waits.removeValue(forKey: wait) != nil { service.waitEnded(wait) }
    }

    private func sessionDelivery(_ update: Hub.Update, of key: LiveQueryKey) -> SessionDelivery {
        switch update {
        case .result(let result): .result(recent.shared(result, of: key))
        case .unchanged(let known): .unchanged(known)
        case .failed(let error): .failed(error)
        }
    }

    package var subscriptionCount: Int { hub.subscriptionCount }

    func perform(_ steps: [HubTurn.Step]) {
        eventLoop.assertInEventLoop()
        var deliveries: [(delivery: SessionDelivery, due: [Handle])] = []
        var counts: [(key: LiveQueryKey, sessions: Int, bytes: Int)] = []
        var markers: [MarkerRelay] = []
        var answered: [(wait: InterestMachine.WaitID, error: RequestError?)] = []
        for step in steps {
            switch step {
            case .deliver(let delivery, let key, let answers):
                guard let (update, due) = hub.take(delivery, key: key, answers: answers) else { continue }
                deliveries.append((sessionDelivery(update, of: key), due))
                if case .result(let result) = update {
                    counts.append((key, due.count, result.answer.byteCount))
                }
            case .forgetPositions(let key, let announcement): hub.forgetPositions(key, from: announcement)
            case .passMarker(let marker): markers.append(marker)
            case .answerWait(let wait, let error): answered.append((wait, error))
            }
        }
        if !counts.isEmpty { service.count(counts) }
        if deliveries.count > 1 {
            deliverBySession(deliveries)
        } else {
            for (delivery, due) in deliveries {
                for handle in due { deliver(delivery, to: handle) }
            }
        }
        if let recorder = service.recorder { observe(deliveries, recorder) }
        for (wait, error) in answered {
            if let (session, id) = waits.removeValue(forKey: wait) { session.waited(id, error) }
        }
        for marker in markers where marker.taken() { service.markerTaken(marker.arrived) }
    }

    /// Records the deliveries just made, if anything is recorded.
    private func observe(_ deliveries: [(delivery: SessionDelivery, due: [Handle])], _ recorder: NodeRecorder) {
        for (delivery, due) in deliveries {
            guard case .result(let shared) = delivery, let key = due.first?.key,
                recorder.isOn || shared.result.isTraced
            else { continue }
            let receivers = due.compactMap { handle -> NodeRecorder.Receiver? in
                guard hub.contains(handle), let observed = subscribers[handle.slot]?.session.observed else {
                    return nil
                }
                return .init(session: observed.id, uid: observed.uid, isBehind: observed.isBehind)
            }
            recorder.delivered(shared.result, key, of: service.held(key)?.query.operation, to: receivers)
        }
    }

    /// Returns what the client of a subscription has, as far as it is known.
    func known(_ handle: Handle) -> KnownResult? { hub.known(handle) }

    /// A delivery may end other subscriptions, so each is looked up when its turn comes.
    private func deliver(_ delivery: SessionDelivery, to handle: Handle) {
        guard hub.contains(handle), let (session, id) = subscribers[handle.slot] else { return }
        session.deliver(delivery, id: id)
    }

    /// Makes the deliveries to each session together, in order, so that they are one write.
    private func deliverBySession(_ deliveries: [(delivery: SessionDelivery, due: [Handle])]) {
        var places: [ObjectIdentifier: Int] = [:]
        var sessions: [(session: any LiveSession, items: [(delivery: Int32, handle: Handle)])] = []
        for (number, delivery) in deliveries.enumerated() {
            for handle in delivery.due {
                guard let (session, _) = subscribers[handle.slot] else { continue }
                let item = (delivery: Int32(number), handle: handle)
                if let place = places[ObjectIdentifier(session)] {
                    sessions[place].items.append(item)
                } else {
                    places[ObjectIdentifier(session)] = sessions.count
                    sessions.append((session, [item]))
                }
            }
        }
        for (session, items) in sessions {
            if items.count == 1 {
                deliver(deliveries[Int(items[0].delivery)].delivery, to: items[0].handle)
            } else {
                session.gathered {
                    for item in items { deliver(deliveries[Int(item.delivery)].delivery, to: item.handle) }
                }
            }
        }
    }
}
