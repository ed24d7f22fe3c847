import LiveModel

/// The numbers of a worker's live queries, unique across its shards, with the shard that holds each.
struct SlotTable: Sendable {
    private var shards: [Int32: ShardID] = [:]
    private var last: Int32 = 0

    var count: Int { shards.count }
    /// The greatest slot in use was at most this one, unless numbers are used again.
    var lastTaken: Int32 { last }

    /// Returns nil if the live query ended.
    func shard(of slot: Int32) -> ShardID? { shards[slot] }

    mutating func take(for shard: ShardID) -> Int32 {
        // A number is reused only after all others.
        repeat { last = last == .max ? 0 : last + 1 } while shards[last] != nil
        shards[last] = shard
        return last
    }

    mutating func release(_ slot: Int32) {
        guard shards.removeValue(forKey: slot) != nil else {
            preconditionFailure("slot \(slot) is not taken; \(count) are, the last was \(last)")
        }
    }
}
