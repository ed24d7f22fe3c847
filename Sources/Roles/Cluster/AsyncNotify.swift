import Synchronization

/// Lets any task wake the one that waits. A notification without a waiter ends the next wait at once.
final class AsyncNotify: Sendable {
    private struct State {
        var isNotified = false
        var waiter: CheckedContinuation<Bool, Never>?
    }

    private let state = Mutex(State())

    func notify() {
        let waiter = state.withLock { state in
            state.isNotified = state.waiter == nil
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: true)
    }

    /// Returns when the time is over, at a notification, or when the task is cancelled. Only one task at a time may
    /// wait.
    /// - Returns: whether there was a notification.
    func wait(ms: Int) async -> Bool {
        var timer: Task<Void, any Error>?
        defer { timer?.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    if state.isNotified || Task.isCancelled {
                        defer { state.isNotified = false }
                        return state.isNotified
                    }
                    state.waiter = continuation
                    return nil
                }
                if let answer { return continuation.resume(returning: answer) }
                // Only now is there a waiter to wake.
                timer = Task {
                    try await Task.sleep(for: .milliseconds(ms))
                    giveUp()
                }
            }
        } onCancel: {
            giveUp()
        }
    }

    private func giveUp() {
        let waiter = state.withLock { state in
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: false)
    }
}
