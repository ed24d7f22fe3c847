import JSON
import LiveModel
import RoleMachines
import Sharding

/// Four shards; mutation "Write" refreshes "First" and, since generation 2 of the catalogs, "Second".
enum PublisherFixture {
    static let shardCount = 4
    static let mutation = operation("Write")
    static let first = operation("First")
    static let second = operation("Second")

    struct Rules: PublishingRules {
        var generation: Int64 = 1

        func queriesRefreshed(by mutation: OperationReference) -> [OperationReference] {
            guard mutation == PublisherFixture.mutation else { return [] }
            return generation > 1 ? [first, second] : [first]
        }
    }

    static func operation(_ name: String) -> OperationReference {
        OperationReference(connector: "c", operation: name)
    }

    static func shard(of operation: OperationReference) -> ShardID {
        ShardRouting.shard(of: operation, shardCount: shardCount)
    }

    static func shards(of operation: OperationReference, splits: Int) -> [ShardID] {
        ShardRouting.shards(of: operation, splits: splits, shardCount: shardCount)
    }

    static func overrides(generation: UInt64, splitsOfFirst: Int = 1) -> ClusterOverrides {
        var overrides = ClusterOverrides()
        overrides.generation = generation
        if splitsOfFirst > 1 {
            overrides.splits[first] = .init(
                splits: splitsOfFirst, formerSplits: 1, untilMs: 0, version: generation)
        }
        return overrides
    }

    static func row(_ id: String, mutation: OperationReference = mutation) -> OutboxRow {
        let event = MutationEvent(
            id: id, operation: mutation, variables: [:], auth: .null, keysWritten: [], traceID: "", committedAtMs: 0)
        return OutboxRow(event, shards: [shard(of: first)])
    }

    /// Committed by overrides and catalogs of generation 1.
    static func committed(_ id: String) -> PublisherMachine.Committed {
        .init(row: row(id), mutation: mutation, generation: 1, catalogGeneration: 1)
    }
}
