package import Broker

/// A node's view of its cluster: the broker, its copies of overrides, revocations and invalidations, and its own
/// membership.
package struct ClusterMember: Sendable {
    package let broker: any Broker
    package let overrideList: OverrideList
    package let revocations: RevocationList
    package let invalidations: InvalidationList
    package let membership: Membership

    package init(
        broker: any Broker, overrideList: OverrideList, revocations: RevocationList,
        invalidations: InvalidationList, membership: Membership
    ) {
        self.broker = broker
        self.overrideList = overrideList
        self.revocations = revocations
        self.invalidations = invalidations
        self.membership = membership
    }
}
