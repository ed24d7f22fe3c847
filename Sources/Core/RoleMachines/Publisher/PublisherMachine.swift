package import LiveModel
package import Sharding

/// Publishes committed events from the outbox to the shards' streams, then removes their rows in batches.
///
/// Delivery is at least once: a row whose publication is uncertain stays, and the sweeper of any node publishes it
/// again (`SweeperMachine`). Before a batch of rows is removed, the overrides are confirmed as of a time after the
/// rows' commits. If the splits, the followed shards or the catalogs changed since an event's shards were chosen, the
/// event is also published to the added shards (`ClusterOverrides` explains why that suffices). The database refuses
/// the removal while a deployment exists that this node had not loaded.
/// An answer to a call that is not in flight is ignored.
/// Bounds: `inFlightMax` events in flight (further events are left to the sweepers) and as many rows awaiting removal.
package struct PublisherMachine: Sendable {
    package struct Settings: Sendable {
        package var inFlightMax = 10_000
        /// Rows removed by one statement.
        package var deleteBatchMax = SweeperMachine.Settings().batchMax
        /// Maximum time for which a published row waits for its removal batch to fill.
        package var deleteBatchMs: Int64 = 50
        /// Bytes of events in one append after a change of overrides or catalogs; a larger event is sent alone.
        package var batchBytesMax = 4 << 20

        package init() {}
    }

    /// A committed event and the targets that were chosen before its commit.
    package struct Committed: Sendable, Hashable {
        package let row: OutboxRow
        package let mutation: OperationReference
        package let targets: RefreshTargets

        package init(row: OutboxRow, mutation: OperationReference, targets: RefreshTargets) {
            self.row = row
            self.mutation = mutation
            self.targets = targets
        }
    }

    /// Identifies an effect that awaits an answer.
    package typealias CallID = UInt64

    package enum Effect: Sendable {
        /// Append one entry per shard, then call `appended`.
        case append(CallID, [Publication])
        /// Call `removalDue` after this time.
        case wait(ms: Int64)
        /// Read the overrides as of any moment from now on, then call `overridesConfirmed`.
        case confirmOverrides(CallID)
        /// Remove the rows unless a deployment after `loadedDeployment` exists, then call `removed`.
        case remove(CallID, ids: [String], loadedDeployment: Int64)
        /// Log and measure.
        case report(Report)
    }

    package enum Report: Sendable, Hashable {
        /// Every followed shard named in the row has the event.
        case published
        /// An event is left to the sweepers.
        case deferred(id: String, reason: String)
        /// Number of events that were also published to shards added by a change of overrides or catalogs.
        case republished(Int)
        /// Number of published rows that are left to the sweepers.
        case rowsLeft(Int, reason: String)
    }

    /// The state of the removal of published rows; one batch at a time.
    private enum Removal: Sendable {
        case idle
        case waiting
        case confirming([Committed], call: CallID)
        /// `call` appends the first of the remaining batches of publications.
        case republishing([Committed], loadedDeployment: Int64, remaining: ArraySlice<[Publication]>, call: CallID)
        case removing(count: Int, call: CallID)
    }

    package let settings: Settings
    private let routing: EventRouting
    private var inFlight: [CallID: Committed] = [:]
    private var lastCall: CallID = 0
    private var published: [Committed] = []
    private var removal = Removal.idle
    /// Whether any event was sent to the broker.
    package private(set) var hasPublished = false

    package init(settings: Settings, shardCount: Int) {
        self.settings = settings
        routing = EventRouting(shardCount: shardCount)
    }

    package var inFlightCount: Int { inFlight.count }
    package var removalsWaiting: Int { published.count }
    package var isIdle: Bool {
        guard case .idle = removal else { return false }
        return inFlight.isEmpty && published.isEmpty
    }

    // MARK: Publishing

    /// Publishes the event of a committed mutation; beyond `inFlightMax` it is left to the sweepers.
    package mutating func committed(_ event: Committed) -> [Effect] {
        guard inFlight.count < settings.inFlightMax else {
            return [.report(.deferred(id: event.row.id, reason: "too many events are being published"))]
        }
        let shards = event.targets.followedShards
        if shards.isEmpty { return published(event) }
        hasPublished = true
        let call = newCall()
        inFlight[call] = event
        return [.append(call, [Publication(row: event.row, shards: shards)])]
    }

    /// Handles the answer to an append.
    /// - Parameter answer: success: every stream has its entry; failure: any stream may lack it.
    package mutating func appended(_ call: CallID, _ answer: Result<Void, StepFailure>) -> [Effect] {
        guard let event = inFlight.removeValue(forKey: call) else { return republished(call, answer) }
        if case .failure(let failure) = answer {
            return [.report(.deferred(id: event.row.id, reason: failure.reason))]
        }
        return published(event)
    }

    private mutating func published(_ event: Committed) -> [Effect] {
        // Rows beyond the bound are left to the sweepers.
        if published.count < settings.inFlightMax { published.append(event) }
        guard case .idle = removal else { return [.report(.published)] }
        removal = .waiting
        return [.report(.published), .wait(ms: settings.deleteBatchMs)]
    }

    // MARK: Removing rows

    package mutating func removalDue() -> [Effect] {
        guard case .waiting = removal else { preconditionFailure("a removal is due while \(removal)") }
        if published.isEmpty {
            removal = .idle
            return []
        }
        let batch = Array(published.prefix(settings.deleteBatchMax))
        published.removeFirst(batch.count)
        let call = newCall()
        removal = .confirming(batch, call: call)
        return [.confirmOverrides(call)]
    }

    /// - Parameter rules: those of the catalogs that this node has loaded now.
    package mutating func overridesConfirmed(
        _ call: CallID, _ answer: Result<ClusterOverrides, StepFailure>, rules: some PublishingRules, nowMs: Int64
    ) -> [Effect] {
        guard case .confirming(let batch, call) = removal else { return [] }
        let overrides: ClusterOverrides
        switch answer {
        case .success(let confirmed): overrides = confirmed
        case .failure(let failure): return leave(batch.count, failure)
        }
        var added: [Publication] = []
        for event in batch where !event.targets.areCurrent(overrides, rules) {
            let shards = routing.shards(
                of: event.row, mutation: event.mutation, overrides: overrides, rules: rules, nowMs: nowMs
            ).subtracting(event.targets.followedShards)
            if !shards.isEmpty { added.append(Publication(row: event.row, shards: shards.sorted())) }
        }
        return republish(
            batch, rules.loadedDeployment, EventRouting.batches(of: added, bytesMax: settings.batchBytesMax)[...])
    }

    private mutating func republish(
        _ batch: [Committed], _ loadedDeployment: Int64, _ remaining: ArraySlice<[Publication]>
    ) -> [Effect] {
        let call = newCall()
        guard let publications = remaining.first else {
            removal = .removing(count: batch.count, call: call)
            return [.remove(call, ids: batch.map(\.row.id), loadedDeployment: loadedDeployment)]
        }
        removal = .republishing(batch, loadedDeployment: loadedDeployment, remaining: remaining, call: call)
        return [.append(call, publications)]
    }

    private mutating func republished(_ call: CallID, _ answer: Result<Void, StepFailure>) -> [Effect] {
        guard case .republishing(let batch, let loadedDeployment, let remaining, call) = removal else {
            return []
        }
        if case .failure(let failure) = answer { return leave(batch.count, failure) }
        return [.report(.republished(remaining.first?.count ?? 0))]
            + republish(batch, loadedDeployment, remaining.dropFirst())
    }

    /// - Parameter answer: success also if the database refused because a deployment is not loaded here.
    package mutating func removed(_ call: CallID, _ answer: Result<Void, StepFailure>) -> [Effect] {
        guard case .removing(let count, call) = removal else { return [] }
        switch answer {
        case .success: return nextBatch()
        case .failure(let failure): return leave(count, failure)
        }
    }

    /// Leaves a failed batch to the sweepers and continues with the next one.
    private mutating func leave(_ count: Int, _ failure: StepFailure) -> [Effect] {
        [.report(.rowsLeft(count, reason: failure.reason))] + nextBatch()
    }

    private mutating func nextBatch() -> [Effect] {
        removal = .waiting
        return [.wait(ms: settings.deleteBatchMs)]
    }

    // MARK: Calls

    private mutating func newCall() -> CallID {
        lastCall += 1
        return lastCall
    }
}
