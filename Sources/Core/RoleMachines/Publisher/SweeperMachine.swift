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
    private struct Folding: Sendable {
        /// Row counts before the folding and now.
        let before: Int
        var rows: Int
        let oldestMs: Int64
        let problem: String
        /// Events folded so far.
        var folded = 0
    }

    private enum State: Sendable {
        case idle
        case resyncing(serverChanges: Int)
        case taking
        case confirming([TakenRow])
        /// The first of the remaining batches of publications is being appended.
        case appending([TakenRow], loadedDeployment: Int64, remaining: ArraySlice<[Publication]>)
        case removing(count: Int)
        case measuring(problem: String)
        case folding(Folding)
    }

    /// The content of a folded row. It is not a valid event: a worker that reads it re-runs everything in the shard.
    package static let foldedEvent = #"{"type":"anything"}"#

    package let settings: Settings
    private let routing: EventRouting
    private var state = State.idle
    private var lastCall: CallID = 0
    /// The call in flight; nil between rounds.
    private var call: CallID?
    /// The number of server changes for which all shards have resync markers.
    private var serverChangesKnown = 0
    /// Whether any event was sent to the broker, by this machine or by the node's publisher.
    package private(set) var hasPublished = false
    package private(set) var backlog = Backlog()

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
                rows, rules.loadedDeployment,
                EventRouting.batches(of: publications, bytesMax: settings.batchBytesMax)[...])
        }
    }

    private mutating func append(
        _ rows: [TakenRow], _ loadedDeployment: Int64, _ remaining: ArraySlice<[Publication]>
    ) -> [Effect] {
        guard let publications = remaining.first else {
            state = .removing(count: rows.count)
            return [.remove(newCall(), ids: rows.map(\.row.id), loadedDeployment: loadedDeployment)]
        }
        state = .appending(rows, loadedDeployment: loadedDeployment, remaining: remaining)
        return [.append(newCall(), publications)]
    }

    /// - Parameter answer: success: every stream has its entries.
    package mutating func appended(_ call: CallID, _ answer: Result<Void, StepFailure>) -> [Effect] {
        guard end(call) else { return [] }
        guard case .appending(let rows, let loadedDeployment, let remaining) = state else {
            preconditionFailure("events were appended while \(state)")
        }
        switch answer {
        case .failure(let failure): return [.rollBack] + measure(problem: failure.reason)
        case .success: return append(rows, loadedDeployment, remaining.dropFirst())
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

    private mutating func newCall() -> CallID {
        lastCall += 1
        call = lastCall
        return lastCall
    }

    /// Ends the call; false if it is not in flight.
    private mutating func end(_ call: CallID) -> Bool {
        guard call == self.call else { return false }
        self.call = nil
        return true
    }
}

/// The end of a round: the sweeper measures the outbox, folds its oldest rows if there are too many, and pauses.
extension SweeperMachine {
    /// Measures the outbox, even if nothing could be published: the bound matters most then.
    private mutating func measure(problem: String) -> [Effect] {
        state = .measuring(problem: problem)
        return [.measure(newCall(), countMax: settings.rowsMax + settings.foldMax)]
    }

    /// - Parameter answer: the row count, up to `countMax`, and the age of the oldest row; nil if the query failed.
    package mutating func measured(_ call: CallID, _ answer: (rows: Int, oldestMs: Int64)?) -> [Effect] {
        guard end(call) else { return [] }
        guard case .measuring(let problem) = state else { preconditionFailure("measured while \(state)") }
        guard let answer else { return pause() }
        guard answer.rows > settings.rowsMax else { return end(answer.rows, answer.oldestMs, problem) }
        state = .folding(
            Folding(before: answer.rows, rows: answer.rows, oldestMs: answer.oldestMs, problem: problem))
        return [.fold(newCall(), limit: settings.foldMax)]
    }

    /// - Parameter count: the number of rows folded into one, 0 if there were fewer than two; nil if the statement
    ///   failed.
    package mutating func folded(_ call: CallID, _ count: Int?) -> [Effect] {
        guard end(call) else { return [] }
        guard case .folding(var folding) = state else { preconditionFailure("rows were folded while \(state)") }
        // None: a sweeper has locked the others.
        if let count, count > 0 {
            folding.folded += count
            folding.rows -= count - 1
            if folding.rows > settings.rowsMax / 2 {
                state = .folding(folding)
                return [.fold(newCall(), limit: settings.foldMax)]
            }
        }
        backlog.folded += folding.folded
        let report: [Effect] =
            folding.folded > 0 ? [.report(.folded(rows: folding.folded, of: folding.before))] : []
        return report + (count == nil ? pause() : end(folding.rows, folding.oldestMs, folding.problem))
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
