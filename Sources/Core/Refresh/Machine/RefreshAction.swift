package import LiveModel

/// What the refresh machine wants done. The worker's shell performs these and decides nothing.
package enum RefreshAction: Sendable {
    /// Run these live queries, all of one stored operation; answer with `runFinished`.
    case run(RunBatch)
    /// Deliver to a gateway's inbox, in this order per gateway.
    case send(to: NodeID, InboxMessage)
    /// Read older events of a shard; answer with `replayRead`.
    case replay(ReplayPage)
}

/// A request to read entries of a shard's event stream: the newest ones before an id.
package struct ReplayPage: Sendable, Hashable {
    package let shard: ShardID
    package let before: StreamID
    package let limit: Int
    /// Unique per machine.
    package let number: UInt64
}

/// Live queries that run together.
package struct RunBatch: Sendable {
    package struct Item: Sendable {
        package let slot: Int32
        package let query: LiveQuery
        /// The shard that `position` belongs to.
        package let shard: ShardID
        /// If the result has this digest, its body need not travel.
        package let knownDigest: Digest?
        /// The position of the result to come.
        package let position: Position
        /// The trace of the event that caused the run; empty for a first run or a timer.
        package let traceID: String
    }

    /// Unique per machine.
    package let id: UInt64
    package let operation: OperationReference
    package let version: Digest
    package let items: [Item]
    /// The pool whose limit it counts towards.
    let pool: RunPool.Name
}

/// How the run of one live query ended.
package enum RunOutcome: Sendable {
    /// The result has `Item.knownDigest`.
    case unchanged
    case result(digest: Digest, OperationAnswer)
    case failed(RequestError)
}
