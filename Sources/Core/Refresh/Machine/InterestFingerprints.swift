import LiveModel

/// What a gateway has at one shard, in the form of its summaries.
struct InterestFingerprint: Equatable, Sendable {
    var count = 0
    /// XOR of the keys' prefixes.
    var fingerprint: UInt64 = 0
}

/// Interest per gateway that has any, kept with every change: summaries come every few seconds from every gateway, and
/// a shard may hold many live queries.
struct InterestFingerprints: Sendable {
    private var sums: [NodeID: InterestFingerprint] = [:]

    var keys: some Sequence<NodeID> { sums.keys }

    subscript(gateway: NodeID) -> InterestFingerprint? { sums[gateway] }

    mutating func insert(_ key: LiveQueryKey, of gateway: NodeID) {
        sums[gateway, default: InterestFingerprint()].count += 1
        sums[gateway]?.fingerprint ^= key.digest.prefix
    }

    mutating func remove(_ key: LiveQueryKey, of gateway: NodeID) {
        guard var sum = sums[gateway] else { return }
        sum.count -= 1
        sum.fingerprint ^= key.digest.prefix
        sums[gateway] = sum.count > 0 ? sum : nil
    }
}
