import LiveModel

/// A gateway's interest in one shard, with its knowledge of the shard's owner.
struct ShardInterest: Sendable {
    private(set) var keys: Set<LiveQueryKey> = []
    /// The XOR of the keys' prefixes, for summaries.
    private(set) var fingerprint: UInt64 = 0
    /// The event up to which every held result of this shard was last known to be fresh.
    private(set) var settledThrough = StreamID.zero
    /// The owner whose messages are accepted. A former owner may still send results, which may be older than those that
    /// clients have.
    var owner = OwnerEpoch()
    var lag = ShardLag()
    /// Whether the shard gets summaries, even if nothing of it is held: true once something was announced to it or it
    /// requested announcements.
    private(set) var getsSummaries = false

    mutating func sendSummaries() { getsSummaries = true }

    mutating func insert(_ key: LiveQueryKey) {
        guard keys.insert(key).inserted else { preconditionFailure("\(key) is counted already: \(keys.count) keys") }
        fingerprint ^= key.digest.prefix
        getsSummaries = true
    }

    mutating func remove(_ key: LiveQueryKey) {
        guard keys.remove(key) != nil else { preconditionFailure("\(key) is not counted: \(keys.count) keys") }
        fingerprint ^= key.digest.prefix
        if keys.isEmpty { lag.left() }
    }

    mutating func settled(through id: StreamID) { settledThrough = id }

    /// Resets the interest because the gateway left. A replaced owner stays replaced.
    mutating func leave() {
        (keys, fingerprint, settledThrough, getsSummaries) = ([], 0, .zero, false)
        lag.left()
    }
}
