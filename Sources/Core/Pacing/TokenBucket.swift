/// A rate limit with bursts: one token per event, `count` new ones each `periodMs`, at most `burst` saved up.
///
/// Exact: fractions of a token are kept as integers, so the rate is the same however often it is used. Time is an
/// argument; a clock that jumps back neither gives nor takes tokens.
package struct TokenBucket: Sendable {
    private let count: Int64
    private let periodMs: Int64
    private let creditMax: Int64
    /// A token is worth `periodMs` of it; each millisecond brings `count`.
    private var credit: Int64
    /// Nil before the first use: the bucket begins full.
    private var filledMs: Int64?

    /// `count`, `periodMs` and `burst` are at least 1.
    package init(count: Int, periodMs: Int64, burst: Int) {
        self.count = Int64(max(1, count))
        self.periodMs = max(1, periodMs)
        creditMax = Int64(max(1, burst)) * self.periodMs
        credit = creditMax
    }

    package init(perSecond: Int, burst: Int) {
        self.init(count: perSecond, periodMs: 1_000, burst: burst)
    }

    /// Tokens there are now.
    package mutating func available(nowMs: Int64) -> Int {
        if let filledMs, nowMs > filledMs {
            let elapsedMs = nowMs - filledMs
            // Compared first, so that a long pause does not overflow.
            credit = elapsedMs > (creditMax - credit) / count ? creditMax : credit + elapsedMs * count
        }
        filledMs = max(nowMs, filledMs ?? nowMs)
        return Int(credit / periodMs)
    }

    /// - Parameter count: at most what is available.
    package mutating func take(_ count: Int) {
        let cost = Int64(count) * periodMs
        precondition(cost <= credit, "\(count) tokens taken of \(credit / periodMs)")
        credit -= cost
    }

    /// - Returns: false if there is none.
    package mutating func takeOne(nowMs: Int64) -> Bool {
        guard available(nowMs: nowMs) > 0 else { return false }
        take(1)
        return true
    }

    /// When there is a token, by the clock of the last call; 0 before the first.
    package var nextMs: Int64 {
        let missing = max(0, periodMs - credit)
        return (filledMs ?? 0) + (missing + count - 1) / count
    }
}
