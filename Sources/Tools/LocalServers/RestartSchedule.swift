import Pacing

/// The schedule for restarting a process that ended unexpectedly: quickly at first, then with growing pauses, and
/// finally not at all. Pure.
struct RestartSchedule: Sendable {
    /// The pauses before each further start.
    static let pauses = Backoff(minMs: 200, maxMs: 5_000)
    /// The most consecutive ends, including failed starts, without `steadyMs` of running in between.
    static let endsMax = 10
    /// The running time after which an end counts as the first one again.
    static let steadyMs: Int64 = 30_000

    private var endsInARow = 0
    private var startedMs: Int64?

    mutating func started(nowMs: Int64) { startedMs = nowMs }

    /// Records an end.
    /// - Returns: the pause before the next start; nil to give up.
    mutating func ended(nowMs: Int64) -> Int? {
        if let startedMs, nowMs - startedMs >= Self.steadyMs { endsInARow = 0 }
        startedMs = nil
        endsInARow += 1
        guard endsInARow <= Self.endsMax else { return nil }
        return Int(Self.pauses.delayMs(after: endsInARow - 1))
    }
}
