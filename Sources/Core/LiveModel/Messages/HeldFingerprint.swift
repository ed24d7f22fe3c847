/// A 64-bit fingerprint of a set of live queries with their held results; independent of order.
package struct HeldFingerprint: Hashable, Sendable {
    package private(set) var value: UInt64 = 0

    package init(value: UInt64 = 0) { self.value = value }

    package mutating func insert(_ key: LiveQueryKey, _ digest: Digest) {
        // Mixing distinguishes two live queries that swapped their results.
        value &+= Self.mix(Self.mix(key.digest.prefix) ^ digest.prefix)
    }

    /// The finaliser of SplitMix64.
    private static func mix(_ word: UInt64) -> UInt64 {
        var word = word &+ 0x9e37_79b9_7f4a_7c15
        word = (word ^ word >> 30) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ word >> 27) &* 0x94d0_49bb_1331_11eb
        return word ^ word >> 31
    }
}
