import Pacing

/// When something that ended by itself is started again: quickly at first, then with growing pauses, and not for ever.
/// Pure: told of ends and of the time.
struct RestartSchedule: Sendable {
    /// Before each further start.
    static let pauses = Backoff(minMs: 200, maxMs: 5_000)
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
        return Int(Self.pauses.delayMs(after: endsInARow - 1))
    }
}
