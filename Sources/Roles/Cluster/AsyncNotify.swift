import Synchronization

/// Lets any task wake the one that waits. A notification without a waiter ends the next wait at once.
final class AsyncNotify: Sendable {
    private struct Waiter {
        let ticket: UInt64
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var isNotified = false
        var waiter: Waiter?
        var lastTicket: UInt64 = 0
    }

    private let state = Mutex(State())

    /// The number of the last wait.
    var lastTicket: UInt64 { state.withLock { $0.lastTicket } }
    /// Whether a task waits, for tests, which cannot see it otherwise.
    var isWaiting: Bool { state.withLock { $0.waiter != nil } }

    func notify() {
        let waiter = state.withLock { state in
            state.isNotified = state.waiter == nil
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.continuation.resume(returning: true)
    }

    /// Returns when the time is over, at a notification, or when the task is cancelled. Only one task at a time may
    /// wait.
    /// - Returns: whether there was a notification.
    func wait(ms: Int) async -> Bool {
        let ticket = state.withLock { state in
            state.lastTicket += 1
            return state.lastTicket
        }
        var timer: Task<Void, any Error>?
        defer { timer?.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    if state.isNotified || Task.isCancelled {
                        defer { state.isNotified = false }
                        return state.isNotified
                    }
                    state.waiter = Waiter(ticket: ticket, continuation: continuation)
                    return nil
                }
                if let answer { return continuation.resume(returning: answer) }
                // Only now is there a waiter to wake.
                timer = Task {
                    try await Task.sleep(for: .milliseconds(ms))
                    giveUp(ticket)
                }
            }
        } onCancel: {
            giveUp(ticket)
        }
    }

    /// Ends this wait. The timer of an earlier wait may fire while its task is being cancelled; it must not end a later
    /// one.
    func giveUp(_ ticket: UInt64) {
        let waiter = state.withLock { state -> Waiter? in
            guard state.waiter?.ticket == ticket else { return nil }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.continuation.resume(returning: false)
    }
}
