/// A limit on what a peer may do at once, and again as often in each window of time.
struct EventLimit {
    let eventsMax: Int
    let windowMs: Int64
    /// Events that still count, each worth `windowMs`; every passed millisecond forgives `eventsMax`.
    private var level: Int64 = 0
    private var updatedMs: Int64 = 0

    init(eventsMax: Int, windowMs: Int64) {
        self.eventsMax = eventsMax
        self.windowMs = windowMs
    }

    /// Counts one event.
    /// - Returns: false if it is one too many.
    mutating func permits(nowMs: Int64) -> Bool {
        // The whole window forgives everything, which also bounds the product.
        let passed = min(max(0, nowMs - updatedMs), windowMs)
        level = max(0, level - passed * Int64(eventsMax)) + windowMs
        updatedMs = nowMs
        return level <= Int64(eventsMax) * windowMs
    }
}
