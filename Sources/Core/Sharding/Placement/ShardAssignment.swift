package import LiveModel

/// Assigns shards to workers by rendezvous hashing: a pure function of (live workers, shard).
///
/// Every node computes the same answer from the same list; a worker that joins or leaves moves only the shards that it
/// gains or loses.
package enum ShardAssignment {
    /// Returns the worker that should own a shard.
    /// - Returns: nil if there are no workers.
    package static func owner(of shard: ShardID, among workers: some Sequence<NodeID>) -> NodeID? {
        var best: (weight: UInt64, worker: NodeID)?
        for worker in workers {
            let weight = weight(of: worker, for: shard)
            if let current = best, (current.weight, current.worker) >= (weight, worker) { continue }
            best = (weight, worker)
        }
        return best?.worker
    }

    /// Returns the owner with an operator's override: `movedTo` owns the shard while it is among the workers.
    package static func owner(
        of shard: ShardID, among workers: some Sequence<NodeID>, movedTo: NodeID?
    ) -> NodeID? {
        if let movedTo, workers.contains(movedTo) { return movedTo }
        return owner(of: shard, among: workers)
    }

    /// Returns all shards that `worker` should own.
    /// - Parameter movedShards: shards that an operator moved, with the worker; ignored for a worker that is not alive.
    package static func shards(
        of worker: NodeID, among workers: [NodeID], shardCount: Int, movedShards: [ShardID: NodeID] = [:]
    ) -> Set<ShardID> {
        Set(
            ShardID.all(count: shardCount).filter {
                owner(of: $0, among: workers, movedTo: movedShards[$0]) == worker
            })
    }

    private static func weight(of worker: NodeID, for shard: ShardID) -> UInt64 {
        var hash = StableHash()
        hash.combine(worker.name)
        hash.combine(UInt64(shard.number))
        return hash.value
    }
}

/// FNV-1a with a final mix: the same in every process and on every machine, unlike Swift's `Hasher`.
struct StableHash {
    private var state: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func combine(_ text: String) {
        for byte in text.utf8 { combine(byte) }
        combine(UInt8(0xff))  // no UTF-8 text contains it, so ("a","bc") and ("ab","c") differ
    }

    mutating func combine(_ number: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) { combine(UInt8(truncatingIfNeeded: number >> UInt64(shift))) }
    }

    private mutating func combine(_ byte: UInt8) {
        state = (state ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
    }

    var value: UInt64 {
        var mixed = state
        mixed = (mixed ^ (mixed >> 33)) &* 0xff51_afd7_ed55_8ccd
        mixed = (mixed ^ (mixed >> 33)) &* 0xc4ce_b9fe_1a85_ec53
        return mixed ^ (mixed >> 33)
    }
}
