import Synchronization

/// Admits one of several callers at a time, and refuses the others.
final class OneAtATime: Sendable {
    private let isBusy = Mutex(false)

    /// - Returns: whether the caller may begin; it must call `end` then.
    func begin() -> Bool {
        isBusy.withLock { isBusy in
            defer { isBusy = true }
            return !isBusy
        }
    }

    func end() { isBusy.withLock { $0 = false } }
}
