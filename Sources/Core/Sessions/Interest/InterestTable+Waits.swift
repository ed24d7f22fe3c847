import LiveModel

/// The waits of sessions, which depend on what live queries hold.
extension InterestTable {
    /// Whether what the gateway holds of a live query may be from before the last marker or ticket of its shard. A
    /// function of these tables alone, so that the waits can change meanwhile.
    private var owes: (LiveQueryKey) -> Bool {
        { [entries, shards] key in
            guard let entry = entries[key] else { return false }
            return entry.isAwaiting || shards[entry.route.shard]?.unconfirmed.contains(key) == true
        }
    }

    /// Notes a change of a live query, or its end.
    mutating func noteWaited(_ key: LiveQueryKey) {
        if waits.awaits(key), !owes(key) { answeredKeys.append(key) }
    }

    /// Ends the waiting for live queries that have answered; those that owe another answer by now are left out.
    mutating func takeAnsweredWaits(nowMs: Int64) -> [WaitTable.Step] {
        if answeredKeys.isEmpty { return [] }
        let (owes, shard) = (owes, shardOfKey)
        let answered = answeredKeys.filter { !owes($0) }
        answeredKeys = []
        return answered.flatMap { waits.answered($0, shard: shard, nowMs: nowMs) }
    }

    private var shardOfKey: (LiveQueryKey) -> ShardID? { { [entries] in entries[$0]?.route.shard } }

    /// The event of a wait is in the shards' streams.
    mutating func appended(_ id: InterestMachine.WaitID, nowMs: Int64) -> [WaitTable.Step] {
        let (shard, entries) = (shardOfKey, entries)
        return waits.appended(
            id, shard: shard, awaitsFirst: { entries[$0]?.isAwaiting == true }, nowMs: nowMs)
    }

    /// Live queries have moved to other shards.
    mutating func movedWaits(nowMs: Int64) -> [WaitTable.Step] {
        let shard = shardOfKey
        return waits.moved(shard: shard, nowMs: nowMs)
    }

    /// A ticket of a shard's owner came back.
    mutating func ticketArrived(
        _ number: UInt64, of shard: ShardID, epoch: UInt64, nowMs: Int64
    ) -> [WaitTable.Step] {
        ownerPassed(shard, epoch: epoch)
        let owes = owes
        return waits.arrived(shard, number, owes: owes, nowMs: nowMs)
    }
}
