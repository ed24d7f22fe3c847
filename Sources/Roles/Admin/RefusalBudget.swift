import Pacing

/// How many lines refused requests may write into the audit log, so that a flood of requests cannot fill it. Pure.
///
/// A run of refusals begins with `linesMax` lines; then there is one each `refillMs`, which tells how many came
/// without.
struct RefusalBudget: Sendable {
    static let linesMax = 20
    static let refillMs: Int64 = 3_000

    private var lines = TokenBucket(count: 1, periodMs: Self.refillMs, burst: Self.linesMax)
    private var unlogged = 0

    /// - Returns: how many refusals had no line since the last line; nil if this one gets none either.
    mutating func refused(nowMs: Int64) -> Int? {
        guard lines.takeOne(nowMs: nowMs) else {
            unlogged += 1
            return nil
        }
        defer { unlogged = 0 }
        return unlogged
    }
}
