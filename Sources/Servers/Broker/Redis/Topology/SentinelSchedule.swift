import Pacing

/// When the sentinels are queried: after hints, with growing pauses while these bring nothing new, when a sentinel
/// announces another master, and every `periodMs`.
struct SentinelSchedule {
    private static let periodMs = 1_000
    private static let pauseMaxMs = 500

    private var pause: JitteredBackoff
    private var isPausing = false
    /// The end of the pause or period.
    private(set) var untilNs: UInt64 = 0

    init(pauseMinMs: Int) { pause = JitteredBackoff(minMs: pauseMinMs, maxMs: Self.pauseMaxMs) }

    /// The master changed.
    mutating func changed() { pause.reset() }

    /// Starts the pause after a round of questions, or the period while there is no hint.
    /// - Parameter random: picks a number from a range.
    mutating func wait(afterRound: Bool, nowNs: UInt64, _ random: (ClosedRange<Int>) -> Int) {
        isPausing = afterRound
        untilNs = addMs(afterRound ? pause.nextMs(random) : Self.periodMs, to: nowNs)
    }

    enum Step: Equatable {
        case wait
        /// Query the sentinels if there is a hint.
        case proceed
        /// Query the sentinels.
        case query
    }

    /// - Parameters:
    ///   - isHinted: whether a hint, or the end, may have arrived.
    ///   - isAnnounced: whether a sentinel sent something.
    func step(isHinted: Bool, isAnnounced: Bool, nowNs: UInt64) -> Step {
        if isAnnounced { return .query }
        if nowNs >= untilNs { return isPausing ? .proceed : .query }
        // Hints during the pause wait for its end.
        return isHinted && !isPausing ? .proceed : .wait
    }
}
