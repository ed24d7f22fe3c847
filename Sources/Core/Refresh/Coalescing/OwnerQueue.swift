import DequeModule

/// The due live queries of a pool with few runs, which take long: owners take turns, so that one with many live queries
/// delays another one's by a run each, and first results go before repeats.
///
/// No owner gets all runs of the pool at once, unless there is only one. While both wait, one run in four is a repeat.
/// A slot is queued at most once per turn, so the queue is bounded like `DueQueue`.
struct OwnerQueue: Sendable {
    typealias Owner = RunClaim.Owner

    struct Turn {
        let group: DueQueue.Group
        var slots: [Int32]
        /// The owners of the slots, each once.
        var owners: Set<Owner>
    }

    fileprivate struct Entry: Sendable {
        let slot: Int32
        let group: DueQueue.Group
    }

    fileprivate struct Lane: Sendable {
        var waiting: [Owner: Deque<Entry>] = [:]
        /// The owners with waiting live queries, the next one first.
        var turns: Deque<Owner> = []
        var count = 0
    }

    /// First results in a row before a repeat that waits.
    static let firstsInARowMax = 3
    /// The owners that are examined for live queries that can share a statement.
    static let examinedMax = 64

    private let runsPerOwnerMax: Int
    private var firsts = Lane()
    private var repeats = Lane()
    private var firstsInARow = 0
    /// The statements in flight of each owner that has any.
    private var running: [Owner: Int] = [:]
    /// The owners of each statement in flight.
    private var owners: [UInt64: Set<Owner>] = [:]

    /// - Parameter runsMax: the statements that the pool has in flight.
    init(runsMax: Int) { runsPerOwnerMax = max(1, runsMax - 1) }

    var count: Int { firsts.count + repeats.count }

    mutating func append(_ slot: Int32, to group: DueQueue.Group, _ claim: RunClaim) {
        let entry = Entry(slot: slot, group: group)
        if claim.isFirst { firsts.append(entry, of: claim.owner) } else { repeats.append(entry, of: claim.owner) }
    }

    /// Drops all unwanted slots. Linear.
    mutating func keep(_ isWanted: (Int32) -> Bool) {
        firsts.keep(isWanted)
        repeats.keep(isWanted)
    }

    /// Takes the next turn: up to `limit` live queries that can share a statement. Nil if none may run.
    mutating func next(limit: (DueQueue.Group) -> Int) -> Turn? {
        let (running, most) = (running, runsPerOwnerMax)
        let isBlocked = { (owner: Owner) in running[owner, default: 0] >= most }
        if firstsInARow >= Self.firstsInARowMax, let turn = repeats.next(limit: limit, except: isBlocked) {
            firstsInARow = 0
            return turn
        }
        if let turn = firsts.next(limit: limit, except: isBlocked) {
            // Counts only while a repeat waits, so that the first repeat does not go before a newcomer.
            firstsInARow = repeats.count > 0 ? firstsInARow + 1 : 0
            return turn
        }
        firstsInARow = 0
        return repeats.next(limit: limit, except: isBlocked)
    }

    mutating func began(_ batch: UInt64, of owners: Set<Owner>) {
        self.owners[batch] = owners
        for owner in owners { running[owner, default: 0] += 1 }
    }

    mutating func ended(_ batch: UInt64) {
        for owner in owners.removeValue(forKey: batch) ?? [] {
            let count = running[owner, default: 0] - 1
            precondition(count >= 0, "a run of \(owner) ended, but none is in flight")
            running[owner] = count == 0 ? nil : count
        }
    }
}

extension OwnerQueue.Lane {
    fileprivate mutating func append(_ entry: OwnerQueue.Entry, of owner: OwnerQueue.Owner) {
        if waiting[owner]?.append(entry) == nil {
            waiting[owner] = [entry]
            turns.append(owner)
        }
        count += 1
    }

    fileprivate mutating func keep(_ isWanted: (Int32) -> Bool) {
        for owner in turns { waiting[owner]?.removeAll { !isWanted($0.slot) } }
        waiting = waiting.filter { !$0.value.isEmpty }
        turns.removeAll { waiting[$0] == nil }
        count = waiting.values.reduce(0) { $0 + $1.count }
    }

    fileprivate mutating func next(
        limit: (DueQueue.Group) -> Int, except isBlocked: (OwnerQueue.Owner) -> Bool
    ) -> OwnerQueue.Turn? {
        guard let first = turns.firstIndex(where: { !isBlocked($0) }) else { return nil }
        let (owner, entry) = take(at: first)
        var turn = OwnerQueue.Turn(group: entry.group, slots: [entry.slot], owners: [owner])
        let most = limit(entry.group)
        // The others whose next live query can share the statement, in the order of their turns.
        var (index, passed) = (0, 0)
        while turn.slots.count < most, index < turns.count, passed < OwnerQueue.examinedMax {
            if waiting[turns[index]]?.first?.group == entry.group, !isBlocked(turns[index]) {
                let (owner, entry) = take(at: index)
                turn.slots.append(entry.slot)
                turn.owners.insert(owner)
            } else {
                (index, passed) = (index + 1, passed + 1)
            }
        }
        return turn
    }

    /// Takes the first live query of the owner with this turn, whose next turn comes after those of all others.
    private mutating func take(at index: Int) -> (owner: OwnerQueue.Owner, entry: OwnerQueue.Entry) {
        let owner = turns.remove(at: index)
        guard var own = waiting.removeValue(forKey: owner), let entry = own.popFirst() else {
            preconditionFailure("\(owner) has a turn, but nothing waits")
        }
        if !own.isEmpty {
            waiting[owner] = own
            turns.append(owner)
        }
        count -= 1
        return (owner, entry)
    }
}
