import Synchronization

/// Lets any task wake the one that waits. A ring without a waiter ends the next wait at once.
final class AsyncNotify: Sendable {
    private struct State {
        var isRung = false
        var waiter: CheckedContinuation<Bool, Never>?
    }

    private let state = Mutex(State())

    func ring() {
        let waiter = state.withLock { state in
            state.isRung = state.waiter == nil
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: true)
    }

    /// Returns when the time is over, at a ring, or when the task is cancelled. Only one task may wait at a time.
    /// - Returns: whether there was a ring.
    func wait(ms: Int) async -> Bool {
        var timer: Task<Void, any Error>?
        defer { timer?.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    if state.isRung || Task.isCancelled {
                        defer { state.isRung = false }
                        return state.isRung
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
