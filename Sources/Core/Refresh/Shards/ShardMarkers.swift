import LiveModel

/// The markers of a shard that wait until what came before them has reached the gateways.
///
/// Markers divide the shard's stream into turns. From an event's turn on, a live query that the event concerns owes its
/// subscribers a result, until a run that began after the event has ended. A marker passes once no live query owes a
/// result since its turn or an earlier one.
///
/// Counts, not a set of live queries: a change costs two additions, however many live queries an event concerns.
struct ShardMarkers: Sendable {
    typealias Turn = UInt32

    /// The limit on waiting markers; while there are as many, a further one takes the place of the last.
    static let waitingMax = 16

    /// The current turn: the number of markers read.
    private(set) var turn: Turn = 0
    /// The live queries that owe a result, by the turn since which they do. Bound: the live queries of the shard.
    private var owing: [Turn: Int] = [:]
    private var waiting: [(turn: Turn, marker: LagMarker)] = []

    var isWaiting: Bool { !waiting.isEmpty }
    var waitingCount: Int { waiting.count }
    /// The turn of what came before every marker that waits.
    var oldestTurn: Turn { waiting.first?.turn ?? turn }

    mutating func read(_ marker: LagMarker) {
        if waiting.count == Self.waitingMax { waiting.removeLast() }
        waiting.append((turn, marker))
        turn += 1
    }

    /// Handles a live query that owes a result since another turn than before; nil: it owes none.
    mutating func changed(from former: Turn?, to current: Turn?) {
        if let former {
            guard let count = owing[former] else { preconditionFailure("nothing is owed since turn \(former)") }
            owing[former] = count > 1 ? count - 1 : nil
        }
        if let current { owing[current, default: 0] += 1 }
    }

    /// Removes and returns the markers that may pass, in order.
    mutating func takePassing() -> [LagMarker] {
        guard isWaiting else { return [] }
        let firstOwed = owing.keys.min() ?? .max
        let passing = waiting.prefix { $0.turn < firstOwed }
        waiting.removeFirst(passing.count)
        return passing.map(\.marker)
    }
}
