package import LiveModel
package import Sharding

extension SweeperMachine {
    package struct Settings: Sendable {
        package var sweepMs: Int64 = 1_000
        /// Younger rows are left to the publisher of the node that wrote them.
        package var sweepAgeMs: Int64 = 2_000
        package var batchMax = 500
        /// Bytes of events in one append; a larger event is sent alone.
        package var batchBytesMax = 4 << 20
        /// Number of rows above which the oldest are folded into one.
        package var rowsMax = 1_000_000
        /// Rows folded by one statement.
        package var foldMax = 10_000
        /// The backlog is reported as alarming above this number of rows, or if its oldest row is older than
        /// `alarmAgeMs`.
        package var alarmRows = 10_000
        package var alarmAgeMs: Int64 = 30_000

        package init() {}
    }

    /// A row taken by a sweep.
    package struct TakenRow: Sendable {
        package let row: OutboxRow
        /// The mutation of the row's event; nil if the event is unreadable.
        package let mutation: OperationReference?

        package init(_ row: OutboxRow) {
            self.row = row
            mutation = (try? MutationEvent(encoded: row.event))?.operation
        }
    }

    /// The unpublished rows as of the last round.
    package struct Backlog: Sendable, Hashable {
        /// The number of rows, counted up to a little more than `rowsMax`.
        package var rows = 0
        package var oldestMs: Int64 = 0
        /// Why the last round published nothing; empty if it succeeded.
        package var problem = ""
        /// Events folded into "anything may have changed" rows since the start of this node.
        package var folded = 0
    }

    /// Identifies an effect that awaits an answer.
    package typealias CallID = UInt64

    package enum Effect: Sendable {
        /// The round is over: begin the next one after this time.
        case wait(ms: Int64)
        /// Append a resync marker to each of these shards, then call `resyncAppended`.
        case appendResyncMarkers(CallID, [ShardID])
        /// Begin a transaction and take the oldest rows that are older than this, then call `taken`.
        case take(CallID, olderThanMs: Int64, limit: Int)
        /// Read the overrides as of any moment from now on, then call `overridesConfirmed`.
        case confirmOverrides(CallID)
        /// Append one entry per shard, in order, then call `appended`.
        case append(CallID, [Publication])
        /// Remove the rows in the transaction that took them, unless a deployment after `loadedDeployment` exists, and
        /// commit; then call `removed`.
        case remove(CallID, ids: [String], loadedDeployment: Int64)
        /// Roll back the transaction that took the rows. No answer is awaited.
        case rollBack
        /// Count the rows, up to `countMax`, then call `measured`.
        case measure(CallID, countMax: Int)
        /// Fold the oldest rows, if there are two or more, into one: `foldedEvent` with a new id and no shards, as old
        /// as the oldest of them. Then call `folded`.
        case fold(CallID, limit: Int)
        /// Log and measure.
        case report(Report)
    }

    package enum Report: Sendable, Hashable {
        /// Another server answers; every shard has a resync marker.
        case resynced(serverChanges: Int)
        case swept(rows: Int)
        case folded(rows: Int, of: Int)
        case backlog(Backlog, isAlarming: Bool)
    }
}

extension SweeperMachine.Effect {
    /// Whether the effect belongs to the transaction that `take` began.
    package var isInTransaction: Bool {
        switch self {
        case .confirmOverrides, .append, .remove, .rollBack: true
        case .wait, .appendResyncMarkers, .take, .measure, .fold, .report: false
        }
    }
}
