import Synchronization

/// A cache of an operation's statements by shape, rendered on first use.
///
/// Bounded: at `countMax` entries the cache is cleared. More shapes than that mean an operation with dozens of optional
/// parts in use at once, which `evictionCount` reveals to the operator.
final class ShapeCache<Key: Hashable & Sendable, Statement: Sendable>: Sendable {
    private struct State {
        var statements: [Key: Statement] = [:]
        var evictionCount = 0
    }

    let countMax: Int
    private let state = Mutex(State())

    init(countMax: Int = 64) {
        self.countMax = countMax
    }

    /// Returns the statement for a key. Renders outside the lock; if two callers race, the first result is kept, so
    /// that each shape has a single identity.
    func statement(for key: Key, make: () -> Statement) -> Statement {
        if let known = state.withLock({ $0.statements[key] }) { return known }
        let made = make()
        return state.withLock { state in
            if let known = state.statements[key] { return known }
            if state.statements.count >= countMax {
                state.evictionCount += state.statements.count
                state.statements.removeAll(keepingCapacity: true)
            }
            state.statements[key] = made
            return made
        }
    }

    var evictionCount: Int { state.withLock { $0.evictionCount } }
}
