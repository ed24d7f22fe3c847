import Synchronization

/// A latch that opens when every connection has been made once, or fails when retrying cannot help.
final class StartupLatch: Sendable {
    private struct State {
        var missing: Set<Int> = []
        var count = 0
        var lastError: PostgresError?
        var result: Result<Void, PostgresError>?
        var tickets = 0
        var waiters: [Int: CheckedContinuation<Result<Void, PostgresError>, Never>] = [:]
    }

    private let state = Mutex(State())

    func add() -> Int {
        state.withLock { state in
            state.count += 1
            state.missing.insert(state.count)
            return state.count
        }
    }

    func report(_ id: Int, _ result: Result<Void, PostgresError>) {
        state.withLock { state in
            switch result {
            case .success:
                if state.missing.remove(id) != nil, state.missing.isEmpty { Self.open(&state, .success(())) }
            case .failure(let error):
                state.lastError = error
                if error.isMisconfigured { Self.open(&state, .failure(error)) }
            }
        }
    }

    func fail(_ error: PostgresError) {
        state.withLock { Self.open(&$0, .failure(error)) }
    }

    /// - Returns: when the time is over or the task is cancelled, the error of the last attempt; the latch may still
    ///   open later.
    func wait(ms: Int) async -> Result<Void, PostgresError> {
        let ticket = state.withLock { state in
            state.tickets += 1
            return state.tickets
        }
        var timer: Task<Void, any Error>?
        defer { timer?.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let result = state.withLock { state in
                    if state.result == nil { state.waiters[ticket] = continuation }
                    return state.result
                }
                if let result { return continuation.resume(returning: result) }
                // A cancellation before the registration found nobody to wake.
                if Task.isCancelled { return giveUp(ticket, ms) }
                timer = Task {
                    try await Task.sleep(for: .milliseconds(ms))
                    giveUp(ticket, ms)
                }
            }
        } onCancel: {
            giveUp(ticket, ms)
        }
    }

    private func giveUp(_ ticket: Int, _ ms: Int) {
        let (waiter, error) = state.withLock { state in
            (state.waiters.removeValue(forKey: ticket), state.lastError)
        }
        waiter?.resume(
            returning: .failure(error ?? PostgresError(.connectionFailed, "not connected within \(ms) ms")))
    }

    private static func open(_ state: inout State, _ result: Result<Void, PostgresError>) {
        guard state.result == nil else { return }
        state.result = result
        for waiter in state.waiters.values { waiter.resume(returning: result) }
        state.waiters = [:]
    }
}
