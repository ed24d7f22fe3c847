package import LiveModel
package import Sharding

/// Decides when this node commits a marker, for every shard that somebody follows.
///
/// Markers are due at the multiples of `everyMs`. Of the nodes that commit markers, each time another one does so, by
/// rendezvous hashing over the node list: a node that hangs costs one marker. Two nodes with different lists may both
/// commit one, or none may; gateways take a marker of one time once, and the next one covers one that is missing.
package struct MarkerSchedule: Sendable {
    /// 0: no markers.
    package let everyMs: Int64
    private let node: NodeID
    /// The nodes that commit markers by the last list read; nil: none was read yet.
    private var candidates: [NodeID]?

    package init(node: NodeID, everyMs: Int64) {
        self.node = node
        self.everyMs = everyMs
    }

    /// Returns when the next marker is due; nil: never.
    package func next(afterMs nowMs: Int64) -> Int64? {
        everyMs > 0 ? (nowMs / everyMs + 1) * everyMs : nil
    }

    /// Returns whether this node commits the marker.
    /// - Parameter nodes: the node list; nil if it could not be read, so that the last one counts.
    package mutating func commits(markerDueAtMs dueMs: Int64, nodes: [NodeRecordPayload]?) -> Bool {
        if let nodes { candidates = nodes.filter { $0.commitsMarkers && !$0.isDraining }.map(\.id) }
        return ShardAssignment.node(for: dueMs, among: candidates ?? [node]) == node
    }

    /// Returns the marker as a committed event would be, with its targets; nil if nobody follows a shard.
    /// - Parameters:
    ///   - id: the id of its row, a UUID.
    ///   - nowMs: milliseconds since 1970.
    package func marker(
        dueAtMs dueMs: Int64, id: String, rules: some PublishingRules, overrides: ClusterOverrides, shardCount: Int,
        nowMs: Int64
    ) -> PublisherMachine.Committed? {
        let targets = RefreshTargets(
            of: MutationEvent.marker, rules: rules, overrides: overrides, shardCount: shardCount, nowMs: nowMs)
        if targets.followedShards.isEmpty { return nil }
        let event = MutationEvent(markerDueAtMs: dueMs, id: id, committedAtMs: nowMs)
        return .init(
            row: OutboxRow(event, shards: targets.followedShards), mutation: MutationEvent.marker, targets: targets)
    }
}
