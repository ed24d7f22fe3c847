import Synchronization

/// The bytes that one holder has reserved from a `BytesBudget`.
package struct HeldBytes: Sendable {
    package fileprivate(set) var count = 0
    /// The subject that is charged; nil: nobody. Fixed while something is held.
    private(set) var address: String?

    package init(of address: String? = nil) { self.address = address }

    /// Charges another address from now on, unless something is held.
    mutating func charge(_ address: String?) {
        if count == 0 { self.address = address }
    }
}

/// A limit on the bytes that all connections of a server hold together.
///
/// A holder of more than `smallMax` is large. Large holders together get three quarters of the limit, so however many
/// there are, small ones find room. An address gets at most half of what others leave free, of these as of the whole.
package final class BytesBudget: Sendable {
    /// The most that a small holder holds.
    package static let smallMax = 64 * 1024

    private struct State {
        var all: SharedBytes
        var large: SharedBytes
    }

    private let state: Mutex<State>

    package init(bytesMax: Int) {
        state = Mutex(State(all: SharedBytes(bytesMax: bytesMax), large: SharedBytes(bytesMax: bytesMax / 4 * 3)))
    }

    /// Changes the bytes that one holder has reserved; 0 releases them.
    /// - Returns: false, with nothing changed, if the increase would exceed the limit or the address's share.
    package func change(_ held: inout HeldBytes, to bytes: Int) -> Bool {
        if held.count == bytes { return true }
        let more = bytes - held.count
        let moreLarge = Self.large(bytes) - Self.large(held.count)
        let address = held.address
        let isAdmitted = state.withLock { state in
            guard state.large.admits(moreLarge, of: address), state.all.admits(more, of: address) else { return false }
            state.large.add(moreLarge, of: address)
            state.all.add(more, of: address)
            return true
        }
        if isAdmitted { held.count = bytes }
        return isAdmitted
    }

    /// Releases what one holder holds.
    package func release(_ held: inout HeldBytes) { _ = change(&held, to: 0) }

    private static func large(_ bytes: Int) -> Int { bytes > smallMax ? bytes : 0 }
}
