package import JSON

/// A worker's report on a shard it owns, sent with every heartbeat. Times are milliseconds since 1970; 0 means never.
package struct ShardStatus: Sendable, Hashable {
    package var shard: ShardID
    package var epoch: UInt64
    package var ownedSinceMs: Int64
    package var liveQueries: Int
    /// Live queries in the due queue.
    package var due: Int
    /// Live queries whose run is in flight.
    package var running: Int
    /// Live queries in the queue of paced runs, which no event caused.
    package var paced: Int
    /// Live queries that wait for a gap, a back-off or a replay.
    package var waiting: Int
    /// The event up to which the stream is applied.
    package var lastEventID: StreamID
    package var lastRefreshMs: Int64
    package var takeOver: TakeOverCounts

    package init(
        shard: ShardID, epoch: UInt64, ownedSinceMs: Int64, liveQueries: Int, due: Int, running: Int, paced: Int,
        waiting: Int, lastEventID: StreamID, lastRefreshMs: Int64, takeOver: TakeOverCounts
    ) {
        self.shard = shard
        self.epoch = epoch
        self.ownedSinceMs = ownedSinceMs
        self.liveQueries = liveQueries
        self.due = due
        self.running = running
        self.paced = paced
        self.waiting = waiting
        self.lastEventID = lastEventID
        self.lastRefreshMs = lastRefreshMs
        self.takeOver = takeOver
    }

    /// The report as an array instead of an object, because it is sent with every heartbeat for each shard.
    package var json: JSONValue {
        let counts = [
            Int64(shard.number), Int64(clamping: epoch), ownedSinceMs, Int64(liveQueries), Int64(due), Int64(running),
            Int64(paced), Int64(waiting), lastRefreshMs, Int64(clamping: takeOver.replayed),
            Int64(clamping: takeOver.announced), Int64(clamping: takeOver.kept), Int64(clamping: takeOver.rerun),
            Int64(clamping: takeOver.losses),
        ]
        return .array(counts.map(JSONValue.int) + [.string(lastEventID.description)])
    }

    /// Returns nil for another form, which comes from another version. Numbers are clamped to their ranges.
    /// - Parameter defects: counts what no node of this version writes.
    package init?(json: JSONValue, defects: inout StoredDefects) {
        guard case .array(let parts) = json, parts.count == 15, let id = parts[14].stringValue.flatMap({ StreamID($0) })
        else {
            defects.add("a shard's status in another form")
            return nil
        }
        let numbers = parts.dropLast().compactMap(\.intValue)
        guard numbers.count == 14, let number = Int(exactly: numbers[0]), (0...Int(Int32.max)).contains(number) else {
            defects.add("a shard's status in another form")
            return nil
        }
        func count(_ index: Int) -> Int {
            defects.clamped(numbers[index], to: StoredNumber.count(numbers[index]), "a count of shard \(number)")
        }
        func timeMs(_ index: Int) -> Int64 {
            defects.clamped(numbers[index], to: StoredNumber.timeMs(numbers[index]), "a time of shard \(number)")
        }
        var takeOver = TakeOverCounts()
        takeOver.replayed = UInt64(count(9))
        takeOver.announced = UInt64(count(10))
        takeOver.kept = UInt64(count(11))
        takeOver.rerun = UInt64(count(12))
        takeOver.losses = UInt64(count(13))
        let epoch = defects.clamped(
            numbers[1], to: StoredNumber.version(numbers[1]), "the epoch of shard \(number)")
        self.init(
            shard: ShardID(number), epoch: epoch, ownedSinceMs: timeMs(2), liveQueries: count(3), due: count(4),
            running: count(5), paced: count(6), waiting: count(7), lastEventID: id, lastRefreshMs: timeMs(8),
            takeOver: takeOver)
    }
}

/// Counts of the work caused by take-overs and by losses of events.
package struct TakeOverCounts: Sendable, Hashable {
    /// Older events of the stream against which announced positions were checked.
    package var replayed: UInt64 = 0
    /// Announcements that named a result that the gateway holds.
    package var announced: UInt64 = 0
    /// Announcements of these that were answered without a run, because nothing relevant happened since.
    package var kept: UInt64 = 0
    /// Paced runs, which neither an event nor a new subscriber caused.
    package var rerun: UInt64 = 0
    /// Certain or possible losses of events, after which everything ran again.
    package var losses: UInt64 = 0

    package init() {}

    package var json: JSONValue {
        [
            "replayed": .int(Int64(clamping: replayed)), "announced": .int(Int64(clamping: announced)),
            "kept": .int(Int64(clamping: kept)), "rerun": .int(Int64(clamping: rerun)),
            "losses": .int(Int64(clamping: losses)),
        ]
    }

    package static func += (left: inout Self, right: Self) {
        left.replayed += right.replayed
        left.announced += right.announced
        left.kept += right.kept
        left.rerun += right.rerun
        left.losses += right.losses
    }
}
