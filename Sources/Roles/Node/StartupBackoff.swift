import Pacing

/// How long a starting node waits for a server, in steps that double up to 30 s; after each it logs the reason. Pure.
struct StartupBackoff {
    private static let steps = Backoff(minMs: 1_000, maxMs: 30_000)

    /// Nil: no bound.
    let boundMs: Int?
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
}
