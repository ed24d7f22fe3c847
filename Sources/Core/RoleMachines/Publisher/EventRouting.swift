package import LiveModel
import Sharding

/// What the catalogs of a node say about publishing, at one time.
package protocol PublishingRules {
    /// The greatest id of deployments that is loaded, with all before it.
    var generation: Int64 { get }
    /// The queries, of all versions that are served, which a mutation can refresh.
    func queriesRefreshed(by mutation: OperationReference) -> [OperationReference]
}

/// An event on its way to the streams of some shards.
package struct Publication: Sendable, Hashable {
    package let row: OutboxRow
    package let shards: [ShardID]

    package init(row: OutboxRow, shards: [ShardID]) {
        self.row = row
        self.shards = shards
    }

    /// Bytes that go to the broker.
    var byteCount: Int { row.event.count * shards.count }
}

/// Chooses the shards that must receive a committed event.
struct EventRouting: Sendable {
    let shardCount: Int

    var allShards: [ShardID] { (0..<shardCount).map { ShardID($0) } }

    /// The shards by `overrides`, which were confirmed after the event's commit, and those that its row names.
    /// - Parameter mutation: nil for a row without a readable event: it may concern any query.
    func shards(
        of row: OutboxRow, mutation: OperationReference?, overrides: ClusterOverrides, rules: some PublishingRules,
        nowMs: Int64
    ) -> Set<ShardID> {
        guard let mutation else { return Set(allShards) }
        return Set(row.shards).union(
            ShardRouting.shards(
                of: rules.queriesRefreshed(by: mutation), shardCount: shardCount, orders: overrides, nowMs: nowMs))
    }

    /// Publications in batches of at most `bytesMax`; a larger event goes alone.
    static func batches(of publications: [Publication], bytesMax: Int) -> [[Publication]] {
        var batches: [[Publication]] = []
        var bytes = 0
        for publication in publications where !publication.shards.isEmpty {
            if batches.isEmpty || bytes + publication.byteCount > bytesMax {
                batches.append([])
                bytes = 0
            }
            batches[batches.count - 1].append(publication)
            bytes += publication.byteCount
        }
        return batches
    }
}

/// Why a call to the broker or the database failed.
package struct StepFailure: Error, Sendable, Hashable {
    package let reason: String

    package init(_ reason: String) { self.reason = reason }
}
