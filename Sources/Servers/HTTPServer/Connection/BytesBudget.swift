import Synchronization

/// A limit on the bytes that all connections of a server hold together.
///
/// A holder of more than `smallMax` is large. Large holders together get three quarters of the limit, so however many
/// there are, small ones find room.
package final class BytesBudget: Sendable {
    /// The most that a small holder holds.
    package static let smallMax = 64 * 1024

    private let bytesMax: Int
    private let largeBytesMax: Int
    private let held = Atomic<Int>(0)
    private let heldByLarge = Atomic<Int>(0)

    package init(bytesMax: Int) {
        self.bytesMax = bytesMax
        largeBytesMax = bytesMax / 4 * 3
    }

    /// Changes what one holder holds; 0 releases it.
    /// - Returns: false, with nothing changed, if the increase would exceed the limit.
    package func change(_ heldBytes: inout Int, to bytes: Int) -> Bool {
        let (before, after) = (Self.large(heldBytes), Self.large(bytes))
        guard Self.add(after - before, to: heldByLarge, max: largeBytesMax) else { return false }
        guard Self.add(bytes - heldBytes, to: held, max: bytesMax) else {
            _ = Self.add(before - after, to: heldByLarge, max: largeBytesMax)
            return false
        }
        heldBytes = bytes
        return true
    }

    /// Releases what one holder holds.
    package func release(_ heldBytes: inout Int) { _ = change(&heldBytes, to: 0) }

    private static func large(_ bytes: Int) -> Int { bytes > smallMax ? bytes : 0 }

    /// - Returns: false, with nothing added, if the sum would exceed `max`. A decrease always succeeds.
    private static func add(_ bytes: Int, to sum: borrowing Atomic<Int>, max: Int) -> Bool {
        if bytes <= 0 {
            sum.wrappingAdd(bytes, ordering: .relaxed)
            return true
        }
        var now = sum.load(ordering: .relaxed)
        // Never goes above the bound, even briefly: a refused reservation must not make others fail.
        while bytes <= max - now {
            let (exchanged, original) = sum.weakCompareExchange(expected: now, desired: now + bytes, ordering: .relaxed)
            if exchanged { return true }
            now = original
        }
        return false
    }
}
