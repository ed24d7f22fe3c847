/// A time of the monotonic clock by which something must have happened.
package struct Deadline: Sendable {
    private let atMs: Int64

    package init(afterMs: Int64) { atMs = MonotonicClock.nowMs() + min(afterMs, .max / 2) }

    package init(afterMs: Int) { self.init(afterMs: Int64(afterMs)) }

    /// The time that is left; 0 once the deadline is reached.
    package var leftMs: Int64 { max(0, atMs - MonotonicClock.nowMs()) }

    package var isReached: Bool { leftMs == 0 }
}
