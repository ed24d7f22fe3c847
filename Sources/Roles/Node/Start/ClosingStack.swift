import Synchronization

/// The started parts of a node, in the order of their start.
///
/// They are closed in the reverse order, each once, so that a part is closed before those that it uses, both after a
/// failed start and by a stop. A stage pushes each part as soon as it has started it.
final class ClosingStack: Sendable {
    /// The time that closing may take; by default none, because nothing is in progress when a start fails.
    struct Grace: Sendable, Hashable {
        /// The time over which the sessions are asked to reconnect.
        var sessionsOverMs: Int64 = 0
        /// The time limit for work in flight after that.
        var workMs: Int64 = 0
    }

    typealias Close = @Sendable (Grace) async -> Void

    /// Bound: the parts of a node.
    private let parts = Mutex<[(name: String, close: Close)]>([])

    func push(_ name: String, _ close: @escaping Close) {
        parts.withLock { $0.append((name, close)) }
    }

    /// The names of the open parts, in the order of their start.
    var names: [String] { parts.withLock { $0.map(\.name) } }

    func close(_ grace: Grace = Grace()) async {
        while let part = parts.withLock({ $0.popLast() }) { await part.close(grace) }
    }
}
