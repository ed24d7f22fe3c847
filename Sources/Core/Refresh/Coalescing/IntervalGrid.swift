package import LiveModel

/// The times at which a `@refresh(every:)` live query is due.
///
/// Each interval has a grid of `slotsPerInterval` points. A live query's key picks one, so phases are spread over the
/// whole interval, and live queries on the same point are due together and share statements.
package enum IntervalGrid {
    /// Points per interval; the re-runs of many live queries are spread over them.
    package static let slotsPerInterval: Int64 = 256

    /// Returns the first due time after `nowMs`.
    package static func next(after nowMs: Int64, everyMs: Int64, key: LiveQueryKey) -> Int64 {
        let slots = min(slotsPerInterval, everyMs)
        let phase = Int64(key.digest.prefix % UInt64(slots)) * everyMs / slots
        let periods = (nowMs - phase) / everyMs
        var due = periods * everyMs + phase
        while due <= nowMs { due += everyMs }
        return due
    }
}
