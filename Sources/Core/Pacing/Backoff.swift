/// Exponential back-off: `minMs` at first, doubling with each failure, at most `maxMs`.
package struct Backoff: Sendable, Hashable {
    /// Limits the exponent, so that the shift stays in range.
    private static let doublingsMax = 16

    package let minMs: Int64
    package let maxMs: Int64

    package init(minMs: Int64, maxMs: Int64) {
        self.minMs = minMs
        self.maxMs = maxMs
    }

    /// - Parameter failures: the number of consecutive failures before the latest one; 0 yields `minMs`.
    package func delayMs(after failures: Int) -> Int64 {
        min(maxMs, minMs << Int64(min(max(failures, 0), Self.doublingsMax)))
    }
}
