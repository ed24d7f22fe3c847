import LiveModel

/// A shard's place in its event stream, and what the positions of results are worth there.
///
/// Positions arrive from gateways, which may have them from clients: any of them can be old, of another owner, or
/// forged.
struct ShardPositions: Sendable {
    enum Freshness {
        /// Nothing relevant happened since the result was read at this position.
        case fresh(Position)
        /// No remembered event is relevant, but an older one may be.
        case older(Position)
        /// Cannot be decided, or something relevant happened.
        case doubtful
    }

    let epoch: UInt64
    /// Positions of epochs before this one say nothing: their owners may have missed events.
    private let trustedEpoch: UInt64
    /// Events up to here are applied.
    private(set) var lastEventID: StreamID
    /// Runs started under this epoch.
    private(set) var runs: UInt64 = 0
    /// The last events, by which positions are judged.
    private var history: EventTail
    /// Positions below this say nothing even if the stream reaches back to them: it may lack events.
    private var lossFloor: StreamID

    /// - Parameters:
    ///   - lastEventID: the last id that the stream ever gave out.
    ///   - history: its last entries, oldest first, without a hole up to `lastEventID`.
    init(
        epoch: UInt64, trustedEpoch: UInt64, lastEventID: StreamID, history entries: [EventEntry],
        _ settings: RefreshSettings
    ) {
        self.epoch = epoch
        self.trustedEpoch = trustedEpoch
        self.lastEventID = lastEventID
        history = EventTail(floor: entries.first?.id ?? lastEventID)
        // An empty stream may have lost its entries: no position counts before its first event.
        lossFloor = lastEventID == .zero ? .max : .zero
        for entry in entries { remember(entry, settings) }
    }

    var historyCount: Int { history.count }
    /// Positions from here on are judged by the remembered events alone.
    var historyFloor: StreamID { history.floor }

    /// Moves on to an entry of the stream.
    /// - Returns: false if it was applied before.
    mutating func advance(to id: StreamID) -> Bool {
        guard id > lastEventID else { return false }
        lastEventID = id
        if lossFloor == .max {
            lossFloor = id
            history = EventTail(floor: id)
        }
        return true
    }

    mutating func remember(_ entry: EventEntry, _ settings: RefreshSettings) {
        history.append(entry, countMax: settings.historyMax, bytesMax: settings.historyBytesMax)
    }

    /// An entry that this shard advanced to could not be read: results read before it may be stale.
    mutating func eventUnreadable() { forget(upTo: lastEventID) }

    /// Events were lost; the stream goes on after `id`.
    mutating func eventsLost(continuingAfter id: StreamID) {
        // A result read before the loss may lack what was lost, even if it was up to date with all known events.
        forget(upTo: max(lastEventID, id).successor ?? .max)
        lastEventID = id
    }

    /// From now on no position below `floor` counts, whatever the stream still holds.
    private mutating func forget(upTo floor: StreamID) {
        history = EventTail(floor: floor)
        lossFloor = floor
    }

    /// The position of a run that starts now.
    mutating func next() -> Position {
        runs += 1
        return Position(epoch: epoch, run: runs, id: lastEventID)
    }

    /// The position of an answer that no run gave.
    var current: Position { Position(epoch: epoch, run: runs, id: lastEventID) }

    /// Whether anything relevant happened since `known` was read. If in doubt, yes: a run that finds the known digest
    /// is cheap, a stale screen is not.
    func freshness(of known: KnownResult, rules: QueryRules) -> Freshness {
        guard let position = known.position, rules.everyMs == nil, isCredible(position),
            position.epoch >= trustedEpoch, position.id >= lossFloor, position.id <= lastEventID,
            !history.concerns(rules, after: position.id)
        else { return .doubtful }
        // Without the gateway's placement, which means nothing to the owner.
        let read = Position(epoch: position.epoch, run: position.run, id: position.id)
        return read.id >= history.floor ? .fresh(read) : .older(read)
    }

    /// Whether a result read at `position` satisfies a subscriber that needs a run of this epoch after `run`.
    func isAfter(_ run: UInt64, _ position: Position) -> Bool {
        run == 0 || position.epoch == epoch && position.run > run
    }

    /// `position` with the rank of `known` if that is higher. Two runs may have read the same content; a subscriber
    /// that holds the later one must not receive the rank of the earlier one.
    func newerRank(of position: Position, or known: KnownResult?) -> Position {
        guard let read = known?.position, isCredible(read), read > position else { return position }
        return Position(epoch: read.epoch, run: read.run, id: position.id)
    }

    /// Whether this owner or one before it can have given out the position. A forged one that is too high would silence
    /// the live query.
    private func isCredible(_ position: Position) -> Bool {
        position.epoch < epoch || position.epoch == epoch && position.run <= runs
    }
}
