import Synchronization

/// The tasks of a node that run until they are cancelled.
///
/// A stop cancels them and awaits them in two steps: in between, the connections are closed that a task may be waiting
/// for.
final class BackgroundTasks: Sendable {
    private struct State {
        /// Bound: a few for each part of the node, and one while sessions drain.
        var running: [UInt64: Task<Void, Never>] = [:]
        var lastID: UInt64 = 0
        var isCancelled = false
    }

    private let state = Mutex(State())

    /// Starts a task; after `cancel`, one that is already cancelled.
    func add(_ body: @escaping @Sendable () async -> Void) {
        let late: Task<Void, Never>? = state.withLock { state in
            state.lastID += 1
            let id = state.lastID
            let task = Task {
                await body()
                self.state.withLock { _ = $0.running.removeValue(forKey: id) }
            }
            state.running[id] = task
            return state.isCancelled ? task : nil
        }
        late?.cancel()
    }

    func cancel() {
        let tasks = state.withLock { state in
            state.isCancelled = true
            return Array(state.running.values)
        }
        for task in tasks { task.cancel() }
    }

    /// Returns when every task has ended.
    func finish() async {
        while let task = state.withLock({ $0.running.values.first }) { await task.value }
    }
}
