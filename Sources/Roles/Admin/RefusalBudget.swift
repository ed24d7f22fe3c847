import Pacing

/// The limit on audit log lines about refused requests, so that a flood cannot fill the log. Pure.
///
/// A run of refusals logs `linesMax` lines, then one each `refillMs` with the count of those suppressed.
struct RefusalBudget: Sendable {
    static let linesMax = 20
    static let refillMs: Int64 = 3_000

    private var lines = TokenBucket(count: 1, periodMs: Self.refillMs, burst: Self.linesMax)
    private var unlogged = 0

    /// Decides whether a refusal is logged.
    /// - Returns: the number of refusals suppressed since the last line; nil if this one is suppressed, too.
    mutating func refused(nowMs: Int64) -> Int? {
        guard lines.takeOne(nowMs: nowMs) else {
            unlogged += 1
            return nil
        }
        defer { unlogged = 0 }
        return unlogged
    }
}
