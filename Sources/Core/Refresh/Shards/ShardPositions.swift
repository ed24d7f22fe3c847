import LiveModel

/// A shard's position in its events stream. It decides whether results read at a position are fresh.
///
/// Positions come from gateways, which may have them from clients: any of them can be old, from another owner, or
/// forged.
struct ShardPositions: Sendable {
    enum Freshness {
        /// No relevant event since the result was read at this position.
        case fresh(Position)
        /// No remembered event is relevant, but an older one may be.
        case older(Position)
        /// Undecidable, or a relevant event exists.
        case doubtful
    }

    let epoch: UInt64
    /// Positions of earlier epochs are not trusted: their owners may have missed events.
    private let trustedEpoch: UInt64
    /// The id up to which events are applied.
    private(set) var lastEventID: StreamID
    /// Runs started under this epoch.
    private(set) var runs: UInt64 = 0
    /// The last events, by which positions are decided.
    private var history: EventTail
    /// Positions below this are not trusted even if the stream reaches back to them, because it may lack events.
    private var lossFloor: StreamID

    /// - Parameters:
    ///   - lastEventID: the last id that the stream assigned.
    ///   - history: its last entries, oldest first, without a gap up to `lastEventID`.
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
    /// The lowest position that the remembered events can decide.
    var historyFloor: StreamID { history.floor }

    func newestEvents(_ count: Int) -> [EventEntry] { history.newest(count) }

    /// Advances to an entry of the stream.
    /// - Returns: false if the entry was applied before.
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

    /// Handles an unreadable entry that this shard advanced to: results read before it may be stale.
    mutating func eventUnreadable() { forget(upTo: lastEventID) }

    /// Handles a loss of events; the stream continues after `id`.
    mutating func eventsLost(continuingAfter id: StreamID) {
        // A result read before the loss may miss lost events, even if it reflects all known ones.
        forget(upTo: max(lastEventID, id).successor ?? .max)
        lastEventID = id
    }

    /// Distrusts all positions below `floor` from now on, whatever the stream still holds.
    private mutating func forget(upTo floor: StreamID) {
        history = EventTail(floor: floor)
        lossFloor = floor
    }

    /// Returns the position of a run that starts now.
    mutating func next() -> Position {
        runs += 1
        return Position(epoch: epoch, run: runs, id: lastEventID)
    }

    /// The position of an answer without a run.
    var current: Position { Position(epoch: epoch, run: runs, id: lastEventID) }

    /// Decides whether a relevant event happened since `known` was read. Doubt counts as yes: a run that finds the
    /// known digest is cheap, a stale screen is not.
    func freshness(of known: KnownResult, rules: QueryRules) -> Freshness {
        guard let position = known.position, rules.everyMs == nil, isCredible(position),
            position.epoch >= trustedEpoch, position.id >= lossFloor, position.id <= lastEventID,
            !history.concerns(rules, after: position.id)
        else { return .doubtful }
        // Omit the gateway's placement, which means nothing to the owner.
        let read = Position(epoch: position.epoch, run: position.run, id: position.id)
        return read.id >= history.floor ? .fresh(read) : .older(read)
    }

    /// Whether an applied event after `id` concerns a live query with these rules, or may do.
    func mayConcern(_ rules: QueryRules, after id: StreamID) -> Bool {
        id < lastEventID && (id < history.floor || history.concerns(rules, after: id))
    }

    /// Whether a result read at `position` satisfies a subscriber that needs a run of this epoch after `run`.
    func isAfter(_ run: UInt64, _ position: Position) -> Bool {
        run == 0 || position.epoch == epoch && position.run > run
    }

    /// Returns `position` with the rank of `known` if that is higher. Two runs may have read the same content; a
    /// subscriber that holds the later one must not receive the rank of the earlier one.
    func newerRank(of position: Position, or known: KnownResult?) -> Position {
        guard let read = known?.position, isCredible(read), read > position else { return position }
        return Position(epoch: read.epoch, run: read.run, id: position.id)
    }

    /// Whether this owner or an earlier one can have assigned the position. A forged one that is too high would silence
    /// the live query.
    private func isCredible(_ position: Position) -> Bool {
        position.epoch < epoch || position.epoch == epoch && position.run <= runs
    }
}
