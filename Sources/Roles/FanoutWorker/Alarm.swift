import RoleMachines

/// The timer for the earliest deadline.
struct Alarm {
    private var earliest = EarliestDeadline()
    private var task: Task<Void, Never>?

    /// Sets the timer if the deadline is earlier than the one for which it is set; nil changes nothing.
    mutating func set(at deadlineMs: Int64?, nowMs: Int64, fire: @escaping @Sendable (Int64) async -> Void) {
        guard let (deadlineMs, delayMs) = earliest.named(deadlineMs, nowMs: nowMs) else { return }
        task?.cancel()
        task = Task {
            try? await Task.sleep(for: .milliseconds(delayMs))
            if !Task.isCancelled { await fire(deadlineMs) }
        }
    }

    /// Returns the time to report to the machine; nil if another timer replaced this one at the last instant.
    mutating func fired(_ deadlineMs: Int64, nowMs: Int64) -> Int64? { earliest.fired(deadlineMs, nowMs: nowMs) }
}
