import Synchronization

/// Bytes that all connections of a server may hold together.
package final class BytesBudget: Sendable {
    private let bytesMax: Int
    private let held = Atomic<Int>(0)

    package init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// - Returns: false, and takes nothing, when there is no room for them.
    package func take(_ bytes: Int) -> Bool {
        var now = held.load(ordering: .relaxed)
        // Never above the bound, so that what is refused leaves others their room.
        while bytes <= bytesMax - now {
            let (exchanged, original) = held.weakCompareExchange(
                expected: now, desired: now + bytes, ordering: .relaxed)
            if exchanged { return true }
            now = original
        }
        return false
    }

    /// Takes or gives the difference alone: what is held already is never at stake.
    /// - Returns: false, and changes nothing, when there is no room for it.
    package func change(_ heldBytes: inout Int, to bytes: Int) -> Bool {
        if bytes < heldBytes { give(heldBytes - bytes) } else if !take(bytes - heldBytes) { return false }
        heldBytes = bytes
        return true
    }

    package func give(_ bytes: Int) { held.wrappingSubtract(bytes, ordering: .relaxed) }
}
