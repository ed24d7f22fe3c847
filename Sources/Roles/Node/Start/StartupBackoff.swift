/// How long a node that starts waits for a server, in steps that double up to `longestMs`; after each it says so. Pure.
struct StartupBackoff {
    static let firstMs = 1_000
    static let longestMs = 30_000

    /// Nil: no bound.
    let boundMs: Int?
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
}
