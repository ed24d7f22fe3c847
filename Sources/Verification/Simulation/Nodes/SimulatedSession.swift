import LiveModel
import Sessions

/// A client's connection, as its gateway sees it.
protocol SimulatedSession: AnyObject {
    var order: SimulatedOrder { get }
    /// The version of the project under which it began.
    var version: Digest { get }
    var subscriptions: [any SimulatedSubscription] { get }
    /// The results that wait to be written; one of a subscription at most.
    var pendingCount: Int { get }
    /// Ends it on the gateway's side; the client notices.
    /// - Parameter isKilled: whether it ends because the process was killed.
    func end(isKilled: Bool)
}

/// A live query that a session follows, as its gateway sees it.
protocol SimulatedSubscription: AnyObject {
    var session: any SimulatedSession { get }
    var order: SimulatedOrder { get }
    var query: LiveQuery { get }
    var hub: Int { get }
    /// Whether the client gets a message for each timer run, even if nothing changed.
    var reportsTimerRuns: Bool { get }
    /// Whether the client gets a confirmation of the result that it holds, if that is still current.
    var confirmsKnown: Bool { get }
    var handle: Hub.Handle? { get set }
    /// When the client, which held nothing, subscribed, by the gateway's clock; nil: it has heard something since.
    var silentSinceMs: Int64? { get set }
    func deliver(_ update: Hub.Update)
}

/// A fixed order of sessions and subscriptions for the timeline, since dictionaries have none.
struct SimulatedOrder: Comparable {
    let client: Int
    /// The number among the client's connections.
    let connection: Int
    /// The number among the connection's subscriptions.
    var subscription = 0

    static func < (left: SimulatedOrder, right: SimulatedOrder) -> Bool {
        (left.client, left.connection, left.subscription) < (right.client, right.connection, right.subscription)
    }
}
