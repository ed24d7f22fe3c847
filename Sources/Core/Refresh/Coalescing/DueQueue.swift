import DequeModule
import LiveModel

/// The due live queries, grouped by operation, so that those of one operation share a statement.
///
/// Operations take turns; otherwise a hot one would starve the rest. A slot is queued at most once per turn, and
/// `RunSchedule` removes the slots of live queries that ended, so the queue is bounded by the number of live queries.
struct DueQueue: Sendable {
    /// The live queries that one statement can serve: those of one version of a stored operation.
    struct Group: Hashable, Sendable {
        let operation: OperationReference
        let version: Digest
        /// Live queries whose last run failed at another server run separately, so that the others do not wait for
        /// them.
        var hasFailed = false
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

    /// Takes the next operation's turn: up to `limit` slots, first come, first served. Nil if the queue is empty.
    mutating func next(limit: Int) -> (group: Group, slots: [Int32])? {
        guard let group = turns.popFirst(), var slots = waiting.removeValue(forKey: group) else { return nil }
        let taken = Array(slots.prefix(limit))
        slots.removeFirst(taken.count)
        if !slots.isEmpty {
            waiting[group] = slots
            turns.append(group)
        }
        count -= taken.count
        return (group, taken)
    }
}
