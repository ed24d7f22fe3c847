import Synchronization

/// Bytes that all connections of a server may hold together.
package final class BytesBudget: Sendable {
    private let bytesMax: Int
    private let held = Atomic<Int>(0)

    package init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// - Returns: false, and takes nothing, when there is no room for them.
    package func take(_ bytes: Int) -> Bool {
        if held.wrappingAdd(bytes, ordering: .relaxed).newValue <= bytesMax { return true }
        give(bytes)
        return false
    }

    package func give(_ bytes: Int) { held.wrappingSubtract(bytes, ordering: .relaxed) }
}
