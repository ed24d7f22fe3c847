import Synchronization

/// Lets any task wake the one task that waits. A ring while no task waits ends the next wait at once.
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

    /// Returns after the time, when the task is cancelled, or at a ring. For one task at a time.
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
                // Not before there is a waiter to wake.
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
