import Streams
import Synchronization

/// The thread behind a `ClusterMap` or `SentinelWatch`, from `start` to `close`: collects hints that the known servers
/// are outdated, and wakes the threads that wait for changes.
final class TopologyThread: Sendable {
    private struct State {
        var isHinted = true
        var isClosed = false
    }

    /// Raised by hints and by `close`.
    let wake: WakeFlag
    private let state = Mutex(State())
    private let ending = EndSignal()
    private let listeners = WakeList()
    private let changes = Atomic<Int>(0)

    init() throws(BrokerError) { wake = try WakeFlag() }

    // MARK: Any thread

    /// Starts the thread, which runs `body` until `isClosed`. Call it once.
    func start(named name: String, _ body: @escaping @Sendable () -> Void) throws(BrokerError) {
        try startRedisThread(named: name) {
            body()
            self.ending.raise()
        }
    }

    /// Makes the thread refresh its knowledge of the servers.
    func hint() {
        let isNew = state.withLock { state in
            defer { state.isHinted = true }
            return !state.isHinted
        }
        if isNew { wake.raise() }
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    func close() {
        state.withLock { $0.isClosed = true }
        wake.raise()
    }

    func waitUntilEnded() async { await ending.wait() }

    /// Increases with every change.
    var version: Int { changes.load(ordering: .acquiring) }

    /// Raises the flag at every change.
    func notify(_ wake: WakeFlag) { listeners.add(wake) }

    /// Reports a change.
    func changed() {
        changes.wrappingAdd(1, ordering: .acquiringAndReleasing)
        listeners.raiseAll()
    }

    // MARK: The thread

    /// Returns whether there was a hint since the last call.
    func takeHint() -> Bool {
        state.withLock { state in
            defer { state.isHinted = false }
            return state.isHinted
        }
    }
}
