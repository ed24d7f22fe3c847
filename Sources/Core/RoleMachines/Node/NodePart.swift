package import LiveModel

/// The parts of a node that begin to work when it starts, and end when it stops.
///
/// Each part has started before the next one does, and has ended before the next one ends.
package enum NodePart: String, Sendable, Hashable, CaseIterable {
    /// The node's entry in the node list; started when the first attempt to write it has ended.
    case membership
    /// The versions of the project; started when the node has tried to load all that are deployed.
    case deployments
    /// The gateway's inbox and its announcements of interest.
    case gateway
    /// Sessions of clients and their requests.
    case sessions
    /// The worker's shards.
    case worker
    /// The publication of changes that the database's log tells.
    case tailer
    /// The publication of outbox rows that other nodes left.
    case sweeper

    /// Returns the parts of a node in the order of their start.
    ///
    /// A gateway is in the node list before it announces interest, because workers drop the interest of unlisted
    /// gateways. The deployments are loaded after that: a rollout does not wait for a node that was not in the list
    /// when the version was announced.
    package static func startOrder(of roles: Set<Role>) -> [NodePart] {
        allCases.filter { $0.isPart(of: roles) }
    }

    /// Returns the parts of a node in the order of their end.
    ///
    /// The entry goes first, so that nothing new is assigned to the node. The gateway works until its sessions have
    /// ended. A node has nothing to do at the turn of the deployments, the tailer and the sweeper, which end with its
    /// tasks.
    package static func stopOrder(of roles: Set<Role>) -> [NodePart] {
        [.membership, .sweeper, .tailer, .worker, .sessions, .gateway, .deployments].filter { $0.isPart(of: roles) }
    }

    private func isPart(of roles: Set<Role>) -> Bool {
        switch self {
        case .membership, .deployments, .sessions: true
        case .gateway: roles.contains(.gateway)
        case .worker: roles.contains(.worker)
        case .tailer: roles.readLog
        case .sweeper: !roles.isDisjoint(with: [.api, .worker, .tailer])
        }
    }
}
