import Catalog
import Execution
import LiveModel
import Sessions

/// The operations of a session that carries several: the live queries that it follows, their results that are yet to be
/// written, and the one-shot operations in flight. The session acts on what is decided here. Used on the session's
/// event loop only.
struct LiveOperations {
    let hub: LoopHub
    let executor: any SessionRequestExecutor
    private var followed: [String: FollowedOperation] = [:]
    private var results: DeliveryQueue<SharedResult>
    var oneShots: OneShotAdmission<ResolvedOperation, Task<Void, Never>>

    /// - Parameter executesMax: nil: as `limits` say. Operations that are requests of their own need no queue.
    init(
        hub: LoopHub, executor: any SessionRequestExecutor, limits: SessionLimits, executesMax: Int? = nil
    ) {
        self.hub = hub
        self.executor = executor
        results = DeliveryQueue(bytesMax: limits.bytesMax)
        oneShots = OneShotAdmission(
            runningMax: executesMax ?? limits.executesMax, waitingMax: limits.executesWaitingMax,
            waitingBytesMax: limits.bytesMax)
    }

    subscript(id: String) -> FollowedOperation? { followed[id] }

    var followedCount: Int { followed.count }
    var followedIDs: [String] { followed.keys.sorted() }
    /// The results that wait until the client reads.
    var queuedCount: Int { results.count }
    /// The operations with a result that waits.
    var queuedIDs: Set<String> { results.ids }
    var liveQueryKeys: Set<LiveQueryKey> { Set(followed.values.map(\.handle.key)) }
    var inspections: [SessionInspection.Subscription] {
        followed.sorted { $0.key < $1.key }.map { id, operation in
            .init(id: id, key: operation.handle.key, known: hub.known(operation.handle), isSuspended: false)
        }
    }

    func followedKeys(max: Int) -> [LiveQueryKey] { followed.values.prefix(max).map(\.handle.key) }

    /// Follows a live query, instead of the one that was followed under this id, if any.
    /// - Parameters:
    ///   - takesNewTokens: whether the operation may be authorized again with another token.
    ///   - reportsTimerRuns: delivers every run of a timer, even if the result is unchanged.
    ///   - resume: whether the client gets resume tags, and what it holds.
    ///   - subjects: the subscription counts against their quotas until it is stopped.
    /// - Returns: the result that the gateway already has, which the session delivers to itself.
    /// - Throws: `.limitExceeded`.
    mutating func follow(
        _ id: String, _ resolved: ResolvedOperation, known: KnownResult?, for session: any LiveSession,
        takesNewTokens: Bool = false, reportsTimerRuns: Bool = false, delta: DeltaState = .off,
        resume: ResumeState = .off, subjects: [QuotaSubject]
    ) throws(RequestError) -> SessionDelivery? {
        try executor.quotas.acquire(.subscription(of: resolved.liveQuery.key), for: subjects)
        do throws(RequestError) {
            let (handle, immediate) = try hub.subscribe(
                session, id: id, query: resolved.liveQuery, known: known, reportsTimerRuns: reportsTimerRuns,
                confirmsKnown: resume.isOn, client: executor.quotas.client(of: subjects))
            let operation = FollowedOperation(
                resolved, handle: handle, takesNewTokens: takesNewTokens, delta: delta, resume: resume,
                subjects: subjects)
            if let former = followed.updateValue(operation, forKey: id) {
                results.ended(id: id)
                end(former, lingers: true)
            }
            return immediate
        } catch {
            executor.quotas.release(.subscription(of: resolved.liveQuery.key), for: subjects)
            throw error
        }
    }

    /// Decides about a delivery to a followed operation.
    mutating func deliver(
        _ delivery: SessionDelivery, id: String, to operation: FollowedOperation, unwrittenBytes: Int
    ) -> DeliveryDecision<SharedResult> {
        operation.deliver(delivery, id: id, into: &results, unwrittenBytes: unwrittenBytes, executor)
    }

    /// Returns the result to write next, if the connection keeps up.
    mutating func next(unwrittenBytes: Int) -> (id: String, result: SharedResult)? {
        guard let (id, result) = results.next(unwrittenBytes: unwrittenBytes) else { return nil }
        return (id, result)
    }

    /// Stops following an operation and drops the response of a one-shot operation, which runs on: a mutation is not
    /// undone.
    /// - Parameter lingers: whether the client may be back soon; false if it ended the operation itself.
    /// - Returns: whether it was followed.
    @discardableResult
    mutating func stop(_ id: String, lingers: Bool = true) -> Bool {
        oneShots.giveUp(id)
        results.ended(id: id)
        guard let operation = followed.removeValue(forKey: id) else { return false }
        end(operation, lingers: lingers)
        return true
    }

    /// Stops everything, because the session ends.
    mutating func stopAll() {
        for operation in followed.values { end(operation, lingers: true) }
        followed = [:]
        results.removeAll()
        for task in oneShots.giveUpAll() { task.cancel() }
    }

    private func end(_ operation: FollowedOperation, lingers: Bool) {
        let mayLinger = executor.quotas.release(
            .subscription(of: operation.handle.key), for: operation.subjects, lingers: lingers)
        hub.unsubscribe(operation.handle, lingers: mayLinger)
    }
}
