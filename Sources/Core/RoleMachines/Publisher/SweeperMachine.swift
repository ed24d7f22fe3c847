package import LiveModel
package import Sharding

/// Publishes outbox rows that stayed, since their node died or the broker was away, and keeps the outbox bounded. In
/// rounds: resync markers after a change of server, sweeps until no full batch is left, a measurement, a pause.
///
/// A sweep is one transaction: rows are taken with `FOR UPDATE SKIP LOCKED`, so that the sweepers of several nodes
/// share the work, published by the current overrides and catalogs, and removed. Never goes by `id > last`: the order
/// of ids is not the order of commits.
///
/// A resync marker makes everything in a shard run again. It is for what the former server of the broker acknowledged
/// last, as a primary that did not yet know of its successor: that may be lost although its rows are removed.
///
/// While the outbox holds more than `rowsMax` rows, the oldest are folded into one row that says "anything may have
/// changed". When that is published, every live query runs once more, which covers every event folded into it.
///
/// One effect at a time awaits an answer, so that its performer is a loop.
package struct SweeperMachine: Sendable {
    package struct Settings: Sendable {
        package var sweepMs: Int64 = 1_000
        /// Younger rows are left to the node that wrote them.
        package var sweepAgeMs: Int64 = 2_000
        package var batchMax = 500
        /// Bytes of events that go to the broker at once; a larger event goes alone.
        package var batchBytesMax = 4 << 20
        /// More rows are folded into one.
        package var rowsMax = 1_000_000
        /// Rows that one statement folds.
        package var foldMax = 10_000
        /// More rows, or rows older than `alarmAgeMs`, are reported with every round.
        package var alarmRows = 10_000
        package var alarmAgeMs: Int64 = 30_000

        package init() {}
    }

    /// A row that a sweep took.
    package struct TakenRow: Sendable {
        package let row: OutboxRow
        /// The mutation of its event; nil when that cannot be read.
        package let mutation: OperationReference?

        package init(_ row: OutboxRow) {
            self.row = row
            mutation = (try? MutationEvent(encoded: row.event))?.operation
        }
    }

    /// What is left to publish, as of the last round.
    package struct Backlog: Sendable, Hashable {
        /// Counted up to a little more than `rowsMax`.
        package var rows = 0
        package var oldestMs: Int64 = 0
        /// Why the last round published nothing; empty when it could.
        package var problem = ""
        /// Events folded into rows that say "anything may have changed", since the start of this node.
        package var folded = 0
    }

    package enum Effect: Sendable {
        /// The round is over: begin the next one after this time.
        case wait(ms: Int64)
        /// Append a resync marker to each of these shards, then say `resyncAppended`.
        case appendResyncMarkers([ShardID])
        /// Begin a transaction and take the oldest rows older than this, then say `taken`.
        case take(olderThanMs: Int64, limit: Int)
        /// Learn the overrides as they are at some moment from now on, then say `overridesConfirmed`.
        case confirmOverrides
        /// Append one entry per shard, in order, then say `appended`.
        case append([Publication])
        /// Remove the rows in the transaction that took them, unless there is a deployment after `catalogGeneration`,
        /// and commit; then say `removed`.
        case remove(ids: [String], catalogGeneration: Int64)
        /// End the transaction that took rows without a change. Nothing is awaited.
        case rollBack
        /// Count the rows, up to `countMax`, then say `measured`.
        case measure(countMax: Int)
        /// Fold the oldest rows into one, `foldedEvent` with a new id and no shards, then say `folded`.
        case fold(limit: Int)
        /// For the log and the metrics.
        case report(Report)
    }

    package enum Report: Sendable, Hashable {
        /// Another server answers; every shard has a resync marker.
        case resynced(serverChanges: Int)
        case swept(rows: Int)
        case folded(rows: Int, of: Int)
        case backlog(Backlog, isAlarming: Bool)
    }

    private struct Folding: Sendable {
        /// Rows before, and as of now.
        let before: Int
        var rows: Int
        let oldestMs: Int64
        let problem: String
        /// Events that were folded into one or more rows.
        var folded = 0
    }

    private enum State: Sendable {
        case idle
        case resyncing(serverChanges: Int)
        case taking
        case confirming([TakenRow])
        /// The first of the remaining batches of publications is under way.
        case appending([TakenRow], catalogGeneration: Int64, remaining: ArraySlice<[Publication]>)
        case removing(count: Int)
        case measuring(problem: String)
        case folding(Folding)
    }

    /// No event of any format: a worker that reads it runs everything in the shard again.
    package static let foldedEvent = #"{"type":"anything"}"#

    package let settings: Settings
    private let routing: EventRouting
    private var state = State.idle
    /// The changes of server after which the shards have resync markers.
    private var serverChangesKnown = 0
    /// Whether any event went to the broker, from here or past this machine.
    package private(set) var hasPublished = false
    package private(set) var backlog = Backlog()

    package init(settings: Settings, shardCount: Int) {
        self.settings = settings
        routing = EventRouting(shardCount: shardCount)
    }

    // MARK: Rounds

    /// A round begins.
    /// - Parameters:
    ///   - serverChanges: how often another server answered than the one before (`BrokerState.serverChanges`).
    ///   - hasPublished: events went to the broker past this machine.
    package mutating func roundDue(serverChanges: Int, hasPublished isPublishing: Bool) -> [Effect] {
        guard case .idle = state else { preconditionFailure("a round begins while \(state)") }
        hasPublished = hasPublished || isPublishing
        guard serverChanges != serverChangesKnown, hasPublished else {
            serverChangesKnown = serverChanges
            return take()
        }
        state = .resyncing(serverChanges: serverChanges)
        return [.appendResyncMarkers(routing.allShards)]
    }

    /// - Parameter isCertain: every shard has its marker; otherwise the next round repeats them.
    package mutating func resyncAppended(isCertain: Bool) -> [Effect] {
        guard case .resyncing(let serverChanges) = state else { preconditionFailure("markers came while \(state)") }
        guard isCertain else { return take() }
        serverChangesKnown = serverChanges
        return [.report(.resynced(serverChanges: serverChanges))] + take()
    }

    // MARK: A sweep

    private mutating func take() -> [Effect] {
        state = .taking
        return [.take(olderThanMs: settings.sweepAgeMs, limit: settings.batchMax)]
    }

    package mutating func taken(_ answer: Result<[TakenRow], StepFailure>) -> [Effect] {
        guard case .taking = state else { preconditionFailure("rows were taken while \(state)") }
        switch answer {
        case .failure(let failure): return measure(problem: failure.reason)
        case .success(let rows) where rows.isEmpty: return [.rollBack] + measure(problem: "")
        case .success(let rows):
            hasPublished = true
            state = .confirming(rows)
            return [.confirmOverrides]
        }
    }

    /// - Parameter rules: of the catalogs that this node has loaded now.
    package mutating func overridesConfirmed(
        _ answer: Result<ClusterOverrides, StepFailure>, rules: some PublishingRules, nowMs: Int64
    ) -> [Effect] {
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
            return [.remove(ids: rows.map(\.row.id), catalogGeneration: catalogGeneration)]
        }
        state = .appending(rows, catalogGeneration: catalogGeneration, remaining: remaining)
        return [.append(publications)]
    }

    /// - Parameter answer: success: every stream has its entries.
    package mutating func appended(_ answer: Result<Void, StepFailure>) -> [Effect] {
        guard case .appending(let rows, let catalogGeneration, let remaining) = state else {
            preconditionFailure("events were appended while \(state)")
        }
        switch answer {
        case .failure(let failure): return [.rollBack] + measure(problem: failure.reason)
        case .success: return append(rows, catalogGeneration, remaining.dropFirst())
        }
    }

    /// - Parameter answer: rows removed: none when a deployment has not been loaded here; another node or the next
    ///   round removes them.
    package mutating func removed(_ answer: Result<Int, StepFailure>) -> [Effect] {
        guard case .removing(let count) = state else { preconditionFailure("rows were removed while \(state)") }
        switch answer {
        case .failure(let failure): return measure(problem: failure.reason)
        case .success(0): return measure(problem: "")
        case .success:
            let report = Effect.report(.swept(rows: count))
            return [report] + (count == settings.batchMax ? take() : measure(problem: ""))
        }
    }

    // MARK: The bound of the outbox

    /// Also when nothing can be published: then it matters most.
    private mutating func measure(problem: String) -> [Effect] {
        state = .measuring(problem: problem)
        return [.measure(countMax: settings.rowsMax + settings.foldMax)]
    }

    /// - Parameter answer: rows, counted up to `countMax`, and the age of the oldest; nil: not known.
    package mutating func measured(_ answer: (rows: Int, oldestMs: Int64)?) -> [Effect] {
        guard case .measuring(let problem) = state else { preconditionFailure("measured while \(state)") }
        guard let answer else { return pause() }
        guard answer.rows > settings.rowsMax else { return end(answer.rows, answer.oldestMs, problem) }
        state = .folding(
            Folding(before: answer.rows, rows: answer.rows, oldestMs: answer.oldestMs, problem: problem))
        return [.fold(limit: settings.foldMax)]
    }

    /// - Parameter count: rows that became one; nil: the statement failed.
    package mutating func folded(_ count: Int?) -> [Effect] {
        guard case .folding(var folding) = state else { preconditionFailure("rows were folded while \(state)") }
        // Fewer than two: the others are locked by a sweeper.
        if let count, count >= 2 {
            folding.folded += count
            folding.rows -= count - 1
            if folding.rows > settings.rowsMax / 2 {
                state = .folding(folding)
                return [.fold(limit: settings.foldMax)]
            }
        }
        backlog.folded += folding.folded
        return [.report(.folded(rows: folding.folded, of: folding.before))]
            + (count == nil ? pause() : end(folding.rows, folding.oldestMs, folding.problem))
    }

    private mutating func end(_ rows: Int, _ oldestMs: Int64, _ problem: String) -> [Effect] {
        (backlog.rows, backlog.oldestMs, backlog.problem) = (rows, oldestMs, problem)
        let isAlarming = rows > settings.alarmRows || oldestMs > settings.alarmAgeMs
        return [.report(.backlog(backlog, isAlarming: isAlarming))] + pause()
    }

    private mutating func pause() -> [Effect] {
        state = .idle
        return [.wait(ms: settings.sweepMs)]
    }
}

extension SweeperMachine.Effect {
    /// Whether it belongs to the transaction that `take` began.
    package var isInTransaction: Bool {
        switch self {
        case .confirmOverrides, .append, .remove, .rollBack: true
        case .wait, .appendResyncMarkers, .take, .measure, .fold, .report: false
        }
    }
}
