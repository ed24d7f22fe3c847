package import LiveModel

/// An action requested by the refresh machine. The worker's shell performs it and decides nothing.
package enum RefreshAction: Sendable {
    /// Run these live queries, all of one stored operation; answer with `runFinished`.
    case run(RunBatch)
    /// Deliver to a gateway's inbox; keep the order per gateway.
    case send(to: NodeID, InboxMessage)
    /// Read older events of a shard; answer with `replayRead`.
    case replay(ReplayPage)
    /// Log that a live query missed a change. It has the current result now.
    case report(VerificationMismatch)
}

/// A request to read the newest entries of a shard's events stream before an id.
package struct ReplayPage: Sendable, Hashable {
    package let shard: ShardID
    package let before: StreamID
    package let limit: Int
    /// The number of the page, unique within its `RefreshMachine`.
    package let number: UInt64
}

/// A set of live queries that run together.
package struct RunBatch: Sendable {
    package struct Item: Sendable {
        package let slot: Int32
        package let query: LiveQuery
        /// The shard that `position` belongs to.
        package let shard: ShardID
        /// The digest known to the subscribers; a result with this digest needs no body. Nil also if the body would
        /// show more of the rows that the live query reads.
        package let knownDigest: Digest?
        /// The position of the result.
        package let position: Position
        /// The trace of the event that caused the run; empty for a first run or a timer.
        package let traceID: String
    }

    /// The connections that a batch's statements use, and their time limit.
    package enum Mode: Sendable, Hashable {
        /// Runs on shared connections; a statement that is slow while others wait is moved to a slow one.
        case open
        /// Runs on shared connections; a statement that takes longer than this is cancelled, and its live queries are
        /// `cutShort`.
        case shared(limitMs: Int64)
        /// Runs on a connection for slow statements; cancelled in the same way if there is a limit.
        case apart(limitMs: Int64?)
    }

    /// The number of the batch, unique within its `RefreshMachine`.
    package let id: UInt64
    package let items: [Item]
    package let mode: Mode
    let group: DueQueue.Group
    /// The pool whose limit the batch counts towards.
    let pool: RunPool.Name

    package var operation: OperationReference { group.operation }
    package var version: Digest { group.version }
}

/// The outcome of one live query's run.
package enum RunOutcome: Sendable {
    /// The result has the digest `Item.knownDigest`.
    case unchanged
    /// `rows`: what was read at each site that reads rows (see `AutomaticRules.bind`).
    case result(digest: Digest, OperationAnswer, rows: [RowsRead]? = nil)
    /// The statement took longer than its `Mode` permits, because of this or another live query of the batch.
    case cutShort
    case failed(RequestError)
}
