package import Broker

/// A node's view of its cluster: the broker, its copies of overrides and revocations, and its own membership.
package struct ClusterMember: Sendable {
    package let broker: any Broker
    package let overrideList: OverrideList
    package let revocations: RevocationList
    package let membership: Membership

    package init(
        broker: any Broker, overrideList: OverrideList, revocations: RevocationList, membership: Membership
    ) {
        self.broker = broker
        self.overrideList = overrideList
        self.revocations = revocations
        self.membership = membership
    }
}
