import Clocks
import JSON
import LiveModel
import NIOCore
import Synchronization

/// The parser of another node's server-sent events (HTML Living Standard §9.2.6), as `TailStream` writes them.
struct EventLines {
    struct TooLong: Error {}

    /// The longest event; a longer one ends the stream.
    static let bytesMax = 1 << 20

    private var rest: [UInt8] = []

    /// Returns the events that are whole now. Comments and what is no JSON object are left out.
    /// - Throws: `TooLong`.
    mutating func take(_ part: ByteBuffer) throws -> [(name: String, json: JSONObject)] {
        rest += part.readableBytesView
        var events: [(name: String, json: JSONObject)] = []
        var start = rest.startIndex
        while let end = rest[start...].firstRange(of: [10, 10]) {
            if let event = Self.event(rest[start..<end.lowerBound]) { events.append(event) }
            start = end.upperBound
        }
        rest.removeSubrange(..<start)
        if rest.count > Self.bytesMax { throw TooLong() }
        return events
    }

    private static func event(_ block: ArraySlice<UInt8>) -> (name: String, json: JSONObject)? {
        var name = "message"
        var json: JSONObject?
        for line in block.split(separator: 10) {
            if line.starts(with: Array("event: ".utf8)) { name = String(decoding: line.dropFirst(7), as: UTF8.self) }
            if line.starts(with: Array("data: ".utf8)) {
                json = (try? JSONValue(parsing: Array(line.dropFirst(6))))?.objectValue
            }
        }
        return json.map { (name, $0) }
    }
}

/// When a stream was last heard of.
final class Joined: Sendable {
    private let lastMs = Atomic<Int64>(0)

    var isHeard: Bool { lastMs.load(ordering: .relaxed) > 0 }

    /// - Returns: whether it is the first time.
    func heard() -> Bool { lastMs.exchange(MonotonicClock.nowMs(), ordering: .relaxed) == 0 }

    /// Returns once nothing was heard for a time, counted from now or the last part; or when the task is cancelled.
    func silence(afterMs: Int64) async -> String {
        let startMs = MonotonicClock.nowMs()
        while !Task.isCancelled {
            let waitMs = max(startMs, lastMs.load(ordering: .relaxed)) + afterMs - MonotonicClock.nowMs()
            if waitMs <= 0 { return "it is silent for \(afterMs / 1_000) s" }
            try? await Task.sleep(for: .milliseconds(waitMs))
        }
        return ""
    }
}
