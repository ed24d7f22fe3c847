package import LiveModel
import Pacing
package import Refresh
package import Sharding
package import Streams

/// The state machine of a fan-out worker: it decides which shards the worker serves, from the grant of a lease to its
/// end, what it re-runs, what it sends to gateways, and what it records and trims.
///
/// A value without sockets, clocks and tasks. Each method reports a fact with its time and returns the effects to
/// perform. Two performers exist: `FanoutWorker`, and the simulator, which delays, drops, repeats and reorders.
///
/// The performer answers every call, at least with `failed`. An answer to a call that is not in flight (a duplicate, or
/// one meant for another machine) is ignored; one that arrives after its shard was given up ends the call.
package struct WorkerMachine: Sendable {
    package struct Settings: Sendable {
        package var refresh = RefreshSettings()
        package var lease = LeaseMachine.Settings()
        /// Time between two rounds of checkpoints; a round begins with the first tick after it.
        package var checkpointMs: Int64 = 1_000
        /// Events older than this are trimmed from the owned streams.
        package var eventsAgeMaxMs: Int64 = 3_600_000
        /// Time between two rounds of trimming.
        package var trimMs: Int64 = 30_000
        package var inboxLengthMax = 100_000
        /// Messages, and bytes of messages, that share one entry of an inbox.
        package var entryMessagesMax = 256
        package var entryBytesMax = 256 << 10
        /// An inbox without new messages expires after this time.
        package var inboxExpireMs = 600_000
        /// Bytes of results queued for the broker; results beyond it count as not sent and are sent again later.
        package var outgoingBytesMax = 64 << 20
        /// Bytes of one batch to the broker; well below its queue's capacity, which lease renewals share.
        package var batchBytesMax = 8 << 20
        /// A larger result is reported as an error of its live query.
        package var resultBytesMax = 8 << 20
        /// Time between comparisons of the definitions that queries with SQL depend on.
        package var definitionsMs: Int64 = 10_000
        /// How long a shard has no live queries before it is marked as unfollowed; 0: never.
        package var unfollowedAfterMs: Int64 = 10_000

        package init() {}

        /// Time between calls of `ticked`.
        package var tickMs: Int64 { min(lease.renewMs, checkpointMs) / 2 }
    }

    /// How often other servers have answered since the start; then events and epochs may be missing.
    package struct ServerChanges: Sendable, Hashable {
        package let broker: Int
        package let database: Int

        package init(broker: Int = 0, database: Int = 0) {
            self.broker = broker
            self.database = database
        }
    }

    let settings: Settings
    let node: NodeID
    let keys: Keys
    package internal(set) var refresh: RefreshMachine
    package internal(set) var leases: LeaseMachine
    var negotiations = Negotiations()
    var streams: ServedStreams
    var upkeep: Upkeep
    var following: FollowedShards
    var outgoing: OutgoingMessages
    /// The gateways of the last node list.
    private(set) var gateways: Set<NodeID> = []
    var unreadableControl = RepeatedFailure()
    var missedChanges = RepeatedFailure()
    private var calls = CallTable()
    /// When `leases` needs a tick before the regular one.
    private var leaseDeadlineMs: Int64?
    private var serverChanges = ServerChanges()
    private var isDraining = false
    private var isDrained = false
    /// The number of entries read from events streams.
    package private(set) var eventsRead: UInt64 = 0
    /// The results that runs have brought; one that is larger than `resultBytesMax` does not count.
    package private(set) var resultsRead = 0
    /// The effects of the fact being handled; empty between facts.
    private var effects: [Effect] = []

    /// - Parameter rules: passed to `RefreshMachine`.
    package init(
        node: NodeID, keys: Keys, shardCount: Int, settings: Settings, rules: @escaping RefreshMachine.RulesProvider
    ) {
        self.node = node
        self.keys = keys
        self.settings = settings
        refresh = RefreshMachine(settings: settings.refresh, rules: rules)
        leases = LeaseMachine(me: node, shardCount: shardCount, settings: settings.lease)
        streams = ServedStreams(keys: keys)
        upkeep = Upkeep(keys: keys, settings: settings)
        following = FollowedShards(afterMs: settings.unfollowedAfterMs)
        outgoing = OutgoingMessages(keys: keys, settings: settings)
    }

    package enum Effect: Sendable {
        /// Call the broker; answer with `brokerAnswered`.
        case broker(CallID, BrokerCall)
        /// Call the database; answer with `databaseAnswered`.
        case database(CallID, DatabaseCall)
        /// Load the versions that are currently served; answer with `catalogsLoaded`.
        case loadCatalogs(CallID)
        /// Run these live queries; answer with `runFinished`.
        case run(CallID, RunBatch)
        /// Append to the inboxes of gateways; answer with `batchAppended`. One batch at a time.
        case append(CallID, [InboxEntry])
        /// Read the stream after the cursor, which `server` assigned (nil: any server); entries come as `streamRead`.
        case follow(stream: String, after: StreamID, server: String?)
        case unfollow(stream: String)
        /// Nodes or leases changed: read the node list now and pass it to `nodesListed`.
        case readNodes
        case log(LogLine)
        /// Every shard is released.
        case endDrain
    }

    // MARK: Facts

    /// Begins the worker's work.
    package mutating func started() -> [Effect] {
        effects.append(.follow(stream: keys.wakeUps, after: .zero, server: nil))
        return takeEffects()
    }

    /// Handles a read of the node list.
    /// - Parameters:
    ///   - workers: live workers that do not drain.
    ///   - movedShards: shards that an operator moved, with their assigned workers.
    ///   - unfollowed: by the overrides as last read.
    package mutating func nodesListed(
        workers: [NodeID], gateways: Set<NodeID>, movedShards: [ShardID: NodeID] = [:],
        unfollowed: UnfollowedShards = UnfollowedShards(), nowMs: Int64
    ) -> [Effect] {
        let (gone, requests) = refresh.gatewaysRead(gateways)
        for gateway in gone { log(.info, "gateway gone", ["gateway": "\(gateway)"]) }
        performRefresh(requests, nowMs: nowMs)
        self.gateways = gateways
        performFollowing(following.listed(unfollowed, empty: emptyShards, nowMs: nowMs), nowMs: nowMs)
        if !isDraining {
            performLeases(leases.workersChanged(workers, movedShards: movedShards, nowMs: nowMs), nowMs: nowMs)
        }
        return takeEffects()
    }

    /// Performs the regular tick, every `Settings.tickMs`.
    package mutating func ticked(_ changes: ServerChanges, nowMs: Int64) -> [Effect] {
        if changes != serverChanges {
            serverChanges = changes
            log(.warning, "another redis or postgres server answers, all shards run again")
            performRefresh(refresh.serverChanged(gateways: gateways.sorted(), nowMs: nowMs), nowMs: nowMs)
        }
        if !isDraining {
            performLeases(leases.tick(nowMs: nowMs), nowMs: nowMs)
            performFollowing(following.ticked(empty: emptyShards, nowMs: nowMs), nowMs: nowMs)
        }
        if upkeep.begin(refresh, nowMs: nowMs) { nextUpkeep() }
        return takeEffects()
    }

    /// Handles queries that depend on SQL of which the database no longer defines as before what it reads or writes.
    package mutating func definitionsChanged(_ operations: Set<OperationReference>, nowMs: Int64) -> [Effect] {
        performRefresh(refresh.rerun(operations, nowMs: nowMs), nowMs: nowMs)
        return takeEffects()
    }

    /// When to call `timeReached` next.
    package var nextDeadlineMs: Int64? {
        guard let leaseDeadlineMs else { return refresh.nextDeadlineMs }
        return min(leaseDeadlineMs, refresh.nextDeadlineMs ?? .max)
    }

    /// Called after everything that changes `leases`.
    mutating func updateLeaseDeadline() { leaseDeadlineMs = isDraining ? nil : leases.nextDeadlineMs }

    package mutating func timeReached(nowMs: Int64) -> [Effect] {
        // A lease that another worker held may become free before the next regular tick.
        if let leaseDeadlineMs, leaseDeadlineMs <= nowMs { performLeases(leases.tick(nowMs: nowMs), nowMs: nowMs) }
        if let deadlineMs = refresh.nextDeadlineMs, deadlineMs <= nowMs {
            performRefresh(refresh.timeReached(nowMs: nowMs), nowMs: nowMs)
        }
        return takeEffects()
    }

    /// Orders the batches of one read: shards with live queries first, since the events of the others only need to be
    /// remembered.
    package func urgentFirst(_ batches: [StreamBatch]) -> [StreamBatch] {
        let isUrgent = batches.map { streams[$0.stream].map { refresh.hasLiveQueries($0.shard) } ?? false }
        return zip(batches, isUrgent).filter(\.1).map(\.0) + zip(batches, isUrgent).filter { !$0.1 }.map(\.0)
    }

    /// Handles one batch of a read. Perform its effects before handing over the next batch, so that its runs need not
    /// wait for the decoding of the others.
    /// - Parameter decoder: shared by all batches of one read.
    package mutating func streamRead(
        _ batch: StreamBatch, _ decoder: inout EventDecoder, nowMs: Int64
    ) -> [Effect] {
        read(batch, &decoder, nowMs: nowMs)
        return takeEffects()
    }

    private mutating func read(_ batch: StreamBatch, _ decoder: inout EventDecoder, nowMs: Int64) {
        if batch.stream == keys.wakeUps { return effects.append(.readNodes) }
        guard let (shard, kind) = streams[batch.stream] else { return }
        switch kind {
        case .events:
            if let signal = batch.signal {
                log(
                    .warning, "events may be lost, the shard runs again",
                    ["shard": "\(shard)", "signal": "\(signal)"])
            }
            eventsRead += UInt64(batch.entries.count)
            performRefresh(
                refresh.eventsRead(
                    shard, signal: batch.signal, entries: batch.entries, decoder: &decoder, nowMs: nowMs),
                nowMs: nowMs)
        case .control: readControl(shard, batch, nowMs: nowMs)
        }
    }

    /// - Parameters:
    ///   - outcomes: in the order of the batch's items.
    ///   - micros: the time of the statement.
    package mutating func runFinished(
        _ id: CallID, _ outcomes: [RunOutcome], micros: UInt64 = 0, nowMs: Int64
    ) -> [Effect] {
        guard let pending = endCall(id) else { return [] }
        guard case .run(let batch) = pending else { preconditionFailure("results do not answer \(pending)") }
        // A result counts only if no other worker can be serving yet: see `LeaseMachine.expired`.
        let expired = leases.expired(nowMs: nowMs)
        if !expired.isEmpty { performLeases(expired, nowMs: nowMs) }
        let bounded = outcomes.map(bounded)
        resultsRead += bounded.count { if case .result = $0 { true } else { false } }
        performRefresh(refresh.runFinished(batch, bounded, micros: micros, nowMs: nowMs), nowMs: nowMs)
        return takeEffects()
    }

    private func bounded(_ outcome: RunOutcome) -> RunOutcome {
        guard case .result(_, let answer, _) = outcome, answer.byteCount > settings.resultBytesMax else {
            return outcome
        }
        return .failed(RequestError(.payloadTooLarge, "the result is larger than \(settings.resultBytesMax) bytes"))
    }

    /// Releases every shard, followed by `endDrain`. No more shards are taken.
    package mutating func drain(nowMs: Int64) -> [Effect] {
        isDraining = true
        isDrained = false
        performLeases(leases.drain(nowMs: nowMs), nowMs: nowMs)
        return takeEffects()
    }

    // MARK: Bounds

    /// Bytes of the messages queued for the broker, including the batch in flight.
    package var outgoingBytes: Int { outgoing.bytes }
    package var callsUnderWay: Int { calls.count }

    // MARK: Effects

    mutating func emit(_ effect: Effect) { effects.append(effect) }

    mutating func newCall(for pending: PendingCall) -> CallID { calls.begin(pending) }

    /// Removes a call and returns its purpose; nil if it is not in flight.
    mutating func endCall(_ id: CallID) -> PendingCall? { calls.end(id) }

    /// Whether a shard is being released.
    var hasReleases: Bool { calls.hasReleases }

    mutating func request(_ call: BrokerCall, for pending: PendingCall) {
        effects.append(.broker(newCall(for: pending), call))
    }

    mutating func request(_ call: DatabaseCall, for pending: PendingCall) {
        effects.append(.database(newCall(for: pending), call))
    }

    mutating func log(_ level: LogLine.Level, _ message: String, _ metadata: [String: String] = [:]) {
        effects.append(.log(LogLine(level: level, message: message, metadata: metadata)))
    }

    mutating func takeEffects() -> [Effect] {
        if isDraining, !isDrained, !calls.hasHandOvers {
            isDrained = true
            effects.append(.endDrain)
        }
        defer { effects = [] }
        return effects
    }
}
