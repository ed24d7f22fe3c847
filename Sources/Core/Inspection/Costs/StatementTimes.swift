/// The times of statements: since the start, and over the last minutes. A statement is counted once, in the part of the
/// present minute; parts that are too old go into one sum.
package struct StatementTimes: Sendable {
    /// The window has this many parts; the current one is not complete.
    package static let parts = 5
    package static let partMs: Int64 = 60_000

    private var former = TimeHistogram()
    /// Empty until the first statement of a part.
    private var ring = [TimeHistogram?](repeating: nil, count: parts)
    /// The part written last, counted since 1970.
    private var part: Int64 = 0

    package init() {}

    package mutating func add(micros: UInt64, nowMs: Int64) {
        advance(to: nowMs)
        ring[Int(part % Int64(Self.parts))]?.add(micros: micros)
    }

    /// Returns the times of the last five minutes, up to a minute less.
    package mutating func recent(nowMs: Int64) -> TimeHistogram {
        advance(to: nowMs)
        return ring.reduce(into: TimeHistogram()) { sum, part in if let part { sum += part } }
    }

    package var total: TimeHistogram {
        ring.reduce(into: former) { sum, part in if let part { sum += part } }
    }

    /// A clock that goes back does not open former parts again.
    private mutating func advance(to nowMs: Int64) {
        let now = max(part, max(0, nowMs) / Self.partMs)
        let count = Int64(Self.parts)
        for next in max(part + 1, now - count + 1)..<max(part + 1, now + 1) {
            if let old = ring[Int(next % count)] { former += old }
            ring[Int(next % count)] = nil
        }
        part = now
        if ring[Int(now % count)] == nil { ring[Int(now % count)] = TimeHistogram() }
    }
}
