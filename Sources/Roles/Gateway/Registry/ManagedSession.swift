package import LiveModel

/// A session as the registry sees it. Used on its event loop only.
package protocol ManagedSession: AnyObject {
    /// Asks the client to reconnect elsewhere: the node drains, or an operator ends the session.
    func goAway()
    /// Ends the operations of an identity that is no longer accepted.
    func recheckIdentity()
    /// The client protocol, for operators.
    var protocolName: String { get }
    /// The number of live queries followed, for operators.
    var subscriptionCount: Int { get }
    /// The identity, and what the client has of each live query, for operators.
    var inspection: SessionInspection { get }
}

/// A session as operators look into it.
package struct SessionInspection: Sendable {
    package struct Subscription: Sendable {
        /// The client's name for it; empty where there is one only.
        package let id: String
        package let key: LiveQueryKey
        /// What the client was last sent; nil if that is not known.
        package let known: KnownResult?
        /// Whether it waits for a new token.
        package let isSuspended: Bool
    }

    /// Empty if signed out.
    package var uid: String
    /// When the token expires, in milliseconds since 1970; nil without a limit.
    package var expiresAtMs: Int64?
    /// Bytes that the client has yet to read.
    package var pendingBytes: Int
    /// Results that wait until it reads.
    package var queuedResults: Int
    package var subscriptions: [Subscription]
}

extension ManagedSession {
    package var subscriptionCount: Int { 1 }
}

extension ClientSession: ManagedSession {}
extension ResultStream: ManagedSession {}
extension SharedStreamSession: ManagedSession {}
