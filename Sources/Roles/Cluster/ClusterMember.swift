package import Broker

/// A node's view of its cluster: the broker, its copies of overrides and revocations, and its own membership.
package struct ClusterMember: Sendable {
    package let broker: any Broker
    package let directory: ClusterDirectory
    package let revocations: RevocationList
    package let membership: Membership

    package init(
        broker: any Broker, directory: ClusterDirectory, revocations: RevocationList, membership: Membership
    ) {
        self.broker = broker
        self.directory = directory
        self.revocations = revocations
        self.membership = membership
    }
}
