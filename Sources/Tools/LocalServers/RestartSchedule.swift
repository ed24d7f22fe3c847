/// When something that ended by itself is started again: quickly at first, then with growing pauses, and not for ever.
/// Pure: told of ends and of the time.
struct RestartSchedule: Sendable {
    /// Before the first start anew.
    static let pauseMinMs = 200
    static let pauseMaxMs = 5_000
    /// Ends in a row, failed starts included, of which none came after `steadyMs` of running.
    static let endsMax = 10
    /// After so long an end counts as the first one again.
    static let steadyMs: Int64 = 30_000

    private var endsInARow = 0
    private var startedMs: Int64?

    mutating func started(nowMs: Int64) { startedMs = nowMs }

    /// - Returns: the pause before the next start; nil: no more.
    mutating func ended(nowMs: Int64) -> Int? {
        if let startedMs, nowMs - startedMs >= Self.steadyMs { endsInARow = 0 }
        startedMs = nil
        endsInARow += 1
        guard endsInARow <= Self.endsMax else { return nil }
        return min(Self.pauseMaxMs, Self.pauseMinMs << min(endsInARow - 1, 16))
    }
}
