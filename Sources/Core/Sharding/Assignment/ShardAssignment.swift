package import LiveModel

/// Assigns shards to workers by rendezvous hashing: a pure function of (live workers, shard).
///
/// Every node computes the same answer from the same list; a worker that joins or leaves moves only the shards that it
/// gains or loses.
package enum ShardAssignment {
    /// Returns the worker that should own a shard.
    /// - Returns: nil if there are no workers.
    package static func owner(of shard: ShardID, among workers: some Sequence<NodeID>) -> NodeID? {
        owner(of: UInt64(shard.number), among: workers)
    }

    private static func owner(of number: UInt64, among workers: some Sequence<NodeID>) -> NodeID? {
        var best: (weight: UInt64, worker: NodeID)?
        for worker in workers {
            let weight = weight(of: worker, for: number)
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

    /// Returns the node that does a periodic task of the cluster at this time.
    /// - Returns: nil if there are no nodes.
    package static func node(for timeMs: Int64, among nodes: some Sequence<NodeID>) -> NodeID? {
        owner(of: UInt64(bitPattern: timeMs), among: nodes)
    }

    private static func weight(of worker: NodeID, for number: UInt64) -> UInt64 {
        var hash = StableHash()
        hash.combine(worker.name)
        hash.combine(number)
        return hash.value
    }
}
