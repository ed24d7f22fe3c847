import JSON
import LiveModel
import RoleMachines
import Sharding

/// Four shards; mutation "Write" refreshes "First" and, since deployment 2, "Second".
enum PublisherFixture {
    static let shardCount = 4
    static let mutation = operation("Write")
    static let first = operation("First")
    static let second = operation("Second")
    /// A mutation that no catalog knows.
    static let adHoc = operation("AdHoc")

    struct Rules: PublishingRules {
        var loadedDeployment: Int64 = 1
        var recordedFields: [String: RecordedFields]?

        /// A claim of the mutation's name.
        func authReads(of mutation: OperationReference) -> AuthReads {
            var reads = AuthReads()
            reads.add(path: ["token", mutation.operation])
            return reads
        }

        func queriesRefreshed(by mutation: OperationReference) -> [OperationReference]? {
            if mutation == adHoc { return nil }
            guard mutation == PublisherFixture.mutation else { return [] }
            return loadedDeployment > 1 ? [first, second] : [first]
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

    static func overrides(
        generation: UInt64, splitsOfFirst: Int = 1, unfollowed: Set<ShardID> = []
    ) -> ClusterOverrides {
        var overrides = ClusterOverrides()
        overrides.generation = generation
        if splitsOfFirst > 1 {
            overrides.splits[first] = .init(
                splits: splitsOfFirst, formerSplits: 1, untilMs: 0, version: generation)
        }
        overrides.unfollowed = unfollowed
        return overrides
    }

    static func row(_ id: String, mutation: OperationReference = mutation) -> OutboxRow {
        let event = MutationEvent(
            id: id, operation: mutation, variables: [:], auth: .null, keysWritten: [], traceID: "", committedAtMs: 0)
        return OutboxRow(event, shards: [shard(of: first)])
    }

    static func targets(
        of mutation: OperationReference, rules: Rules = Rules(), overrides: ClusterOverrides = overrides(generation: 1)
    ) -> RefreshTargets {
        RefreshTargets(of: mutation, rules: rules, overrides: overrides, shardCount: shardCount, nowMs: 0)
    }

    /// Committed by overrides and catalogs of generation 1.
    static func committed(
        _ id: String, overrides: ClusterOverrides = overrides(generation: 1)
    ) -> PublisherMachine.Committed {
        .init(row: row(id), mutation: mutation, targets: targets(of: mutation, overrides: overrides))
    }
}
