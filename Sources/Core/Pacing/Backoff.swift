/// Delays between attempts: `minMs` at first, twice as long after each failure, at most `maxMs`.
package struct Backoff: Sendable, Hashable {
    /// Further failures than these change nothing, and shifts stay in range.
    private static let doublingsMax = 16

    package let minMs: Int64
    package let maxMs: Int64

    package init(minMs: Int64, maxMs: Int64) {
        self.minMs = minMs
        self.maxMs = maxMs
    }

    /// - Parameter failures: in a row, before the one that just happened: 0 gives `minMs`.
    package func delayMs(after failures: Int) -> Int64 {
        min(maxMs, minMs << Int64(min(max(failures, 0), Self.doublingsMax)))
    }
}
