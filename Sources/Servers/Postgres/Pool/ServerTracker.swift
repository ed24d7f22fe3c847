import Synchronization

/// Shares among a pool's connections what one of them finds out about the server.
final class ServerTracker: Sendable {
    private struct Weak: Sendable {
        weak let connection: ConnectionHandle?
    }

    private struct State {
        var connections: [Weak] = []
        var timeline: String?
        var timelineChanges = 0
    }

    private let state = Mutex(State())

    var timelineChanges: Int { state.withLock { $0.timelineChanges } }
    var timeline: String? { state.withLock { $0.timeline } }

    func follow(_ connections: [ConnectionHandle]) {
        state.withLock { $0.connections = connections.map { Weak(connection: $0) } }
    }

    /// Called on a connection's thread.
    func serverChanged(_ change: ConnectionHandle.ServerChange) {
        switch change {
        case .timeline(let timeline):
            state.withLock { state in
                if let known = state.timeline, known != timeline { state.timelineChanges += 1 }
                state.timeline = timeline
            }
        case .readOnly:
            // The readers too: they would go on reading from a server that is left behind.
            for entry in state.withLock({ $0.connections }) {
                guard let connection = entry.connection else { continue }
                connection.post(.leave(generation: connection.counters.generation.load(ordering: .relaxed)))
            }
        }
    }
}
