import LiveModel

/// A count and fingerprint of the live queries that a gateway has at one shard, as in its summaries.
struct InterestFingerprint: Equatable, Sendable {
    var count = 0
    /// XOR of the keys' prefixes.
    var fingerprint: UInt64 = 0
}

/// The interest of each gateway that has any. It is updated with every change, because every gateway sends summaries
/// every few seconds and a shard may hold many live queries.
struct InterestFingerprints: Sendable {
    private var fingerprints: [NodeID: InterestFingerprint] = [:]

    var gateways: some Sequence<NodeID> { fingerprints.keys }

    subscript(gateway: NodeID) -> InterestFingerprint? { fingerprints[gateway] }

    mutating func insert(_ key: LiveQueryKey, of gateway: NodeID) {
        fingerprints[gateway, default: InterestFingerprint()].count += 1
        fingerprints[gateway]?.fingerprint ^= key.digest.prefix
    }

    mutating func remove(_ key: LiveQueryKey, of gateway: NodeID) {
        guard var interest = fingerprints[gateway] else {
            preconditionFailure("\(gateway) has no interest, so none in \(key): \(fingerprints)")
        }
        interest.count -= 1
        interest.fingerprint ^= key.digest.prefix
        fingerprints[gateway] = interest.count > 0 ? interest : nil
    }
}
