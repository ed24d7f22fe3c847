import Synchronization

/// The parts of a node that have been started, in the order of their start.
///
/// They are closed in the reverse order, each once, so that a part is closed before those that it uses. A start that
/// fails and an ordinary stop close them alike: what a stage starts, it pushes at once.
final class ClosingStack: Sendable {
    /// How much time closing may take. By default none: nothing is in progress when a start fails.
    struct Grace: Sendable, Hashable {
        /// Over how long the sessions are told to reconnect.
        var sessionsOverMs: Int64 = 0
        /// How long work in flight may take after that.
        var workMs: Int64 = 0
    }

    typealias Close = @Sendable (Grace) async -> Void

    /// Bound: the parts of a node.
    private let parts = Mutex<[(name: String, close: Close)]>([])

    func push(_ name: String, _ close: @escaping Close) {
        parts.withLock { $0.append((name, close)) }
    }

    /// What is open, in the order of its start.
    var names: [String] { parts.withLock { $0.map(\.name) } }

    func close(_ grace: Grace = Grace()) async {
        while let part = parts.withLock({ $0.popLast() }) { await part.close(grace) }
    }
}
