/// Decides when a session without operations ends: `timeoutMs` after the later of the client's last message and the end
/// of the last operation.
package struct IdleClock: Sendable {
    package enum Step: Sendable, Hashable {
        /// Set the timer again.
        case wait(ms: Int64)
        case end
    }

    package let timeoutMs: Int64
    private var lastUseMs: Int64

    package init(timeoutMs: Int64, nowMs: Int64) {
        self.timeoutMs = timeoutMs
        lastUseMs = nowMs
    }

    /// The client sent a message, or an operation ended.
    package mutating func used(nowMs: Int64) { lastUseMs = nowMs }

    /// Handles the timer, which is first set to `timeoutMs`.
    package func timerFired(hasOperations: Bool, nowMs: Int64) -> Step {
        if hasOperations { return .wait(ms: timeoutMs) }
        let leftMs = lastUseMs + timeoutMs - nowMs
        return leftMs > 0 ? .wait(ms: leftMs) : .end
    }
}
