import Synchronization

/// Lends exclusive connections to sessions. Those who wait are served in turns by caller, and one caller never has all
/// connections, unless there is only one (`FairQueue`).
final class SessionQueue: Sendable {
    private typealias Waiter = CheckedContinuation<Result<ConnectionHandle, PostgresError>, Never>

    private typealias Waiting = (id: Int, waiter: Waiter)

    private struct State {
        var free: [ConnectionHandle]
        var queue: FairQueue<Waiting>
        /// The queue's slots of connections in use; which number goes with which connection does not matter.
        var slots: [Int] = []
        /// Callers about to wait; with an error if they were cancelled or timed out before.
        var coming: [Int: PostgresError?] = [:]
        var idsGiven = 0
        var isClosed = false
    }

    let connections: [ConnectionHandle]
    private let limits: FairQueue<Waiting>.Limits
    private let state: Mutex<State>

    init(connections: [ConnectionHandle], waitersMax: Int, waitersPerCallerMax: Int) {
        self.connections = connections
        limits = .init(
            slots: connections.count, slotsPerSource: max(1, connections.count - 1), waitingMax: waitersMax,
            waitingPerSourceMax: waitersPerCallerMax)
        state = Mutex(State(free: connections, queue: FairQueue(limits: limits)))
    }

    var waitersCount: Int { state.withLock { $0.queue.waitingCount } }
    var freeCount: Int { state.withLock { $0.free.count } }

    /// Takes a connection. It may be reconnecting, in which case its first use fails.
    func acquire(caller: Caller, timeoutMs: Int) async throws(PostgresError) -> ConnectionHandle {
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
            await withCheckedContinuation { enter(id, caller, $0) }
        } onCancel: {
            leave(id, PostgresError(.cancelled, "the caller was cancelled"))
        }
        return try result.get()
    }

    func release(_ connection: ConnectionHandle, of caller: Caller) {
        let next = state.withLock { state in
            state.free.append(connection)
            guard let slot = state.slots.popLast() else { preconditionFailure("no connection is lent") }
            state.queue.ended(slot: slot, of: caller)
            return Self.start(&state)
        }
        if let next { next.waiting.waiter.resume(returning: .success(next.connection)) }
    }

    /// Lends a connection to the next caller who may have one.
    private static func start(_ state: inout State) -> (waiting: Waiting, connection: ConnectionHandle)? {
        guard let (waiting, slot) = state.queue.start() else { return nil }
        state.slots.append(slot)
        let connected = state.free.lastIndex { $0.counters.isConnected.load(ordering: .relaxed) }
        return (waiting, state.free.remove(at: connected ?? state.free.count - 1))
    }

    func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            return state.queue.remove { _ in true }
        }
        for (_, waiter) in waiters { waiter.resume(returning: .failure(Self.closed)) }
    }

    private static let closed = PostgresError(.closed, "the pool is stopped")

    private func enter(_ id: Int, _ caller: Caller, _ waiter: Waiter) {
        let answer: Result<ConnectionHandle, PostgresError>? = state.withLock { state in
            let early = state.coming.removeValue(forKey: id) ?? nil
            if state.isClosed { return .failure(Self.closed) }
            if let early { return .failure(early) }
            switch state.queue.add((id, waiter), of: caller) {
            case .full:
                return .failure(PostgresError(.queueFull, "\(limits.waitingMax) callers wait for a session"))
            case .sourceFull:
                let count = limits.waitingPerSourceMax
                return .failure(PostgresError(.queueFull, "\(count) sessions of the same caller wait"))
            case nil: break
            }
            guard let started = Self.start(&state) else { return nil }
            precondition(started.waiting.id == id, "\(started.waiting.id) could have started before \(id)")
            return .success(started.connection)
        }
        if let answer { waiter.resume(returning: answer) }
    }

    private func leave(_ id: Int, _ error: PostgresError) {
        let waiter: Waiter? = state.withLock { state in
            guard let waiting = state.queue.remove(where: { $0.id == id }).first else {
                if state.coming[id] != nil { state.coming[id] = .some(error) }
                return nil
            }
            return waiting.waiter
        }
        waiter?.resume(returning: .failure(error))
    }
}
