package import LiveModel

/// The nodes of a node list whose processes are not known to have ended. The assignment of shards and the reports to
/// operators both follow from it.
package struct LiveNodes: Sendable, Hashable {
    package let nodes: [NodeRecordPayload]

    /// - Parameters:
    ///   - ended: the processes that have certainly ended.
    ///   - node: the node that asks, which lives.
    package init(_ nodes: [NodeRecordPayload], ended: Set<ProcessIdentity>, askedBy node: NodeID) {
        self.nodes = nodes.filter { !Self.hasEnded($0, ended, askedBy: node) }
    }

    static func hasEnded(_ node: NodeRecordPayload, _ ended: Set<ProcessIdentity>, askedBy own: NodeID) -> Bool {
        node.id != own && node.process.map(ended.contains) ?? false
    }

    /// The workers that share the shards.
    package var workers: [NodeID] { nodes.filter { $0.roles.contains(.worker) && !$0.isDraining }.map(\.id) }

    /// Whether all workers, draining ones included, know marks of unfollowed shards.
    package var knowUnfollowedShards: Bool {
        nodes.allSatisfy { !$0.roles.contains(.worker) || $0.knowsUnfollowedShards }
    }

    package var gateways: Set<NodeID> { Set(nodes.filter { $0.roles.contains(.gateway) }.map(\.id)) }
}
