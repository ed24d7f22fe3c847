import Pacing

/// When the servers that know a topology are queried, sentinels or nodes of a cluster: after hints, with growing pauses
/// while these bring nothing new, when a server announces a change, and every `periodMs`.
struct TopologySchedule {
    private static let pauseMaxMs = 500

    private let periodMs: Int
    private var pause: JitteredBackoff
    private var isPausing = false
    /// The end of the pause or period.
    private(set) var untilNs: UInt64 = 0

    init(pauseMinMs: Int, periodMs: Int) {
        self.periodMs = periodMs
        pause = JitteredBackoff(minMs: pauseMinMs, maxMs: Self.pauseMaxMs)
    }

    /// The topology changed.
    mutating func changed() { pause.reset() }

    /// Starts the pause after a round of questions, or the period while there is no hint.
    /// - Parameter random: picks a number from a range.
    mutating func wait(afterRound: Bool, nowNs: UInt64, _ random: (ClosedRange<Int>) -> Int) {
        isPausing = afterRound
        untilNs = addMs(afterRound ? pause.nextMs(random) : periodMs, to: nowNs)
    }

    enum Step: Equatable {
        case wait
        /// Query if there is a hint.
        case proceed
        /// Query.
        case query
    }

    /// - Parameters:
    ///   - isHinted: whether a hint, or the end, may have arrived.
    ///   - isAnnounced: whether a server sent something.
    func step(isHinted: Bool, isAnnounced: Bool, nowNs: UInt64) -> Step {
        if isAnnounced { return .query }
        if nowNs >= untilNs { return isPausing ? .proceed : .query }
        // Hints during the pause wait for its end.
        return isHinted && !isPausing ? .proceed : .wait
    }
}
