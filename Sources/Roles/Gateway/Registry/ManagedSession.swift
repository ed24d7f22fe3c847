package import LiveModel

/// A session as the registry sees it. Used on its event loop only.
package protocol ManagedSession: AnyObject {
    /// Asks the client to reconnect elsewhere: the node drains, or an operator ends the session.
    func goAway()
    /// Ends the operations of an identity that is no longer accepted.
    func recheckIdentity()
    /// Tells the client what to drop from its cache, if it asked for that.
    func invalidate(_ invalidations: Invalidations)
    /// The client protocol, for operators.
    var protocolName: String { get }
    /// The number of live queries followed, for operators.
    var subscriptionCount: Int { get }
    /// The user, or the name of the API key, for operators; nil for a signed-out sender or several senders.
    var user: String? { get }
    /// Returns some of the live queries followed, at most `max`, for operators.
    func followedKeys(max: Int) -> [LiveQueryKey]
    /// The identity, and what the client has of each live query, for operators.
    var inspection: SessionInspection { get }
}

extension ManagedSession {
    package func invalidate(_ invalidations: Invalidations) {}
    package var subscriptionCount: Int { 1 }
    package var user: String? { nil }
    package func followedKeys(max: Int) -> [LiveQueryKey] { [] }
    package var inspection: SessionInspection { SessionInspection() }
}

extension ClientSession: ManagedSession {}
extension ResultStream: ManagedSession {}
extension SharedStreamSession: ManagedSession {}
