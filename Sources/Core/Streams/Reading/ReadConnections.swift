import LiveModel

/// A reader's connections, the reads in flight on them, and what is known of their answers.
struct ReadConnections {
    typealias Lane = ReadLanes.Lane

    private struct Connection {
        /// Nil: not connected.
        var server: String?
        var sentNs: UInt64 = 0
        var hasPlainRead = false
        /// The most entries of each stream that the read returns.
        var count = 0
        /// The answer to the read in flight has arrived.
        var isAnswered = false
        /// When the answer arrived, or earlier.
        var heardNs: UInt64 = 0
        /// The last read waited long: there is little to read.
        var isIdle = true
    }

    private var lanes = ReadLanes()
    private var connections = PerLane(Connection())
    /// The connections were watched until then.
    private var watchedNs: UInt64 = 0

    func isConnected(_ lane: Lane) -> Bool { connections[lane].server != nil }
    var isAnyConnected: Bool { isConnected(.hot) || isConnected(.cold) }
    func isIdle(_ lane: Lane) -> Bool { connections[lane].isIdle }

    /// The server that both lanes lead to.
    var server: String? { connections[.cold].server ?? connections[.hot].server }

    func isFree(_ lane: Lane) -> Bool { lanes.isFree(lane) }
    func nextReads(_ streams: [ReadLanes.Stream]) -> [(lane: Lane, streams: [ReadLanes.Stream])] { lanes.next(streams) }
    func isAnyLeftOut(_ streams: [ReadLanes.Stream]) -> Bool { lanes.isAnyLeftOut(streams) }

    mutating func connected(_ lane: Lane, server: String) { connections[lane].server = server }

    /// - Returns: the lanes whose connections must be closed, because their end would go unnoticed.
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

    /// When a read in flight has been silent for too long; nil: none is in flight.
    func silentNs(afterMs: Int) -> UInt64? {
        var firstNs: UInt64?
        for lane in Lane.allCases where !lanes.isFree(lane) {
            firstNs = min(firstNs ?? .max, connections[lane].sentNs.addingMs(afterMs))
        }
        return firstNs
    }

    /// The connections were watched; those that are readable have an answer, or have ended.
    mutating func watched(hot: Bool, cold: Bool, sinceNs: UInt64, nowNs: UInt64) {
        // The answer may have arrived between two watches.
        let wasAway = watchedNs != 0 && sinceNs > watchedNs.addingMs(ReadPlan.awayMs)
        for lane in Lane.allCases where lane == .hot ? hot : cold {
            connections[lane].isAnswered = true
            connections[lane].heardNs = wasAway ? max(watchedNs, connections[lane].sentNs) : nowNs
        }
        watchedNs = nowNs
    }

    /// A lane whose answer is there, and how many replies that has.
    mutating func answeredLane(nowNs: UInt64) -> (lane: Lane, parts: Int)? {
        for lane in Lane.allCases where !lanes.isFree(lane) && connections[lane].isAnswered {
            connections[lane].isIdle = nowNs > connections[lane].sentNs.addingMs(ReadPlan.idleMs)
            return (lane, connections[lane].hasPlainRead ? 2 : 1)
        }
        return nil
    }

    /// The answer was taken.
    /// - Returns: what the read knew of its streams, until when the answer covers them, and the most entries it has of
    ///   each.
    mutating func answered(_ lane: Lane) -> (asked: [String: ReadLanes.Start], heardNs: UInt64, count: Int) {
        (lanes.answered(lane), connections[lane].heardNs, connections[lane].count)
    }
}
