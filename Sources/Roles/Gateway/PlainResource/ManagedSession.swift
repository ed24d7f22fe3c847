/// A session that can tell its client to come back elsewhere. Touched on its event loop only.
package protocol ManagedSession: AnyObject {
    func goAway()
    /// What counts as an identity has changed: ends what runs on one that counts no more.
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
extension LongPoll {
    package var protocolName: String { "long-poll" }
}
