package import LiveModel

/// The markers of a shard as a gateway knows them: the last one that it took, and so the age of the oldest one that it
/// lacks.
///
/// Markers are due at the multiples of an interval, so a gateway knows of each that it ought to have, without a message
/// that would be late, too. Ages include the difference of the nodes' clocks and are never negative.
struct ShardLag: Sendable {
    /// A marker that arrived while live queries of its shard awaited an answer: their results may be from before it.
    private struct Pending: Sendable {
        let marker: LagMarker
        let arrivedAtMs: Int64
        var awaiting: Set<LiveQueryKey>
    }

    /// When the gateway began to follow live queries of the shard; nil: it follows none.
    private(set) var followedSinceMs: Int64?
    private(set) var taken: LagMarker?
    private(set) var takenAtMs: Int64 = 0
    private var pending: Pending?

    mutating func followed(nowMs: Int64) {
        if followedSinceMs == nil { followedSinceMs = nowMs }
    }

    mutating func left() { self = ShardLag() }

    var isPending: Bool { pending != nil }

    /// Handles a marker.
    /// - Parameter awaiting: the live queries with a result that await an answer of the owner.
    /// - Returns: whether it counts at once; otherwise it counts once those are answered. A marker that arrives
    ///   meanwhile is left out, so that there is always an end.
    mutating func arrived(_ marker: LagMarker, awaiting: Set<LiveQueryKey>, nowMs: Int64) -> Bool {
        guard !isPending else { return false }
        if awaiting.isEmpty { return true }
        pending = Pending(marker: marker, arrivedAtMs: nowMs, awaiting: awaiting)
        return false
    }

    /// Handles a live query that awaits no answer of this shard's owner any more.
    /// - Returns: the marker that counts now.
    mutating func answered(_ key: LiveQueryKey) -> (marker: LagMarker, arrivedAtMs: Int64)? {
        guard pending?.awaiting.remove(key) != nil, let done = pending, done.awaiting.isEmpty else { return nil }
        pending = nil
        return (done.marker, done.arrivedAtMs)
    }

    mutating func dropPending() { pending = nil }

    /// Records a marker that every event loop has. One from before the shard was followed again says nothing. A time to
    /// come, by the clock of a node that is ahead, counts as now: otherwise it would hide a lag until then.
    mutating func took(_ marker: LagMarker, arrivedAtMs: Int64, nowMs: Int64) {
        guard let followedSinceMs, arrivedAtMs >= followedSinceMs else { return }
        let dueMs = min(marker.dueMs, nowMs)
        guard taken.map({ $0.dueMs < dueMs }) ?? true else { return }
        (taken, takenAtMs) = (marker, nowMs)
        taken?.dueMs = dueMs
    }

    /// Returns when the oldest marker was due that the gateway lacks; nil if it follows nothing. The time may be yet to
    /// come. The first marker due is left out: it may have been committed before the shard was followed.
    func missingSinceMs(everyMs: Int64) -> Int64? {
        guard let followedSinceMs else { return nil }
        if let taken { return taken.dueMs + everyMs }
        return (followedSinceMs / everyMs + 2) * everyMs
    }
}

/// The lag of the shards that a gateway follows.
package struct LagReport: Sendable, Hashable {
    package struct Shard: Sendable, Hashable {
        package let shard: ShardID
        /// The age of the oldest marker that is due and has not been taken; 0: none is missing.
        package let undeliveredMs: Int64
        /// The last marker taken; nil: none yet.
        package let marker: LagMarker?
        /// When it was taken, by the gateway's clock.
        package let takenAtMs: Int64

        /// The time from the marker's commit until it was taken.
        package var endToEndMs: Int64? { marker.map { max(0, takenAtMs - $0.committedAtMs) } }
    }

    /// The interval of markers; 0: there are none.
    package let everyMs: Int64
    /// The age of a missing marker beyond which its shard is late.
    package let lateMs: Int64
    /// Every followed shard, the worst first; empty without markers.
    package var shards: [Shard] = []

    /// Returns the age of the oldest missing marker of a shard if it is late; nil otherwise.
    package func missingMs(ofLate shard: ShardID) -> Int64? {
        shards.first { $0.shard == shard && $0.undeliveredMs > lateMs }?.undeliveredMs
    }

    package var lateCount: Int { shards.count { $0.undeliveredMs > lateMs } }
    package var undeliveredMs: Int64 { shards.first?.undeliveredMs ?? 0 }
    /// The greatest time from commit until delivery among the last markers of all shards.
    package var endToEndMs: Int64? { shards.compactMap(\.endToEndMs).max() }

    package init(everyMs: Int64, lateMs: Int64) {
        self.everyMs = everyMs
        self.lateMs = lateMs
    }
}
