import Failover
import Synchronization

/// Shares what one of a pool's connections learns about the server with the others.
final class ServerTracker: Sendable {
    private struct Weak: Sendable {
        weak let connection: ConnectionHandle?
    }

    private struct State {
        var connections: [Weak] = []
        var server = ServerIdentity()
    }

    private let state = Mutex(State())

    var timelineChanges: Int { state.withLock { $0.server.changes } }
    var timeline: String? { state.withLock { $0.server.current } }

    func follow(_ connections: [ConnectionHandle]) {
        state.withLock { $0.connections = connections.map { Weak(connection: $0) } }
    }

    /// Called by the driver of a connection.
    func serverChanged(_ change: ConnectionHandle.ServerChange) {
        switch change {
        case .timeline(let timeline):
            state.withLock { _ = $0.server.met(timeline) }
        case .readOnly:
            // Readers leave, too: they would otherwise go on reading from an outdated server.
            for entry in state.withLock({ $0.connections }) {
                guard let connection = entry.connection else { continue }
                connection.post(.leave(generation: connection.counters.generation.load(ordering: .relaxed)))
            }
        }
    }
}
