/// The user or, without one, the address that is charged for a slow statement; the address is always charged too, so
/// that many users of one address do not count as many callers. The numbers are hashes.
package struct Caller: Hashable, Sendable, ExpressibleByIntegerLiteral {
    /// The user, or the address of a signed-out sender.
    package let number: UInt64
    /// The address; nil if it is unknown, or shared by callers who are not to be charged for each other.
    package let address: UInt64?

    /// The service itself, and callers of whom nothing is known.
    package static let unknown = Caller(0)

    /// The re-runs on slow connections with a time limit, and those without.
    static let limitedRuns = Caller(1)
    static let unlimitedRuns = Caller(2)

    package init(_ number: UInt64, address: UInt64? = nil) {
        self.number = number
        self.address = address
    }

    package init(integerLiteral value: UInt64) { self.init(value) }
}
