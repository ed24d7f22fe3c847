import Synchronization

/// What a pool's connections find out about the server, for all of them.
final class ServerTracker: Sendable {
    private struct Weak: Sendable {
        weak let link: ConnectionHandle?
    }

    private struct State {
        var links: [Weak] = []
        var timeline: String?
        var timelineChanges = 0
    }

    private let state = Mutex(State())

    var timelineChanges: Int { state.withLock { $0.timelineChanges } }
    var timeline: String? { state.withLock { $0.timeline } }

    func follow(_ links: [ConnectionHandle]) {
        state.withLock { $0.links = links.map { Weak(link: $0) } }
    }

    /// On a connection's thread.
    func told(_ news: ConnectionHandle.ServerChange) {
        switch news {
        case .timeline(let timeline):
            state.withLock { state in
                if let known = state.timeline, known != timeline { state.timelineChanges += 1 }
                state.timeline = timeline
            }
        case .readOnly:
            // Also those that only read: they would go on reading a server that is left behind.
            for entry in state.withLock({ $0.links }) {
                guard let link = entry.link else { continue }
                link.post(.leave(generation: link.counters.generation.load(ordering: .relaxed)))
            }
        }
    }
}
