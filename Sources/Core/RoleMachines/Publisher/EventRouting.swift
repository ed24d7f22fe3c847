package import LiveModel
import Sharding

/// A snapshot of what a node's catalogs say about publishing.
package protocol PublishingRules {
    /// The greatest deployment id that is loaded, together with all earlier ones.
    var loadedDeployment: Int64 { get }
    /// The queries that a mutation can refresh, in all served versions; nil: it may concern any query.
    func queriesRefreshed(by mutation: OperationReference) -> [OperationReference]?
    /// The parts of the writer's `auth` that conditions on the mutation read.
    func authReads(of mutation: OperationReference) -> AuthReads
    /// The fields, by table, whose values events tell of changed rows; nil if no query refreshes by them, so that
    /// events tell no changes.
    var recordedFields: [String: RecordedFields]? { get }
}

extension PublishingRules {
    /// The queries that an event concerns; nil: it goes to every shard, as a marker does.
    func queries(concernedBy mutation: OperationReference) -> [OperationReference]? {
        mutation == MutationEvent.marker ? nil : queriesRefreshed(by: mutation)
    }
}

/// An event to append to the streams of some shards.
package struct Publication: Sendable, Hashable {
    package let row: OutboxRow
    package let shards: [ShardID]

    package init(row: OutboxRow, shards: [ShardID]) {
        self.row = row
        self.shards = shards
    }

    /// The bytes to send to the broker.
    var byteCount: Int { row.event.count * shards.count }
}

/// Chooses the shards that must receive a committed event.
struct EventRouting: Sendable {
    let shardCount: Int

    var allShards: [ShardID] { ShardID.all(count: shardCount) }

    /// Returns the shards according to `overrides`, which were confirmed after the event's commit, and those named in
    /// its row; without those that nobody follows.
    /// - Parameter mutation: nil for a row without a readable event, which may concern any query.
    func shards(
        of row: OutboxRow, mutation: OperationReference?, overrides: ClusterOverrides, rules: some PublishingRules,
        nowMs: Int64
    ) -> Set<ShardID> {
        guard let mutation, let queries = rules.queries(concernedBy: mutation) else {
            return Set(allShards).subtracting(overrides.unfollowed)
        }
        return Set(row.shards).union(
            ShardRouting.shards(of: queries, shardCount: shardCount, overrides: overrides, nowMs: nowMs)
        ).subtracting(overrides.unfollowed)
    }

    /// Groups publications into batches of at most `bytesMax`; a larger event forms its own batch.
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

/// The reason why a call to the broker or the database failed.
package struct StepFailure: Error, Sendable, Hashable {
    package let reason: String

    package init(_ reason: String) { self.reason = reason }
}
