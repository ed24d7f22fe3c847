import Synchronization

/// Lets any task wake the one that waits. A notification without a waiter ends the next wait at once.
final class AsyncNotify: Sendable {
    private let slot = Mutex(WaitSlot<CheckedContinuation<Bool, Never>>())

    func notify() {
        let waiter = slot.withLock { $0.notify() }
        waiter?.resume(returning: true)
    }

    /// Returns when the time is over, at a notification, or when the task is cancelled. Only one task at a time may
    /// wait.
    /// - Returns: whether there was a notification.
    func wait(ms: Int) async -> Bool {
        let ticket = slot.withLock { $0.makeTicket() }
        var timer: Task<Void, any Error>?
        defer { timer?.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = slot.withLock {
                    $0.wait(continuation, ticket: ticket, isCancelled: Task.isCancelled)
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

    private func giveUp(_ ticket: UInt64) {
        let waiter = slot.withLock { $0.giveUp(ticket) }
        waiter?.resume(returning: false)
    }
}
