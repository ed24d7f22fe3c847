/// Limits the log lines of a failure that repeats: the first with each text is logged, then one in each interval with
/// the number of those left out.
package struct RepeatedFailure: Sendable, Hashable {
    package let intervalMs: Int64
    private var lastMs: Int64?
    private var lastText = ""
    private var leftOut = 0

    package init(intervalMs: Int64 = 10_000) {
        self.intervalMs = intervalMs
    }

    /// Counts a failure, or several at once.
    /// - Returns: how many failures since the last logged one were left out; nil if this one is left out too.
    package mutating func failed(_ text: String, count: Int = 1, nowMs: Int64) -> Int? {
        // A clock that was set back does not silence anything.
        if let lastMs, text == lastText, (lastMs..<lastMs + intervalMs).contains(nowMs) {
            leftOut += count
            return nil
        }
        defer { (lastMs, lastText, leftOut) = (nowMs, text, 0) }
        return leftOut
    }
}
