import Synchronization

/// Lends exclusive connections to sessions: the free ones and the callers waiting for one, first come, first served.
final class SessionQueue: Sendable {
    private typealias Waiter = CheckedContinuation<Result<ConnectionHandle, PostgresError>, Never>

    private struct State {
        var free: [ConnectionHandle]
        /// At most `waitersMax`.
        var waiters: [(id: Int, waiter: Waiter)] = []
        /// Callers about to wait; with an error if they were cancelled or timed out before.
        var coming: [Int: PostgresError?] = [:]
        var idsGiven = 0
        var isClosed = false
    }

    let connections: [ConnectionHandle]
    private let waitersMax: Int
    private let state: Mutex<State>

    init(connections: [ConnectionHandle], waitersMax: Int) {
        self.connections = connections
        self.waitersMax = waitersMax
        state = Mutex(State(free: connections))
    }

    var waitersCount: Int { state.withLock { $0.waiters.count } }
    var freeCount: Int { state.withLock { $0.free.count } }

    /// Takes a connection. It may be reconnecting, in which case its first use fails.
    func acquire(timeoutMs: Int) async throws(PostgresError) -> ConnectionHandle {
        let id = state.withLock { state in
            state.idsGiven += 1
            state.coming[state.idsGiven] = .some(nil)
            return state.idsGiven
        }
        let timer = Task {
            try await Task.sleep(for: .milliseconds(timeoutMs))
            leave(id, PostgresError(.timeout(outcomeUnknown: false), "no session became free in time"))
        }
        defer { timer.cancel() }
        let result: Result<ConnectionHandle, PostgresError> = await withTaskCancellationHandler {
            await withCheckedContinuation { enter(id, $0) }
        } onCancel: {
            leave(id, PostgresError(.cancelled, "the caller was cancelled"))
        }
        return try result.get()
    }

    func release(_ connection: ConnectionHandle) {
        let next: Waiter? = state.withLock { state in
            if state.waiters.isEmpty {
                state.free.append(connection)
                return nil
            }
            return state.waiters.removeFirst().waiter
        }
        next?.resume(returning: .success(connection))
    }

    func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for (_, waiter) in waiters { waiter.resume(returning: .failure(Self.closed)) }
    }

    private static let closed = PostgresError(.closed, "the pool is stopped")

    private func enter(_ id: Int, _ waiter: Waiter) {
        let answer: Result<ConnectionHandle, PostgresError>? = state.withLock { state in
            let early = state.coming.removeValue(forKey: id) ?? nil
            if state.isClosed { return .failure(Self.closed) }
            if let early { return .failure(early) }
            // Prefer a connected one.
            if let index = state.free.lastIndex(where: { $0.counters.isConnected.load(ordering: .relaxed) }) {
                return .success(state.free.remove(at: index))
            }
            if let connection = state.free.popLast() { return .success(connection) }
            if state.waiters.count >= waitersMax {
                return .failure(PostgresError(.queueFull, "\(waitersMax) callers wait for a session"))
            }
            state.waiters.append((id, waiter))
            return nil
        }
        if let answer { waiter.resume(returning: answer) }
    }

    private func leave(_ id: Int, _ error: PostgresError) {
        let waiter: Waiter? = state.withLock { state in
            guard let index = state.waiters.firstIndex(where: { $0.id == id }) else {
                if state.coming[id] != nil { state.coming[id] = .some(error) }
                return nil
            }
            return state.waiters.remove(at: index).waiter
        }
        waiter?.resume(returning: .failure(error))
    }
}
