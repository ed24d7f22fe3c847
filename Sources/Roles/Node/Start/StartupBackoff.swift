import Pacing

/// The steps in which a starting node waits for its servers: they double up to 30 s and have a total bound. Pure.
struct StartupBackoff {
    private static let steps = Backoff(minMs: 1_000, maxMs: 30_000)

    /// Nil: no bound.
    let boundMs: Int?
    /// The time waited; a step counts in full until `ended` reports that it was shorter.
    private(set) var waitedMs = 0
    private var stepCount = 0

    init(boundMs: Int?) {
        self.boundMs = boundMs
    }

    /// Returns the length of the next step; nil when the bound is reached.
    mutating func next() -> Int? {
        var ms = Int(Self.steps.delayMs(after: stepCount))
        if let boundMs { ms = min(ms, boundMs - waitedMs) }
        guard ms > 0 else { return nil }
        stepCount += 1
        waitedMs += ms
        return ms
    }

    /// Records that the server answered before the end of the step. The next server gets the remaining time and starts
    /// with short steps.
    mutating func ended(earlyMs: Int) {
        waitedMs -= earlyMs
        stepCount = 0
    }
}
