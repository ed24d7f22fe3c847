/// The ranges of numbers that nodes read from Redis. Redis may hold arbitrary values, so each number is clamped to its
/// range when it is decoded; arithmetic on it afterwards cannot overflow.
package enum StoredNumber {
    /// Epochs, generations and versions. Redis' scripts read numbers as doubles, which are exact up to here.
    package static let versionMax: UInt64 = (1 << 53) - 1
    /// The maximum lifetime, one day: no node record lives longer.
    package static let durationMaxMs: Int64 = 86_400_000
    /// The maximum time for which a lease is held: the upper limit of `cluster.leaseTtlMs`.
    package static let leaseMaxMs: Int64 = 600_000
    /// The end of the year 9999, in milliseconds since 1970.
    package static let timeMaxMs: Int64 = 253_402_300_799_999
    /// The maximum count of live queries, sessions or events.
    package static let countMax: Int64 = 1 << 40

    /// Returns nil for a text that is not a number in this range.
    package static func version(_ text: some StringProtocol) -> UInt64? {
        guard let number = UInt64(text), number <= versionMax else { return nil }
        return number
    }

    package static func version(_ number: Int64) -> UInt64 { UInt64(min(max(number, 0), Int64(versionMax))) }
    package static func durationMs(_ number: Int64) -> Int64 { min(max(number, 0), durationMaxMs) }
    package static func leaseMs(_ number: Int64) -> Int64 { min(max(number, 0), leaseMaxMs) }
    package static func timeMs(_ number: Int64) -> Int64 { min(max(number, 0), timeMaxMs) }
    package static func count(_ number: Int64) -> Int { Int(min(max(number, 0), countMax)) }
}
