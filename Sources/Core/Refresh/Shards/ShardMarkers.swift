import LiveModel

/// The markers and tickets of a shard that wait until what came before them has reached the gateways.
///
/// They divide the shard's stream into turns. From an event's turn on, a live query that the event concerns owes its
/// subscribers a result, until a run that began after the event has ended. A marker passes once no live query owes a
/// result since its turn or an earlier one.
///
/// Counts, not a set of live queries: a change costs two additions, however many live queries an event concerns.
struct ShardMarkers: Sendable {
    typealias Turn = UInt32

    /// The end of a turn: a marker, the tickets of gateways, or both where there was no room for another entry.
    struct Entry: Sendable, Equatable {
        /// The last turn of what came before it.
        fileprivate(set) var turn: Turn
        fileprivate(set) var marker: LagMarker?
        /// The greatest number of each gateway, which stands for lower ones, too. Bound: the gateways.
        fileprivate(set) var tickets: [NodeID: UInt64] = [:]
    }

    /// The limit on waiting entries. While there are as many, a further marker takes the place of the last entry's, and
    /// a further ticket joins the last entry, which then waits for what came before the ticket.
    static let waitingMax = 16

    /// The current turn.
    private(set) var turn: Turn = 1
    /// The live queries that owe a result, by the turn since which they do. Bound: the live queries of the shard.
    private var owing: [Turn: Int] = [:]
    private var waiting: [Entry] = []

    var isWaiting: Bool { !waiting.isEmpty }
    var waitingCount: Int { waiting.count }
    /// The turn of what came before every marker that waits.
    var oldestTurn: Turn { waiting.first?.turn ?? turn }

    mutating func read(_ marker: LagMarker) { endTurn { $0.marker = marker } }

    mutating func read(_ ticket: WaitTicket) {
        endTurn { $0.tickets[ticket.gateway] = max($0.tickets[ticket.gateway] ?? 0, ticket.number) }
    }

    private mutating func endTurn(_ change: (inout Entry) -> Void) {
        if waiting.count < Self.waitingMax { waiting.append(Entry(turn: turn)) }
        waiting[waiting.count - 1].turn = turn
        change(&waiting[waiting.count - 1])
        // Past the greatest number, what comes later belongs to the same turn: markers then wait for more than they
        // must.
        turn = turn == .max ? turn : turn + 1
    }

    /// Handles a live query that owes a result since another turn than before; nil: it owes none.
    mutating func changed(from former: Turn?, to current: Turn?) {
        if let former {
            guard let count = owing[former] else { preconditionFailure("nothing is owed since turn \(former)") }
            owing[former] = count > 1 ? count - 1 : nil
        }
        if let current { owing[current, default: 0] += 1 }
    }

    /// Removes and returns the entries that may pass, in order.
    mutating func takePassing() -> [Entry] {
        guard isWaiting else { return [] }
        let firstOwed = owing.keys.min() ?? .max
        let passing = Array(waiting.prefix { $0.turn < firstOwed || owing.isEmpty })
        waiting.removeFirst(passing.count)
        if waiting.isEmpty, owing.isEmpty { turn = 1 }
        return passing
    }
}
