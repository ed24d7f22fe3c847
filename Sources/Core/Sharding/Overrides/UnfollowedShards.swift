package import LiveModel

/// The shards that are marked as unfollowed, as a node learns of them with the node list.
package struct UnfollowedShards: Sendable, Hashable {
    package var marked: Set<ShardID>
    /// Whether every listed worker knows such marks: the queries of one that does not would miss changes.
    package var areKnownToAll: Bool

    package init(marked: Set<ShardID> = [], areKnownToAll: Bool = false) {
        self.marked = marked
        self.areKnownToAll = areKnownToAll
    }
}
