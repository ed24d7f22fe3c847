/// The messages in a row about one live query that were older than the held result. A few are duplicates of what was
/// read before; more of them, over some time, mean that the held result cannot be the owner's.
struct OlderMessages: Sendable {
    private static let countMax = 3
    private static let spanMs: Int64 = 1_000

    private var count = 0
    private var sinceMs: Int64 = 0

    /// - Returns: whether the older messages are too many, over too long a time, to be duplicates.
    mutating func arrived(nowMs: Int64) -> Bool {
        if count == 0 { sinceMs = nowMs }
        count = min(count + 1, Self.countMax)
        return count == Self.countMax && nowMs - sinceMs >= Self.spanMs
    }
}
