import Synchronization

/// Statements of one operation by shape, rendered at first use.
///
/// Bounded: with `countMax` shapes in it the cache starts over. More shapes than that mean an operation with dozens of
/// optional parts in use at once; `evictionCount` tells the operator.
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

    /// Rendering happens outside the lock; of two that race the first one stays, so that a shape has one identity.
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
