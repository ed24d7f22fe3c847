import Streams
import LiveModel

/// Which streams each of a reader's two blocking reads names.
///
/// The server takes time for each stream that a blocking read names: when it is sent, and once more when an entry ends
/// it, before anybody gets that entry. A worker follows two streams of each of its shards, and few of them have much to
/// say. So those that had something lately (lively) are read apart from the others (quiet), over a connection of their
/// own. A stream changes lanes when reads are sent anew, never by interrupting one.
///
/// At every time each followed stream is named by a read that is under way or about to be sent. Two may name it for a
/// while: what is below the cursor by then is dropped (`isOfUse`). Pure.
struct ReadingLanes {
    enum Lane: Int, CaseIterable, Sendable {
        case lively, quiet
    }

    /// What a read knows of a stream that it names.
    struct Start: Hashable, Sendable {
        /// Numbers the times that the stream was followed anew.
        let follow: Int
        let cursor: StreamID
    }

    struct Stream: Sendable {
        let start: Start
        let isLively: Bool
    }

    /// Fewer streams are read by one read.
    static let splitMin = 16

    private var underWay: [[String: Start]?] = Array(repeating: nil, count: Lane.allCases.count)
    /// The lively lane is in use, which takes a connection.
    private var isSplit = false

    func isFree(_ lane: Lane) -> Bool { underWay[lane.rawValue] == nil }

    /// What the free lanes are to read now; a lane without streams is left out.
    func next(_ streams: [String: Stream]) -> [(lane: Lane, streams: [String])] {
        var reads: [(lane: Lane, streams: [String])] = []
        var lively = Set<String>()
        let isToBeSplit = streams.count > Self.splitMin
        if isFree(.lively), isToBeSplit || isSplit {
            for (name, stream) in streams {
                // What the quiet read under way does not name has nobody else until that is sent anew.
                if isToBeSplit && stream.isLively || !mayRead(.quiet, name, stream.start) { lively.insert(name) }
            }
            if !lively.isEmpty { reads.append((.lively, Array(lively))) }
        }
        if isFree(.quiet) {
            let rest = streams.filter { name, stream in
                !lively.contains(name) && !covers(.lively, name, stream.start)
            }
            if !rest.isEmpty { reads.append((.quiet, Array(rest.keys))) }
        }
        return reads
    }

    /// Whether a stream is named by no read, so that the quiet one is to be interrupted. AnnouncementID when all free lanes have
    /// been sent.
    func isAnyLeftOut(_ streams: [String: Stream]) -> Bool {
        streams.contains { name, stream in
            !covers(.lively, name, stream.start) && !covers(.quiet, name, stream.start)
        }
    }

    private func mayRead(_ lane: Lane, _ name: String, _ now: Start) -> Bool { isFree(lane) || covers(lane, name, now) }

    private func covers(_ lane: Lane, _ name: String, _ now: Start) -> Bool {
        guard let asked = underWay[lane.rawValue]?[name] else { return false }
        return Self.isOfUse(asked, now)
    }

    mutating func sent(_ lane: Lane, _ streams: [String: Start]) {
        underWay[lane.rawValue] = streams
        isSplit = !isFree(.lively)
    }

    /// - Returns: what the read that is answered knew.
    mutating func answered(_ lane: Lane) -> [String: Start] {
        defer { underWay[lane.rawValue] = nil }
        return underWay[lane.rawValue] ?? [:]
    }

    /// All connections are gone.
    mutating func lost() { self = ReadingLanes() }

    /// Whether the answer to a read leaves no hole behind what the reader has by now. (It may begin below that.)
    static func isOfUse(_ asked: Start, _ now: Start) -> Bool {
        asked.follow == now.follow && asked.cursor <= now.cursor
    }
}
