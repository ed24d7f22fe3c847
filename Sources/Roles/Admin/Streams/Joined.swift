import Clocks
import Synchronization

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
