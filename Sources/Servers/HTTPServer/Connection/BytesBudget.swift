import Synchronization

/// A limit on the bytes that all connections of a server hold together.
package final class BytesBudget: Sendable {
    private let bytesMax: Int
    private let held = Atomic<Int>(0)

    package init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// Reserves `bytes`.
    /// - Returns: false, with nothing reserved, if that would exceed the limit.
    package func acquire(_ bytes: Int) -> Bool {
        var now = held.load(ordering: .relaxed)
        // Never goes above the bound, even briefly: a refused reservation must not make others fail.
        while bytes <= bytesMax - now {
            let (exchanged, original) = held.weakCompareExchange(
                expected: now, desired: now + bytes, ordering: .relaxed)
            if exchanged { return true }
            now = original
        }
        return false
    }

    /// Changes a reservation from `heldBytes` to `bytes`; only the difference can be refused.
    /// - Returns: false, with nothing changed, if the increase would exceed the limit.
    package func change(_ heldBytes: inout Int, to bytes: Int) -> Bool {
        if bytes < heldBytes { release(heldBytes - bytes) } else if !acquire(bytes - heldBytes) { return false }
        heldBytes = bytes
        return true
    }

    /// Returns reserved bytes.
    package func release(_ bytes: Int) { held.wrappingSubtract(bytes, ordering: .relaxed) }
}
