import Synchronization

/// Bytes that all connections of a server may hold together.
final class BytesBudget: Sendable {
    private let bytesMax: Int
    private let held = Atomic<Int>(0)

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// - Returns: false, and takes nothing, when there is no room for them.
    func take(_ bytes: Int) -> Bool {
        if held.wrappingAdd(bytes, ordering: .relaxed).newValue <= bytesMax { return true }
        give(bytes)
        return false
    }

    func give(_ bytes: Int) { held.wrappingSubtract(bytes, ordering: .relaxed) }
}
