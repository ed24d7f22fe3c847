/// A token bucket: so many runs per second, at most `burst` at once after a quiet time. Pure: time is given.
struct Pace: Sendable {
    private let perSecond: Double
    private let burst: Double
    private var tokens: Double
    private var filledMs: Int64 = 0

    init(perSecond: Int, burst: Int) {
        self.perSecond = Double(max(1, perSecond))
        self.burst = Double(max(1, burst))
        tokens = self.burst
    }

    /// Whole tokens there are now.
    mutating func available(nowMs: Int64) -> Int {
        if nowMs > filledMs {
            if filledMs > 0 { tokens = min(burst, tokens + Double(nowMs - filledMs) * perSecond / 1_000) }
            filledMs = nowMs
        }
        return Int(tokens)
    }

    mutating func take(_ count: Int) { tokens -= Double(count) }

    /// When there is at least one.
    var nextMs: Int64 { tokens >= 1 ? filledMs : filledMs + Int64(((1 - tokens) * 1_000 / perSecond).rounded(.up)) }
}
