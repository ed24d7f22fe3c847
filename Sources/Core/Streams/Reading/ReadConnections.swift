import LiveModel

/// A reader's connections and the reads in flight on them.
struct ReadConnections {
    typealias Lane = ReadLanes.Lane

    private struct Connection {
        /// Nil: not connected.
        var server: String?
        var sentNs: UInt64 = 0
        var hasPlainRead = false
        /// The maximum number of entries of each stream that the read returns.
        var count = 0
        /// Whether the answer to the read in flight has arrived.
        var isAnswered = false
        /// A time not later than the arrival of the answer.
        var heardNs: UInt64 = 0
        /// The number of reads since one waited long.
        var readsSinceWait = 0
    }

    private var lanes = ReadLanes()
    private var connections = PerLane(Connection())
    /// The time until which the connections were watched.
    private var watchedNs: UInt64 = 0

    func isConnected(_ lane: Lane) -> Bool { connections[lane].server != nil }
    var isAnyConnected: Bool { isConnected(.hot) || isConnected(.cold) }

    /// Whether there is little to read: one of the last two reads waited long. The one after it may find the entries
    /// that the event also appended elsewhere.
    func isIdle(_ lane: Lane) -> Bool { connections[lane].readsSinceWait < 2 }

    /// The server to which both lanes are connected.
    var server: String? { connections[.cold].server ?? connections[.hot].server }

    func isFree(_ lane: Lane) -> Bool { lanes.isFree(lane) }
    func nextReads(_ streams: [ReadLanes.Stream]) -> [(lane: Lane, streams: [ReadLanes.Stream])] { lanes.next(streams) }
    func isAnyLeftOut(_ streams: [ReadLanes.Stream]) -> Bool { lanes.isAnyLeftOut(streams) }

    mutating func connected(_ lane: Lane, server: String) { connections[lane].server = server }

    /// - Returns: the lanes whose connections must be closed, because a failure would go unnoticed.
    mutating func closeUnused() -> [Lane] {
        let unused = Lane.allCases.filter { lanes.isFree($0) && isConnected($0) }
        for lane in unused { connections[lane].server = nil }
        return unused
    }

    mutating func lost() {
        connections = PerLane(Connection())
        lanes.lost()
    }

    mutating func sent(_ lane: Lane, _ streams: [ReadLanes.Stream], hasPlainRead: Bool, count: Int, nowNs: UInt64) {
        lanes.sent(lane, streams)
        connections[lane].count = count
        connections[lane].sentNs = nowNs
        connections[lane].hasPlainRead = hasPlainRead
        connections[lane].isAnswered = false
    }

    /// Returns the time at which a read in flight has been silent for too long; nil if none is in flight.
    func silentNs(afterMs: Int) -> UInt64? {
        var firstNs: UInt64?
        for lane in Lane.allCases where !lanes.isFree(lane) {
            firstNs = min(firstNs ?? .max, connections[lane].sentNs.addingMs(afterMs))
        }
        return firstNs
    }

    /// Records the end of a watch; readable connections have an answer or have ended.
    mutating func watched(hot: Bool, cold: Bool, sinceNs: UInt64, nowNs: UInt64) {
        // The answer may have arrived between two watches.
        let wasAway = watchedNs != 0 && sinceNs > watchedNs.addingMs(ReadPlan.awayMs)
        for lane in Lane.allCases where lane == .hot ? hot : cold {
            connections[lane].isAnswered = true
            connections[lane].heardNs = wasAway ? max(watchedNs, connections[lane].sentNs) : nowNs
        }
        watchedNs = nowNs
    }

    /// Returns a lane whose answer has arrived, and the number of replies in it.
    mutating func answeredLane(nowNs: UInt64) -> (lane: Lane, parts: Int)? {
        for lane in Lane.allCases where !lanes.isFree(lane) && connections[lane].isAnswered {
            let hasWaited = nowNs > connections[lane].sentNs.addingMs(ReadPlan.idleMs)
            connections[lane].readsSinceWait = hasWaited ? 0 : min(2, connections[lane].readsSinceWait + 1)
            return (lane, connections[lane].hasPlainRead ? 2 : 1)
        }
        return nil
    }

    /// Frees a lane whose answer was taken.
    /// - Returns: the state of the read's streams when it was sent, the time until which the answer covers them, and
    ///   the maximum number of entries of each.
    mutating func answered(_ lane: Lane) -> (requested: [String: ReadLanes.Start], heardNs: UInt64, count: Int) {
        (lanes.answered(lane), connections[lane].heardNs, connections[lane].count)
    }
}
