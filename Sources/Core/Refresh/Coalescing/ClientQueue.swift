import DequeModule

/// The due live queries of a pool with few runs, which take long: clients take turns, so that one with many live
/// queries delays another one's by a run each, and first results go before repeats.
///
/// No client gets all runs of the pool at once, unless there is only one. While both wait, one run in four is a repeat.
/// A slot is queued at most once per turn, so the queue is bounded like `DueQueue`.
struct ClientQueue: Sendable {
    typealias Client = RunPriority.Client

    struct Turn {
        let group: DueQueue.Group
        var slots: [Int32]
        /// The clients of the slots, each once.
        var clients: Set<Client>
    }

    fileprivate struct Entry: Sendable {
        let slot: Int32
        let group: DueQueue.Group
    }

    fileprivate struct Lane: Sendable {
        var waiting: [Client: Deque<Entry>] = [:]
        /// The clients with waiting live queries, the next one first.
        var turns: Deque<Client> = []
        var count = 0
    }

    /// First results in a row before a repeat that waits.
    static let firstsInARowMax = 3
    /// The clients that are examined for live queries that can share a statement.
    static let examinedMax = 64

    private let runsPerClientMax: Int
    private var firsts = Lane()
    private var repeats = Lane()
    private var firstsInARow = 0
    /// The statements in flight of each client that has any.
    private var running: [Client: Int] = [:]
    /// The clients of each statement in flight.
    private var clients: [UInt64: Set<Client>] = [:]

    /// - Parameter runsMax: the statements that the pool has in flight.
    init(runsMax: Int) { runsPerClientMax = max(1, runsMax - 1) }

    var count: Int { firsts.count + repeats.count }

    mutating func append(_ slot: Int32, to group: DueQueue.Group, _ priority: RunPriority) {
        let entry = Entry(slot: slot, group: group)
        let client = priority.client
        if priority.isFirst { firsts.append(entry, of: client) } else { repeats.append(entry, of: client) }
    }

    /// Drops all unwanted slots. Linear.
    mutating func keep(_ isWanted: (Int32) -> Bool) {
        firsts.keep(isWanted)
        repeats.keep(isWanted)
    }

    /// Takes the next turn: up to `limit` live queries that can share a statement. Nil if none may run.
    mutating func next(limit: (DueQueue.Group) -> Int) -> Turn? {
        let (running, most) = (running, runsPerClientMax)
        let isBlocked = { (client: Client) in running[client, default: 0] >= most }
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

    mutating func began(_ batch: UInt64, of clients: Set<Client>) {
        self.clients[batch] = clients
        for client in clients { running[client, default: 0] += 1 }
    }

    mutating func ended(_ batch: UInt64) {
        for client in clients.removeValue(forKey: batch) ?? [] {
            let count = running[client, default: 0] - 1
            precondition(count >= 0, "a run of \(client) ended, but none is in flight")
            running[client] = count == 0 ? nil : count
        }
    }
}

extension ClientQueue.Lane {
    fileprivate mutating func append(_ entry: ClientQueue.Entry, of client: ClientQueue.Client) {
        if waiting[client]?.append(entry) == nil {
            waiting[client] = [entry]
            turns.append(client)
        }
        count += 1
    }

    fileprivate mutating func keep(_ isWanted: (Int32) -> Bool) {
        for client in turns { waiting[client]?.removeAll { !isWanted($0.slot) } }
        waiting = waiting.filter { !$0.value.isEmpty }
        turns.removeAll { waiting[$0] == nil }
        count = waiting.values.reduce(0) { $0 + $1.count }
    }

    fileprivate mutating func next(
        limit: (DueQueue.Group) -> Int, except isBlocked: (ClientQueue.Client) -> Bool
    ) -> ClientQueue.Turn? {
        guard let first = turns.firstIndex(where: { !isBlocked($0) }) else { return nil }
        let (client, entry) = take(at: first)
        var turn = ClientQueue.Turn(group: entry.group, slots: [entry.slot], clients: [client])
        let most = limit(entry.group)
        // The others whose next live query can share the statement, in the order of their turns.
        var (index, passed) = (0, 0)
        while turn.slots.count < most, index < turns.count, passed < ClientQueue.examinedMax {
            if waiting[turns[index]]?.first?.group == entry.group, !isBlocked(turns[index]) {
                let (client, entry) = take(at: index)
                turn.slots.append(entry.slot)
                turn.clients.insert(client)
            } else {
                (index, passed) = (index + 1, passed + 1)
            }
        }
        return turn
    }

    /// Takes the first live query of the client with this turn, whose next turn comes after those of all others.
    private mutating func take(at index: Int) -> (client: ClientQueue.Client, entry: ClientQueue.Entry) {
        let client = turns.remove(at: index)
        guard var own = waiting.removeValue(forKey: client), let entry = own.popFirst() else {
            preconditionFailure("\(client) has a turn, but nothing waits")
        }
        if !own.isEmpty {
            waiting[client] = own
            turns.append(client)
        }
        count -= 1
        return (client, entry)
    }
}
