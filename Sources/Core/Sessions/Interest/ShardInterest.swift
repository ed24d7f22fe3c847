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
    /// The epoch of the owner whose marker arrived last; 0: none has.
    private(set) var markerEpoch: UInt64 = 0
    /// The live queries with a result that the owner of that epoch has neither confirmed nor replaced.
    private(set) var unconfirmed: Set<LiveQueryKey> = []
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
        unconfirmed.remove(key)
        if keys.isEmpty { lag.left() }
    }

    /// Handles a marker of an owner. All of its predecessor's confirmations are void.
    /// - Parameter unconfirmed: returns the live queries that the owner has not confirmed; asked once for each owner.
    mutating func markerArrived(from epoch: UInt64, unconfirmed: (Set<LiveQueryKey>) -> Set<LiveQueryKey>) {
        guard epoch != markerEpoch else { return }
        (markerEpoch, self.unconfirmed) = (epoch, unconfirmed(keys))
    }

    /// - Parameter confirmedEpoch: of the owner that confirmed the held result; nil: none is held.
    mutating func confirmed(_ key: LiveQueryKey, by confirmedEpoch: UInt64?) {
        guard markerEpoch > 0 else { return }
        if let confirmedEpoch, confirmedEpoch < markerEpoch { unconfirmed.insert(key) } else { unconfirmed.remove(key) }
    }

    mutating func settled(through id: StreamID) { settledThrough = id }

    /// Resets the interest because the gateway left. A replaced owner stays replaced.
    mutating func leave() {
        (keys, fingerprint, settledThrough, getsSummaries) = ([], 0, .zero, false)
        (markerEpoch, unconfirmed) = (0, [])
        lag.left()
    }
}
