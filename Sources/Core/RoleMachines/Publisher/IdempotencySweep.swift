/// One round of removing kept answers: those older than `keepMs` in batches until one is not full, then the oldest
/// while there are more than `rowsMax`. A step that fails ends the round; the next one continues.
package struct IdempotencySweep: Sendable {
    package struct Settings: Sendable {
        package var sweepMs: Int64 = 60_000
        package var keepMs: Int64 = 86_400_000
        package var rowsMax = 1_000_000
        /// Rows removed by one statement.
        package var batchMax = 1_000
        /// Rows removed by one round before their time.
        package var evictedMax = 100_000

        package init() {}
    }

    package enum Step: Sendable, Hashable {
        /// Remove rows older than this, then call `removedExpired`.
        case removeExpired(ageMs: Int64, limit: Int)
        /// Count the rows up to a limit, then call `counted`.
        case count(limit: Int)
        /// Remove the oldest rows, then call `removedOldest`.
        case removeOldest(limit: Int)
        /// The round is over: begin the next one after this time. `evicted` rows were removed before their time.
        case wait(ms: Int64, evicted: Int)
    }

    private let settings: Settings
    private var excess = 0
    private var evicted = 0

    package init(_ settings: Settings) {
        self.settings = settings
    }

    package func begun() -> Step { .removeExpired(ageMs: settings.keepMs, limit: settings.batchMax) }

    /// - Parameter count: nil if it failed.
    package func removedExpired(_ count: Int?) -> Step {
        guard let count else { return end }
        return count >= settings.batchMax ? begun() : .count(limit: settings.rowsMax + settings.evictedMax)
    }

    /// - Parameter rows: nil if it failed.
    package mutating func counted(_ rows: Int?) -> Step {
        excess = max(0, (rows ?? 0) - settings.rowsMax)
        return next
    }

    /// - Parameter count: nil if it failed.
    package mutating func removedOldest(_ count: Int?) -> Step {
        // Others hold what is left.
        guard let count, count > 0 else { return end }
        excess -= count
        evicted += count
        return next
    }

    private var next: Step { excess > 0 ? .removeOldest(limit: min(excess, settings.batchMax)) : end }
    private var end: Step { .wait(ms: settings.sweepMs, evicted: evicted) }
}
