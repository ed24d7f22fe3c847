package import LiveModel
package import Sharding

/// Publishes rows left in the outbox, because their node died or the broker was unavailable, and bounds the outbox. A
/// round consists of resync markers after a change of server, sweeps until one takes less than a full batch, a
/// measurement and a pause.
///
/// A sweep is one transaction: it takes rows with `FOR UPDATE SKIP LOCKED`, so that the sweepers of several nodes share
/// the work, publishes them according to the current overrides and catalogs, and removes them. It never selects by `id
/// > last`: ids are not in the order of commits.
///
/// A resync marker makes a shard re-run everything. It covers events that the broker's former server acknowledged last,
/// as a primary unaware of its successor: they may be lost although their rows are removed.
///
/// While the outbox holds more than `rowsMax` rows, the oldest are folded into one row that means "anything may have
/// changed". Publishing that row re-runs every live query, which covers every folded event.
///
/// At most one effect at a time awaits an answer, so the performer is a simple loop. An answer to a call that is not in
/// flight is ignored.
package struct SweeperMachine: Sendable {
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
        /// Remove the rows in the transaction that took them, unless a deployment after `catalogGeneration` exists, and
        /// commit; then call `removed`.
        case remove(CallID, ids: [String], catalogGeneration: Int64)
        /// Roll back the transaction that took the rows. No answer is awaited.
        case rollBack
        /// Count the rows, up to `countMax`, then call `measured`.
        case measure(CallID, countMax: Int)
        /// Fold the oldest rows into one, `foldedEvent` with a new id and no shards, then call `folded`.
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

    struct Folding: Sendable {
        /// Row counts before the folding and now.
        let before: Int
        var rows: Int
        let oldestMs: Int64
        let problem: String
        /// Events folded so far.
        var folded = 0
    }

    enum State: Sendable {
        case idle
        case resyncing(serverChanges: Int)
        case taking
        case confirming([TakenRow])
        /// The first of the remaining batches of publications is being appended.
        case appending([TakenRow], catalogGeneration: Int64, remaining: ArraySlice<[Publication]>)
        case removing(count: Int)
        case measuring(problem: String)
        case folding(Folding)
    }

    /// The content of a folded row. It is not a valid event: a worker that reads it re-runs everything in the shard.
    package static let foldedEvent = #"{"type":"anything"}"#

    package let settings: Settings
    private let routing: EventRouting
    var state = State.idle
    private var lastCall: CallID = 0
    /// The call in flight; nil between rounds.
    private var call: CallID?
    /// The number of server changes for which all shards have resync markers.
    private var serverChangesKnown = 0
    /// Whether any event was sent to the broker, by this machine or by the node's publisher.
    package private(set) var hasPublished = false
    package internal(set) var backlog = Backlog()

    package init(settings: Settings, shardCount: Int) {
        self.settings = settings
        routing = EventRouting(shardCount: shardCount)
    }

    // MARK: Rounds

    /// Begins a round.
    /// - Parameters:
    ///   - serverChanges: how often the answering server changed (`BrokerState.serverChanges`).
    ///   - isPublishing: whether the node's publisher has sent events to the broker.
    package mutating func roundDue(serverChanges: Int, hasPublished isPublishing: Bool) -> [Effect] {
        guard case .idle = state else { preconditionFailure("a round begins while \(state)") }
        hasPublished = hasPublished || isPublishing
        guard serverChanges != serverChangesKnown, hasPublished else {
            serverChangesKnown = serverChanges
            return take()
        }
        state = .resyncing(serverChanges: serverChanges)
        return [.appendResyncMarkers(newCall(), routing.allShards)]
    }

    /// - Parameter isCertain: whether every shard has its marker; if not, the next round appends all of them again.
    package mutating func resyncAppended(_ call: CallID, isCertain: Bool) -> [Effect] {
        guard end(call) else { return [] }
        guard case .resyncing(let serverChanges) = state else { preconditionFailure("markers came while \(state)") }
        guard isCertain else { return take() }
        serverChangesKnown = serverChanges
        return [.report(.resynced(serverChanges: serverChanges))] + take()
    }

    // MARK: A sweep

    private mutating func take() -> [Effect] {
        state = .taking
        return [.take(newCall(), olderThanMs: settings.sweepAgeMs, limit: settings.batchMax)]
    }

    package mutating func taken(_ call: CallID, _ answer: Result<[TakenRow], StepFailure>) -> [Effect] {
        guard end(call) else { return [] }
        guard case .taking = state else { preconditionFailure("rows were taken while \(state)") }
        switch answer {
        case .failure(let failure): return measure(problem: failure.reason)
        case .success(let rows) where rows.isEmpty: return [.rollBack] + measure(problem: "")
        case .success(let rows):
            hasPublished = true
            state = .confirming(rows)
            return [.confirmOverrides(newCall())]
        }
    }

    /// - Parameter rules: those of the catalogs that this node has loaded now.
    package mutating func overridesConfirmed(
        _ call: CallID, _ answer: Result<ClusterOverrides, StepFailure>, rules: some PublishingRules, nowMs: Int64
    ) -> [Effect] {
        guard end(call) else { return [] }
        guard case .confirming(let rows) = state else { preconditionFailure("overrides came while \(state)") }
        switch answer {
        case .failure(let failure): return [.rollBack] + measure(problem: failure.reason)
        case .success(let overrides):
            let publications = rows.map { taken in
                Publication(
                    row: taken.row,
                    shards: routing.shards(
                        of: taken.row, mutation: taken.mutation, overrides: overrides, rules: rules, nowMs: nowMs
                    ).sorted())
            }
            return append(
                rows, rules.generation,
                EventRouting.batches(of: publications, bytesMax: settings.batchBytesMax)[...])
        }
    }

    private mutating func append(
        _ rows: [TakenRow], _ catalogGeneration: Int64, _ remaining: ArraySlice<[Publication]>
    ) -> [Effect] {
        guard let publications = remaining.first else {
            state = .removing(count: rows.count)
            return [.remove(newCall(), ids: rows.map(\.row.id), catalogGeneration: catalogGeneration)]
        }
        state = .appending(rows, catalogGeneration: catalogGeneration, remaining: remaining)
        return [.append(newCall(), publications)]
    }

    /// - Parameter answer: success: every stream has its entries.
    package mutating func appended(_ call: CallID, _ answer: Result<Void, StepFailure>) -> [Effect] {
        guard end(call) else { return [] }
        guard case .appending(let rows, let catalogGeneration, let remaining) = state else {
            preconditionFailure("events were appended while \(state)")
        }
        switch answer {
        case .failure(let failure): return [.rollBack] + measure(problem: failure.reason)
        case .success: return append(rows, catalogGeneration, remaining.dropFirst())
        }
    }

    /// - Parameter answer: the number of removed rows. Zero if a deployment is not loaded here; another node or the
    ///   next round removes them.
    package mutating func removed(_ call: CallID, _ answer: Result<Int, StepFailure>) -> [Effect] {
        guard end(call) else { return [] }
        guard case .removing(let count) = state else { preconditionFailure("rows were removed while \(state)") }
        switch answer {
        case .failure(let failure): return measure(problem: failure.reason)
        case .success(0): return measure(problem: "")
        case .success:
            let report = Effect.report(.swept(rows: count))
            return [report] + (count == settings.batchMax ? take() : measure(problem: ""))
        }
    }

    // MARK: Calls

    mutating func newCall() -> CallID {
        lastCall += 1
        call = lastCall
        return lastCall
    }

    /// Ends the call; false if it is not in flight.
    mutating func end(_ call: CallID) -> Bool {
        guard call == self.call else { return false }
        self.call = nil
        return true
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
