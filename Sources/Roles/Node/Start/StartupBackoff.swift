import Pacing

/// How long a starting node waits for its servers: steps that double up to 30 s, and a bound for all together. Pure.
struct StartupBackoff {
    private static let steps = Backoff(minMs: 1_000, maxMs: 30_000)

    /// Nil: no bound.
    let boundMs: Int?
    /// Counts a step in whole until `ended` says that it was shorter.
    private(set) var waitedMs = 0
    private var stepCount = 0

    init(boundMs: Int?) {
        self.boundMs = boundMs
    }

    /// The length of the next step; nil when the bound is reached.
    mutating func next() -> Int? {
        var ms = Int(Self.steps.delayMs(after: stepCount))
        if let boundMs { ms = min(ms, boundMs - waitedMs) }
        guard ms > 0 else { return nil }
        stepCount += 1
        waitedMs += ms
        return ms
    }

    /// The server was there before the end of the step: the next one has the bound's remaining time, and short steps.
    mutating func ended(earlyMs: Int) {
        waitedMs -= earlyMs
        stepCount = 0
    }
}
