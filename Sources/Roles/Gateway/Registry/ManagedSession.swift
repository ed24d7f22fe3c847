/// A session as the registry knows it. Touched on its event loop only.
package protocol ManagedSession: AnyObject {
    /// Sends the client elsewhere: the node drains, or an operator ends the session.
    func goAway()
    /// Ends what runs on an identity that is no longer accepted.
    func recheckIdentity()
    /// For operators: what it speaks, and how many live queries it follows.
    var protocolName: String { get }
    var subscriptionCount: Int { get }
}

extension ManagedSession {
    package var subscriptionCount: Int { 1 }
}

extension ClientSession: ManagedSession {}
extension ResultStream: ManagedSession {}
extension SharedStreamSession: ManagedSession {}
