package import LiveModel

/// An owned shard as the admin endpoint shows it. Times are the machine's `nowMs`; 0 means never.
package struct ShardReport: Sendable {
    package let shard: ShardID
    package let epoch: UInt64
    package let ownedSinceMs: Int64
    package let lastEventID: StreamID
    package let events: UInt64
    package let matches: UInt64
    package let runs: UInt64
    package let liveQueries: Int
    /// Gateways with interest, summed over the live queries.
    package let subscribers: Int
    package let lastEventMs: Int64
    package let lastRefreshMs: Int64
    /// Live queries in the due queue, in flight, in the paced queue, and waiting for a gap, a back-off or a replay.
    package let due: Int
    package let running: Int
    package let paced: Int
    package let waiting: Int
    /// Live queries whose last run failed.
    package let failing: Int
    package let takeOver: TakeOverCounts
}

/// The live queries whose last run failed.
package struct FailingLiveQueries: Sendable {
    package struct Failure: Sendable {
        package let operation: OperationReference
        package let key: LiveQueryKey
        /// The error in the form that subscribers get.
        package let error: RequestError
        package let atMs: Int64
    }

    package internal(set) var count = 0
    /// The failure that happened last.
    package internal(set) var last: Failure?
}

/// A live query as the admin endpoint shows it.
package struct LiveQueryReport: Sendable {
    package let key: LiveQueryKey
    package let operation: OperationReference
    package let shard: ShardID
    package let gateways: [NodeID]
    package let everyMs: Int64?
    package let digest: Digest?
    package let position: Position?
    package let lastTriggerMs: Int64
    package let lastFinishMs: Int64
    package let lastRunMs: Int64
    package let runs: UInt64
    package let failures: Int
}
