/// The earliest requested wake-up.
struct Alarm {
    private var pending: (deadlineMs: Int64, task: Task<Void, Never>)?

    /// Sets the alarm to `deadlineMs` unless it is already set to an earlier time; nil changes nothing.
    mutating func set(at deadlineMs: Int64?, nowMs: Int64, ring: @escaping @Sendable (Int64) async -> Void) {
        guard let deadlineMs, deadlineMs < pending?.deadlineMs ?? .max else { return }
        pending?.task.cancel()
        let delayMs = max(0, deadlineMs - nowMs)
        let task = Task {
            try? await Task.sleep(for: .milliseconds(delayMs))
            if !Task.isCancelled { await ring(deadlineMs) }
        }
        pending = (deadlineMs, task)
    }

    /// Clears the alarm and returns true if it is set to `deadlineMs`. An alarm replaced at the last instant is not
    /// due.
    mutating func isDue(_ deadlineMs: Int64) -> Bool {
        guard pending?.deadlineMs == deadlineMs else { return false }
        pending = nil
        return true
    }
}
