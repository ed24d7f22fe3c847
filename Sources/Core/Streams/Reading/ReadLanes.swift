package import LiveModel

/// Which streams each of a reader's two blocking reads names.
///
/// A blocking read costs the server time for each stream it names: once when the read is sent and once more when an
/// entry ends it, before the entry is returned. A worker follows two streams of each of its shards, and few of them
/// are busy. So streams that had entries recently (hot) are read over a connection of their own, apart from the others
/// (cold). A stream changes lanes only when reads are sent, never by interrupting one.
///
/// At all times each followed stream is named by a read that is in flight or about to be sent. Both lanes may name it
/// for a while: the second answer is then cut at the cursor that the first one left (`isOfUse`).
package struct ReadLanes {
    package enum Lane: Int, CaseIterable, Sendable {
        case hot, cold
    }

    /// A stream's state when a read that names it was sent.
    package struct Start: Hashable, Sendable {
        /// Numbers the times that a stream was followed or replaced.
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

    /// Up to this many streams are read by one read.
    package static let splitMin = 16

    private var inFlight = PerLane<[String: Start]?>(nil)
    /// The hot lane is in use, which takes a connection.
    private var isSplit = false

    package init() {}

    package func isFree(_ lane: Lane) -> Bool { inFlight[lane] == nil }

    /// The reads to send on the free lanes; a lane without streams is left out.
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

    /// Whether no read names some stream, so that the cold one must be interrupted. Ask when all free lanes are in use.
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

    /// Both connections are gone.
    package mutating func lost() { self = ReadLanes() }

    /// Whether the answer to a read leaves no hole behind what the reader has by now. (It may begin before that.)
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
