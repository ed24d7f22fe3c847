import Synchronization

/// Opens once, when every connection has been made for the first time, or with the error that prevented it.
final class StartGate: Sendable {
    private struct State {
        var missing: Set<Int> = []
        var count = 0
        var lastError: PostgresError?
        var result: Result<Void, PostgresError>?
        var waiters: [CheckedContinuation<Result<Void, PostgresError>, Never>] = []
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
            }
        }
    }

    func fail(_ error: PostgresError) {
        state.withLock { Self.open(&$0, .failure(error)) }
    }

    func expire(_ timeoutMs: Int) {
        state.withLock { state in
            let error = PostgresError(.connectionFailed, "not connected within \(timeoutMs) ms")
            Self.open(&state, .failure(state.lastError ?? error))
        }
    }

    func wait() async -> Result<Void, PostgresError> {
        await withCheckedContinuation { continuation in
            let result = state.withLock { state in
                if state.result == nil { state.waiters.append(continuation) }
                return state.result
            }
            if let result { continuation.resume(returning: result) }
        }
    }

    private static func open(_ state: inout State, _ result: Result<Void, PostgresError>) {
        guard state.result == nil else { return }
        state.result = result
        for waiter in state.waiters { waiter.resume(returning: result) }
        state.waiters = []
    }
}
