import Synchronization

/// A cache of an operation's statements by shape, rendered on first use.
///
/// Bounded: at `countMax` entries the cache is cleared. More shapes than that mean an operation with dozens of optional
/// parts in use at once.
final class ShapeCache<Key: Hashable & Sendable, Statement: Sendable>: Sendable {
    let countMax: Int
    private let statements = Mutex<[Key: Statement]>([:])

    init(countMax: Int = 64) {
        self.countMax = countMax
    }

    /// Returns the statement for a key. Renders outside the lock; if two callers race, the first result is kept, so
    /// that each shape has a single identity.
    func statement(for key: Key, make: () -> Statement) -> Statement {
        if let known = statements.withLock({ $0[key] }) { return known }
        let made = make()
        return statements.withLock { statements in
            if let known = statements[key] { return known }
            if statements.count >= countMax { statements.removeAll(keepingCapacity: true) }
            statements[key] = made
            return made
        }
    }
}
