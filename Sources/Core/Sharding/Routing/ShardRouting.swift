package import LiveModel

/// Routes live queries to shards. A live query belongs to the shard of its operation's name, so that live queries that
/// share statements and rules are together; a hot operation's live queries are split over several shards by their keys.
///
/// The first shard depends on the operation alone, whatever its splits. The shards of fewer splits are a prefix of
/// those of more, and no two splits of one operation share a shard.
package enum ShardRouting {
    /// The maximum number of shards that one operation can be split over.
    package static let splitsMax = 64

    /// Returns the first shard of an operation.
    package static func shard(of operation: OperationReference, shardCount: Int) -> ShardID {
        ShardID(Int(hash(of: operation).value % UInt64(shardCount)))
    }

    /// Returns the shards of the operation's first `splits` splits, in order; at most `shardCount`.
    package static func shards(of operation: OperationReference, splits: Int, shardCount: Int) -> [ShardID] {
        let first = shard(of: operation, shardCount: shardCount).number
        let step = step(of: operation, shardCount: shardCount)
        return (0..<max(1, min(splits, shardCount))).map { ShardID((first + $0 * step) % shardCount) }
    }

    /// Returns the split of an operation that a live query belongs to. A change from n to m splits moves only what must
    /// move.
    package static func split(of key: LiveQueryKey, splits: Int) -> Int {
        // Jump consistent hash (Lamping, Veach 2014, https://arxiv.org/abs/1406.2294).
        var state = key.digest.prefix
        var bucket: Int64 = -1
        var next: Int64 = 0
        while next < Int64(splits) {
            bucket = next
            state = state &* 2_862_933_555_777_941_757 &+ 1
            next = Int64(Double(bucket + 1) * (Double(Int64(1) << 31) / Double((state >> 33) + 1)))
        }
        return Int(max(0, bucket))
    }

    /// Returns the shards whose workers must receive a mutation, given the queries it could refresh, ascending and
    /// without duplicates.
    package static func shards(
        of queries: some Sequence<OperationReference>, shardCount: Int,
        overrides: ClusterOverrides = ClusterOverrides(),
        nowMs: Int64 = 0
    ) -> [ShardID] {
        // Usually few: searching an array is faster than building a set.
        var found: [ShardID] = []
        func add(_ shard: ShardID) { if !found.contains(shard) { found.append(shard) } }
        for query in queries {
            let splits = overrides.splits.isEmpty ? 1 : overrides.splits[query]?.receivingSplits(nowMs: nowMs) ?? 1
            if splits <= 1 {
                add(shard(of: query, shardCount: shardCount))
            } else {
                for shard in shards(of: query, splits: splits, shardCount: shardCount) { add(shard) }
            }
        }
        return found.sorted()
    }

    /// Returns the shard that a live query belongs to.
    package static func route(of query: LiveQuery, shardCount: Int, overrides: ClusterOverrides) -> ShardRoute {
        guard let setting = overrides.splits[query.operation], setting.splits > 1 else {
            return ShardRoute(shard(of: query.operation, shardCount: shardCount))
        }
        let shards = shards(of: query.operation, splits: setting.splits, shardCount: shardCount)
        let split = split(of: query.key, splits: shards.count)
        return ShardRoute(shards[split], version: split == 0 ? 0 : setting.version)
    }

    /// Returns a step whose multiples reach every shard.
    private static func step(of operation: OperationReference, shardCount: Int) -> Int {
        guard shardCount > 2 else { return 1 }
        var hash = hash(of: operation)
        hash.combine(1 as UInt64)
        var step = 1 + Int(hash.value % UInt64(shardCount - 1))
        while greatestCommonDivisor(step, shardCount) != 1 { step = step % (shardCount - 1) + 1 }
        return step
    }

    private static func greatestCommonDivisor(_ left: Int, _ right: Int) -> Int {
        right == 0 ? left : greatestCommonDivisor(right, left % right)
    }

    private static func hash(of operation: OperationReference) -> StableHash {
        var hash = StableHash()
        hash.combine(operation.connector)
        hash.combine(operation.operation)
        return hash
    }
}
