/// A token bucket: one token per event, `count` new tokens per `periodMs`, at most `burst` saved.
///
/// Exact: fractions of a token are kept as integers, so the rate does not depend on how often it is used. Time is an
/// argument; a clock that jumps back neither adds nor removes tokens.
package struct TokenBucket: Sendable {
    private let count: Int64
    private let periodMs: Int64
    private let creditMax: Int64
    /// The credit in units of which a token costs `periodMs` and each millisecond adds `count`.
    private var credit: Int64
    /// The time of the last refill; nil before the first use, when the bucket is full.
    private var filledMs: Int64?

    /// `count`, `periodMs` and `burst` must be at least 1.
    package init(count: Int, periodMs: Int64, burst: Int) {
        self.count = Int64(max(1, count))
        self.periodMs = max(1, periodMs)
        creditMax = Int64(max(1, burst)) * self.periodMs
        credit = creditMax
    }

    package init(perSecond: Int, burst: Int) {
        self.init(count: perSecond, periodMs: 1_000, burst: burst)
    }

    /// Returns the number of available tokens.
    package mutating func available(nowMs: Int64) -> Int {
        if let filledMs, nowMs > filledMs {
            let elapsedMs = nowMs - filledMs
            // Compares first, so that a long pause does not overflow.
            credit = elapsedMs > (creditMax - credit) / count ? creditMax : credit + elapsedMs * count
        }
        filledMs = max(nowMs, filledMs ?? nowMs)
        return Int(credit / periodMs)
    }

    /// - Parameter count: must not exceed the available tokens.
    package mutating func take(_ count: Int) {
        let cost = Int64(count) * periodMs
        precondition(cost <= credit, "\(count) tokens taken of \(credit / periodMs)")
        credit -= cost
    }

    /// - Returns: false if no token is available.
    package mutating func takeOne(nowMs: Int64) -> Bool {
        guard available(nowMs: nowMs) > 0 else { return false }
        take(1)
        return true
    }

    /// The time at which a token will be available, by the clock of the last call; 0 before the first.
    package var nextMs: Int64 {
        let missing = max(0, periodMs - credit)
        return (filledMs ?? 0) + (missing + count - 1) / count
    }
}
