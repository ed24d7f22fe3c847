/// Whether a new session may begin now: a token bucket, with advice for those that it refuses.
///
/// When a gateway dies, all its clients come to the others in the same moment. Each costs a handshake, a token to verify
/// and an interest to announce; taken all at once they hold up whoever is connected already. So a node takes `burst` at
/// once and `perSecond` after that. Whoever is refused is told when to come back, and that time is a seat: the first is
/// told of the next second, the ones behind it of later ones, `perSecond` of them to each. Drawing a time from the whole
/// window instead would send most clients to its beginning, because the window was short when the first were refused.
///
/// A seat is advice, not a reservation: who comes back takes a token like anybody else. A client that never comes back
/// leaves its seat empty. Bound: a few numbers, whatever comes.
package struct SessionAdmission: Sendable {
    package enum Decision: Sendable, Hashable {
        case admitted
        /// Whole seconds, because that is what `Retry-After` can say.
        case refused(retryAfterMs: Int64)
    }

    /// The longest time that anybody is told. When that much is given away, the rest is spread over all of it.
    package static let retryAfterMaxMs: Int64 = 60_000

    /// 0: everybody is admitted.
    package let perSecond: Int
    package let burst: Int
    private var tokens: Double
    private var refilledMs: Int64?
    /// Up to here seats are given away.
    private var seatMs: Double = 0

    package init(perSecond: Int, burst: Int) {
        self.perSecond = perSecond
        self.burst = max(1, burst)
        tokens = Double(self.burst)
    }

    /// - Parameter nowMs: of any clock; one that jumps back gives nothing and takes nothing.
    package mutating func arrived(
        nowMs: Int64, random: inout some RandomNumberGenerator
    ) -> Decision {
        guard perSecond > 0 else { return .admitted }
        let elapsedMs = max(0, nowMs - (refilledMs ?? nowMs))
        refilledMs = max(nowMs, refilledMs ?? nowMs)
        tokens = min(Double(burst), tokens + Double(elapsedMs) * Double(perSecond) / 1_000)
        if tokens >= 1 {
            tokens -= 1
            return .admitted
        }
        return .refused(retryAfterMs: seat(nowMs: Double(refilledMs ?? nowMs), &random))
    }

    private mutating func seat(nowMs: Double, _ random: inout some RandomNumberGenerator) -> Int64 {
        let waitMs = max(seatMs, nowMs) - nowMs
        guard waitMs < Double(Self.retryAfterMaxMs - 1_000) else {
            return Int64.random(in: 1...Self.retryAfterMaxMs / 1_000, using: &random) * 1_000
        }
        seatMs = nowMs + waitMs + 1_000 / Double(perSecond)
        // Rounded up or down by chance: on average the seat's own time, though only whole seconds can be told.
        let seconds = Int64(waitMs / 1_000 + Double.random(in: 0..<1, using: &random))
        return (1 + seconds) * 1_000
    }
}
