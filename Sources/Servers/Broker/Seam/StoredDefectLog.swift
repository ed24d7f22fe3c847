import Clocks
package import LiveModel
package import Logging
import Pacing
import Synchronization

/// Logs values read from Redis that no node writes: at most one line in each interval, because they stay there and are
/// read again.
package final class StoredDefectLog: Sendable {
    private let place: String
    private let logger: Logger
    private let repeated = Mutex(RepeatedFailure())

    /// - Parameter place: names what was read: `nodes`, `overrides`.
    package init(of place: String, _ logger: Logger) {
        self.place = place
        self.logger = logger
    }

    package func report(_ defects: StoredDefects) {
        guard !defects.isEmpty else { return }
        let nowMs = MonotonicClock.nowMs()
        guard let leftOut = repeated.withLock({ $0.failed("", count: defects.count, nowMs: nowMs) }) else { return }
        logger.warning(
            "invalid values in Redis were clamped or ignored",
            metadata: [
                "of": "\(place)", "count": "\(defects.count)", "first": "\(defects.first)", "notLogged": "\(leftOut)",
            ])
    }
}
