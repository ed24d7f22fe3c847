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

    /// The delay shortened by up to half, so that many clients of one server do not return at the same instant.
    /// - Parameter random: picks a number from a range.
    package func delayMs(after failures: Int, jitter random: (ClosedRange<Int64>) -> Int64) -> Int64 {
        let wholeMs = delayMs(after: failures)
        return random((wholeMs + 1) / 2...wholeMs)
    }
}

/// A `Backoff` with jitter that counts the attempts itself.
package struct JitteredBackoff: Sendable {
    private let backoff: Backoff
    private var attempts = 0

    package init(minMs: Int, maxMs: Int) {
        let minMs = Int64(max(1, minMs))
        backoff = Backoff(minMs: minMs, maxMs: max(minMs, Int64(maxMs)))
    }

    package mutating func reset() { attempts = 0 }

    /// - Parameter random: picks a number from a range.
    package mutating func nextMs(_ random: (ClosedRange<Int>) -> Int) -> Int {
        defer { attempts += 1 }
        return Int(backoff.delayMs(after: attempts) { Int64(random(Int($0.lowerBound)...Int($0.upperBound))) })
    }
}
