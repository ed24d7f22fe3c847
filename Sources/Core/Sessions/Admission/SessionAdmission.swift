import Pacing

/// Whether a new session may begin now: a token bucket, with advice for those that it refuses.
///
/// When a gateway dies, all its clients reconnect to the others at once. Each costs a handshake, a token to
/// verify and an interest to announce; accepted all at once, they would delay all connected clients. So
/// a node accepts `burst` at once and `perSecond` after that. A refused client learns when to come back, and that time
/// is a slot: the first gets the next second, the ones behind it later ones, `perSecond` of them in each. Drawing a
/// time from the whole window instead would send most clients to its beginning, because the window was short when the
/// first were refused.
///
/// A slot is advice, not a reservation: a client that comes back takes a token like any other, and one that never comes
/// back leaves its slot empty. Uses constant memory.
package struct SessionAdmission: Sendable {
    package enum Decision: Sendable, Hashable {
        case admitted
        /// Whole seconds, the unit of `Retry-After`.
        case refused(retryAfterMs: Int64)
    }

    /// The longest delay that a client is given. When all slots up to it are taken, the rest is spread over all of it.
    package static let retryAfterMaxMs: Int64 = 60_000

    /// 0: every session is admitted.
    package let perSecond: Int
    package let burst: Int
    private var bucket: TokenBucket
    /// The latest time reported; a clock that jumps back is ignored.
    private var latestMs: Int64 = .min
    /// All slots up to this time are taken.
    private var slotMs: Double = 0

    package init(perSecond: Int = 1_000, burst: Int = 2_000) {
        self.perSecond = perSecond
        self.burst = max(1, burst)
        bucket = TokenBucket(perSecond: perSecond, burst: burst)
    }

    /// - Parameter nowMs: the time of any clock; one that jumps back adds no tokens and frees no slots.
    package mutating func arrived(
        nowMs: Int64, random: inout some RandomNumberGenerator
    ) -> Decision {
        guard perSecond > 0 else { return .admitted }
        latestMs = max(latestMs, nowMs)
        if bucket.takeOne(nowMs: nowMs) { return .admitted }
        return .refused(retryAfterMs: slot(nowMs: Double(latestMs), &random))
    }

    private mutating func slot(nowMs: Double, _ random: inout some RandomNumberGenerator) -> Int64 {
        let waitMs = max(slotMs, nowMs) - nowMs
        guard waitMs < Double(Self.retryAfterMaxMs - 1_000) else {
            return Int64.random(in: 1...Self.retryAfterMaxMs / 1_000, using: &random) * 1_000
        }
        slotMs = nowMs + waitMs + 1_000 / Double(perSecond)
        // Rounded up or down by chance: on average the slot's own time, though only whole seconds can be given.
        let seconds = Int64(waitMs / 1_000 + Double.random(in: 0..<1, using: &random))
        return (1 + seconds) * 1_000
    }
}
