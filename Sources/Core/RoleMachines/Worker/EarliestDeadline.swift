/// The deadline for which the performer of a machine has set its timer: the earliest that the machine has named since
/// the timer last fired.
package struct EarliestDeadline: Sendable {
    private var setMs: Int64?

    package init() {}

    /// Handles the machine's next deadline; nil: it has none.
    /// - Returns: the timer to set, which replaces the former one; nil: the one that is set fires early enough.
    package mutating func named(_ deadlineMs: Int64?, nowMs: Int64) -> (deadlineMs: Int64, afterMs: Int64)? {
        guard let deadlineMs, deadlineMs < setMs ?? .max else { return nil }
        setMs = deadlineMs
        return (deadlineMs, max(0, deadlineMs - nowMs))
    }

    /// Handles the timer that was set for this deadline.
    /// - Returns: the time to report to the machine, not before the deadline even if the timer fired early; nil:
    ///   another timer replaced this one at the last instant.
    package mutating func fired(_ deadlineMs: Int64, nowMs: Int64) -> Int64? {
        guard setMs == deadlineMs else { return nil }
        setMs = nil
        return max(nowMs, deadlineMs)
    }
}
