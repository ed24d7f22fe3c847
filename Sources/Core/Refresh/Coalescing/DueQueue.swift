import DequeModule
import LiveModel

/// The due live queries, grouped by operation, so that those of one operation share a statement.
///
/// Groups take turns; otherwise a hot operation would starve the rest. A slot is queued at most once per turn, and
/// `RunSchedule` removes the slots of live queries that ended, so the queue is bounded by the number of live queries.
struct DueQueue: Sendable {
    /// The live queries that one statement can serve: those of one version of a stored operation, and of one kind, so
    /// that none waits for others that are known to take longer, or may.
    struct Group: Hashable, Sendable {
        enum Kind: Hashable, Sendable {
            case ordinary
            /// Live queries that have not run yet: nothing is known of their speed.
            case firstRuns
            /// Their last run failed at another server.
            case failedRemote
            /// Live queries of batches that were cut short; at most `batchMax` run together.
            case suspect(batchMax: Int)
            /// Known to take long: each runs alone.
            case alone
        }

        let operation: OperationReference
        let version: Digest
        var kind = Kind.ordinary
        /// The other servers that a run waits for.
        var servers: [String] = []
    }

    private var waiting: [Group: Deque<Int32>] = [:]
    private var turns: Deque<Group> = []
    private(set) var count = 0

    mutating func append(_ slot: Int32, to group: Group) {
        if waiting[group]?.append(slot) == nil {
            waiting[group] = [slot]
            turns.append(group)
        }
        count += 1
    }

    /// Drops all unwanted slots. Linear.
    mutating func keep(_ isWanted: (Int32) -> Bool) {
        for group in turns { waiting[group]?.removeAll { !isWanted($0) } }
        turns.removeAll { waiting[$0]?.isEmpty != false }
        waiting = waiting.filter { !$0.value.isEmpty }
        count = waiting.values.reduce(0) { $0 + $1.count }
    }

    /// Whether a group other than those has a turn.
    func hasTurn(except isBlocked: (Group) -> Bool) -> Bool { turns.contains { !isBlocked($0) } }

    /// Takes the next turn of a group that may run: up to `limit` slots, first come, first served. Nil if there is
    /// none.
    mutating func next(
        limit: (Group) -> Int, except isBlocked: (Group) -> Bool
    ) -> (group: Group, slots: [Int32])? {
        guard let index = turns.firstIndex(where: { !isBlocked($0) }) else { return nil }
        let group = turns.remove(at: index)
        guard var slots = waiting.removeValue(forKey: group) else {
            preconditionFailure("\(group) has a turn, but nothing waits")
        }
        let taken = Array(slots.prefix(max(1, limit(group))))
        slots.removeFirst(taken.count)
        if !slots.isEmpty {
            waiting[group] = slots
            turns.append(group)
        }
        count -= taken.count
        return (group, taken)
    }
}
