/// How long a node that starts waits for its servers: steps that double up to `longestMs`, and a bound for all together.
/// Pure.
struct StartupBackoff {
    static let firstMs = 1_000
    static let longestMs = 30_000

    /// Nil: no bound.
    let boundMs: Int?
    /// Counts a step in whole until `ended` says that it was shorter.
    private(set) var waitedMs = 0
    private var stepMs = StartupBackoff.firstMs

    init(boundMs: Int?) {
        self.boundMs = boundMs
    }

    /// The length of the next step; nil when the bound is reached.
    mutating func next() -> Int? {
        var ms = stepMs
        if let boundMs { ms = min(ms, boundMs - waitedMs) }
        guard ms > 0 else { return nil }
        stepMs = min(Self.longestMs, stepMs * 2)
        waitedMs += ms
        return ms
    }

    /// The server was there before the end of the step: the next one has the bound's remaining time, and short steps.
    mutating func ended(earlyMs: Int) {
        waitedMs -= earlyMs
        stepMs = Self.firstMs
    }
}
