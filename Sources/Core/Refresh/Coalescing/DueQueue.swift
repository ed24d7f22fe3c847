import DequeModule
import LiveModel

/// Live queries whose turn has come, by operation, so that those of one operation share a statement.
///
/// Operations take turns, or a hot one would starve the rest. A slot is in it at most once per turn, and `RunSchedule`
/// sweeps out those of live queries that ended, so it is bounded by the number of live queries.
struct DueQueue: Sendable {
    /// Live queries that one statement can serve: of the same stored operation in the same version.
    struct Group: Hashable, Sendable {
        let operation: OperationReference
        let version: Digest
        /// Live queries whose last run failed at another server run apart, so that the others do not wait for them.
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

    /// Drops all other slots. Linear.
    mutating func keep(_ isWanted: (Int32) -> Bool) {
        for group in turns { waiting[group]?.removeAll { !isWanted($0) } }
        turns.removeAll { waiting[$0]?.isEmpty != false }
        waiting = waiting.filter { !$0.value.isEmpty }
        count = waiting.values.reduce(0) { $0 + $1.count }
    }

    /// The next operation's turn: up to `limit` slots, first come first served. Nil if nothing waits.
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
