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

    /// Whether the interval of the last line has passed.
    fileprivate func isOver(nowMs: Int64) -> Bool {
        guard let lastMs else { return true }
        return !(lastMs..<lastMs + intervalMs).contains(nowMs)
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

/// The same for failures whose texts alternate: each text has its own interval. A text whose interval is over makes
/// room for others, and the number of its failures that were left out is forgotten then.
package struct RepeatedFailures: Sendable, Hashable {
    /// The number of texts with an interval of their own at a time; further ones share one.
    package let textsMax: Int
    private var failures: [String: RepeatedFailure] = [:]
    private var further = RepeatedFailure()

    package init(textsMax: Int = 64) {
        self.textsMax = textsMax
    }

    /// Counts a failure.
    /// - Returns: how many failures with this text were left out since the last logged one; nil if this one is left out
    ///   too.
    package mutating func failed(_ text: String, nowMs: Int64) -> Int? {
        if failures[text] == nil, failures.count >= textsMax {
            failures = failures.filter { !$0.value.isOver(nowMs: nowMs) }
            if failures.count >= textsMax { return further.failed("", nowMs: nowMs) }
        }
        return failures[text, default: RepeatedFailure()].failed(text, nowMs: nowMs)
    }
}
