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
}

extension ManagedSession {
    package var subscriptionCount: Int { 1 }
}

extension ClientSession: ManagedSession {}
extension ResultStream: ManagedSession {}
extension SharedStreamSession: ManagedSession {}
