/// One wake-up that is still to come, the earliest that was asked for.
struct Alarm {
    private var pending: (deadlineMs: Int64, task: Task<Void, Never>)?

    /// Sets the alarm to `deadlineMs` unless it rings before that anyway; nil asks for nothing.
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

    /// Whether this is the alarm that was set; it is off then. One that was replaced in the last instant is not.
    mutating func isDue(_ deadlineMs: Int64) -> Bool {
        guard pending?.deadlineMs == deadlineMs else { return false }
        pending = nil
        return true
    }
}
