package import LiveModel

/// Which nodes are asked for their parts of a report. Pure.
struct PeerPlan: Sendable, Hashable {
    /// A node that is asked at its admin address.
    struct Peer: Sendable, Hashable {
        let node: NodeID
        let address: String
    }

    /// Whether the asked node's own part is wanted.
    private(set) var includesOwn = false
    private(set) var peers: [Peer] = []
    private(set) var unreachable: [UnreachableNode] = []

    /// - Parameters:
    ///   - own: the node that gathers.
    ///   - nodes: the nodes in the cluster's list, in which `own` may be missing.
    ///   - only: the node whose part is wanted; nil: every node's.
    ///   - roles: the roles of which a node needs one to have a part; empty: every node has one.
    ///   - peersMax: the limit of nodes to ask.
    /// - Throws: `.notFound` if the list has no node `only`.
    init(
        own: NodeID, nodes: [NodeRecordPayload], only: NodeID?, roles: Set<Role>, peersMax: Int
    ) throws(RequestError) {
        if only == nil || only == own { includesOwn = true }
        if only == own { return }
        var chosen = nodes.filter { $0.id != own }.sorted { $0.id < $1.id }
        if let only {
            chosen = chosen.filter { $0.id == only }
            if chosen.isEmpty {
                let names = nodes.map(\.id.name).sorted().joined(separator: ", ")
                throw RequestError(.notFound, "no live node \"\(only)\"; live nodes: \(names)")
            }
        } else if !roles.isEmpty {
            chosen = chosen.filter { !$0.roles.isDisjoint(with: roles) }
        }
        for node in chosen {
            if node.adminAddress.isEmpty {
                unreachable.append(UnreachableNode(node: node.id, reason: "it does not have the role admin"))
            } else if peers.count >= peersMax {
                unreachable.append(
                    UnreachableNode(node: node.id, reason: "it was not asked: admin.peersMax is \(peersMax)"))
            } else {
                peers.append(Peer(node: node.id, address: node.adminAddress))
            }
        }
    }
}
