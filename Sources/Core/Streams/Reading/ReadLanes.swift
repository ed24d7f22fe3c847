package import LiveModel

/// Assigns streams to a reader's two blocking reads.
///
/// A blocking read costs the server time for each stream it names: once when the read is sent and once more when an
/// entry ends it, before the entry is returned. A worker follows two streams of each of its shards, and few of them
/// are busy. So streams that had entries recently (hot) are read over a separate connection from the others (cold). A
/// stream changes lanes only when reads are sent, never by interrupting one.
///
/// At all times each followed stream is named by a read that is in flight or about to be sent. Both lanes may name it
/// temporarily: the second answer is then cut at the cursor that the first one left (`isOfUse`).
package struct ReadLanes {
    package enum Lane: Int, CaseIterable, Sendable {
        case hot, cold
    }

    /// The state of a stream when a read that names it was sent.
    package struct Start: Hashable, Sendable {
        /// Increases when a stream is followed or replaced.
        package let follow: Int
        package let cursor: StreamID

        package init(follow: Int, cursor: StreamID) {
            self.follow = follow
            self.cursor = cursor
        }
    }

    package struct Stream: Sendable {
        package let name: String
        package let start: Start
        package let isHot: Bool

        package init(name: String, start: Start, isHot: Bool) {
            self.name = name
            self.start = start
            self.isHot = isHot
        }
    }

    /// The number of streams up to which one read suffices.
    package static let splitMin = 16

    private var inFlight = PerLane<[String: Start]?>(nil)
    /// Whether the hot lane is in use, which takes a connection.
    private var isSplit = false

    package init() {}

    package func isFree(_ lane: Lane) -> Bool { inFlight[lane] == nil }

    /// Returns the reads to send on the free lanes, without lanes that have no streams.
    package func next(_ streams: [Stream]) -> [(lane: Lane, streams: [Stream])] {
        let isToBeSplit = streams.count > Self.splitMin
        let readsHot = isFree(.hot) && (isToBeSplit || isSplit)
        let readsCold = isFree(.cold)
        var hot: [Stream] = []
        var cold: [Stream] = []
        for stream in streams {
            // Streams missing from the cold read in flight stay on the hot lane until the cold read is sent again.
            if readsHot, isToBeSplit && stream.isHot || !(readsCold || covers(.cold, stream)) {
                hot.append(stream)
            } else if readsCold, !covers(.hot, stream) {
                cold.append(stream)
            }
        }
        var reads: [(lane: Lane, streams: [Stream])] = []
        if !hot.isEmpty { reads.append((.hot, hot)) }
        if !cold.isEmpty { reads.append((.cold, cold)) }
        return reads
    }

    /// Whether a stream is named by no read, so that the cold one must be interrupted. Call it when all free lanes are
    /// in use.
    package func isAnyLeftOut(_ streams: [Stream]) -> Bool {
        streams.contains { !covers(.hot, $0) && !covers(.cold, $0) }
    }

    private func covers(_ lane: Lane, _ stream: Stream) -> Bool {
        guard let read = inFlight[lane]?[stream.name] else { return false }
        return Self.isOfUse(read, stream.start)
    }

    package mutating func sent(_ lane: Lane, _ streams: [Stream]) {
        inFlight[lane] = Dictionary(uniqueKeysWithValues: streams.map { ($0.name, $0.start) })
        isSplit = !isFree(.hot)
    }

    /// - Returns: the streams that the answered read named.
    package mutating func answered(_ lane: Lane) -> [String: Start] {
        defer { inFlight[lane] = nil }
        return inFlight[lane] ?? [:]
    }

    /// Resets the lanes after both connections were lost.
    package mutating func lost() { self = ReadLanes() }

    /// Whether the answer to a read leaves no gap after the reader's current cursor. (It may begin before that.)
    package static func isOfUse(_ read: Start, _ now: Start) -> Bool {
        read.follow == now.follow && read.cursor <= now.cursor
    }
}

/// One value for each lane.
struct PerLane<Value> {
    private var hot: Value
    private var cold: Value

    init(_ value: Value) { (hot, cold) = (value, value) }

    subscript(lane: ReadLanes.Lane) -> Value {
        get {
            switch lane {
            case .hot: hot
            case .cold: cold
            }
        }
        _modify {
            switch lane {
            case .hot: yield &hot
            case .cold: yield &cold
            }
        }
    }
}
