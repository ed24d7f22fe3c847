package import LiveModel
package import Refresh
package import Sharding
package import Streams

/// Decides everything that a fan-out worker does: which shards it serves, from the grant of a lease to its end; what it
/// runs again; what it sends to gateways; what it records and trims.
///
/// A value without sockets, clocks and tasks. Each method is a fact with the time at which it happened and returns what
/// is to be performed. Two performers exist: `FanoutWorker`, and the simulator, which delays, drops, repeats and
/// reorders.
///
/// The performer answers every call, if only with `failed`. An answer to a call that is not under way (a second answer,
/// or one to another machine) changes nothing and is counted; one that comes when its shard is given up ends the call.
package struct WorkerMachine: Sendable {
    package struct Settings: Sendable {
        package var refresh = RefreshSettings()
        package var lease = LeaseMachine.Settings()
        package var checkpointMs: Int64 = 1_000
        /// Events older than this are trimmed from the owned streams.
        package var eventsAgeMaxMs: Int64 = 3_600_000
        /// Time between two rounds of trimming.
        package var trimMs: Int64 = 30_000
        package var inboxLengthMax = 100_000
        /// An inbox without new messages expires after this time.
        package var inboxExpireMs = 600_000
        /// Bytes of results on their way to the broker; beyond it they count as not sent and are sent again later.
        package var outgoingBytesMax = 64 << 20
        /// Bytes of one batch to the broker; well below what its queue takes, beside the renewals of leases.
        package var batchBytesMax = 8 << 20
        /// A larger result is an error of its live query.
        package var resultBytesMax = 8 << 20

        package init() {}

        /// Time between calls of `ticked`.
        package var tickMs: Int64 { min(lease.renewMs, checkpointMs) / 2 }
    }

    enum StreamKind: Sendable { case events, control }

    let settings: Settings
    let node: NodeID
    let keys: Keys
    package internal(set) var refresh: RefreshMachine
    package internal(set) var leases: LeaseMachine
    /// Those of the last node list.
    var gateways: Set<NodeID> = []
    /// The followed streams.
    var streams: [String: (shard: ShardID, kind: StreamKind)] = [:]
    var calls: [CallID: PendingCall] = [:]
    private var lastCall: UInt64 = 0
    /// Answers to calls that were not under way.
    package internal(set) var answersIgnored = 0
    /// What the broker said with the lease of each shard.
    var grants: [ShardID: LeaseGrant] = [:]
    /// When `leases` wants a tick before the regular one.
    var leaseDeadlineMs: Int64?
    /// Leases on their way back.
    var releasesUnderWay = 0
    /// Why no epoch was to be had, so that it is logged once.
    var epochProblem = ""
    /// The database's timeline as last known; empty before.
    var databaseTimeline = ""
    private var serverChanges = 0
    /// How far the events of owned shards are recorded as applied.
    var checkpointed: [ShardID: StreamID] = [:]
    /// The rest of the round of checkpoints and trimming under way, last step first. Bound: three steps per owned
    /// shard.
    var upkeep: [UpkeepStep] = []
    var isUpkeepUnderWay = false
    var lastTrimMs: Int64 = 0
    /// Bound: `outgoingBytesMax`.
    var outgoing: BatchQueue<OutgoingMessage>
    private(set) var isDraining = false
    private var isDrained = false
    /// Entries read from streams of events.
    package private(set) var eventsRead: UInt64 = 0
    /// What the present fact causes; empty between two facts.
    var effects: [Effect] = []

    /// - Parameter rules: as `RefreshMachine`'s.
    package init(
        node: NodeID, keys: Keys, shardCount: Int, settings: Settings, rules: @escaping RefreshMachine.RulesProvider
    ) {
        self.node = node
        self.keys = keys
        self.settings = settings
        refresh = RefreshMachine(settings: settings.refresh, rules: rules)
        leases = LeaseMachine(me: node, shardCount: shardCount, settings: settings.lease)
        outgoing = BatchQueue(bytesMax: settings.outgoingBytesMax, batchBytesMax: settings.batchBytesMax)
    }

    package enum Effect: Sendable {
        /// Ask the broker; answer with `brokerAnswered`.
        case broker(CallID, BrokerCall)
        /// Ask the database; answer with `databaseAnswered`.
        case database(CallID, DatabaseCall)
        /// Load the versions that are in service now; answer with `catalogsLoaded`.
        case loadCatalogs(CallID)
        /// Run these live queries; answer with `runFinished`.
        case run(CallID, RunBatch)
        /// Append to the inboxes of gateways; answer with `batchAppended`. One batch at a time.
        case append(CallID, [OutgoingMessage])
        /// Read the stream after the cursor, which `server` gave (nil: any server); entries come as `streamRead`.
        case follow(stream: String, after: StreamID, server: String?)
        case unfollow(stream: String)
        /// Nodes or leases changed: read the node list now, for `nodesListed`.
        case readNodes
        case log(LogLine)
        /// Every shard is given back.
        case endDrain
    }

    // MARK: Facts

    /// The worker begins.
    package mutating func started() -> [Effect] {
        effects.append(.follow(stream: keys.news, after: .zero, server: nil))
        return takeEffects()
    }

    /// The node list was read.
    /// - Parameters:
    ///   - workers: live workers that do not drain.
    ///   - pins: shards that an operator moved, with their workers.
    package mutating func nodesListed(
        workers: [NodeID], gateways: Set<NodeID>, pins: [ShardID: NodeID] = [:], nowMs: Int64
    ) -> [Effect] {
        let (gone, asks) = refresh.gatewaysRead(gateways)
        for gateway in gone { log(.info, "gateway gone", ["gateway": "\(gateway)"]) }
        perform(asks, nowMs: nowMs)
        self.gateways = gateways
        if !isDraining { perform(leases.workersChanged(workers, pins: pins, nowMs: nowMs), nowMs: nowMs) }
        return takeEffects()
    }

    /// The regular tick, every `Settings.tickMs`.
    /// - Parameter serverChanges: how often another broker or database answered than before, since the start.
    package mutating func ticked(serverChanges: Int, nowMs: Int64) -> [Effect] {
        if serverChanges != self.serverChanges {
            self.serverChanges = serverChanges
            log(.warning, "another redis or postgres server answers, all shards run again")
            perform(refresh.serverChanged(gateways: gateways.sorted(), nowMs: nowMs), nowMs: nowMs)
        }
        if !isDraining { perform(leases.tick(nowMs: nowMs), nowMs: nowMs) }
        beginUpkeep(nowMs: nowMs)
        return takeEffects()
    }

    /// When `timeReached` is wanted next.
    package var nextDeadlineMs: Int64? {
        guard let leaseDeadlineMs else { return refresh.nextDeadlineMs }
        return min(leaseDeadlineMs, refresh.nextDeadlineMs ?? .max)
    }

    package mutating func timeReached(nowMs: Int64) -> [Effect] {
        // A lease that another worker held may be free before the next regular tick.
        if let leaseDeadlineMs, leaseDeadlineMs <= nowMs { perform(leases.tick(nowMs: nowMs), nowMs: nowMs) }
        if let deadlineMs = refresh.nextDeadlineMs, deadlineMs <= nowMs {
            perform(refresh.timeReached(nowMs: nowMs), nowMs: nowMs)
        }
        return takeEffects()
    }

    /// The order in which to hand over the batches of one read: shards with live queries first, since the others'
    /// events only have to be remembered.
    package func urgentFirst(_ batches: [StreamBatch]) -> [StreamBatch] {
        let isUrgent = batches.map { streams[$0.stream].map { refresh.hasLiveQueries($0.shard) } ?? false }
        return zip(batches, isUrgent).filter(\.1).map(\.0) + zip(batches, isUrgent).filter { !$0.1 }.map(\.0)
    }

    /// One batch of a read. Its effects are to be performed before the next batch is handed over: its runs need not
    /// wait until the others are decoded.
    /// - Parameter decoder: the same for all batches of one read.
    package mutating func streamRead(
        _ batch: StreamBatch, _ decoder: inout EventDecoder, nowMs: Int64
    ) -> [Effect] {
        read(batch, &decoder, nowMs: nowMs)
        return takeEffects()
    }

    private mutating func read(_ batch: StreamBatch, _ decoder: inout EventDecoder, nowMs: Int64) {
        if batch.stream == keys.news { return effects.append(.readNodes) }
        guard let (shard, kind) = streams[batch.stream] else { return }
        switch kind {
        case .events:
            if let signal = batch.signal {
                log(
                    .warning, "events may be lost, the shard runs again",
                    ["shard": "\(shard)", "signal": "\(signal)"])
            }
            eventsRead += UInt64(batch.entries.count)
            perform(
                refresh.eventsRead(
                    shard, signal: batch.signal, entries: batch.entries, decoder: &decoder, nowMs: nowMs),
                nowMs: nowMs)
        case .control:
            var unreadable: [StreamID] = []
            let asked = batch.signal == nil ? [] : gateways.sorted()
            let actions = refresh.controlRead(
                shard, signal: batch.signal, entries: batch.entries, gateways: asked, nowMs: nowMs
            ) { unreadable.append($0) }
            for entry in unreadable {
                log(.warning, "unreadable control message", ["shard": "\(shard)", "entry": "\(entry)"])
            }
            perform(actions, nowMs: nowMs)
        }
    }

    /// - Parameter outcomes: in the order of the batch's items.
    package mutating func runFinished(_ id: CallID, _ outcomes: [RunOutcome], nowMs: Int64) -> [Effect] {
        guard let pending = endCall(id) else { return [] }
        guard case .run(let batch) = pending else { preconditionFailure("results do not answer \(pending)") }
        // A result counts only while no other worker can serve: see `LeaseMachine.expired`.
        let expired = leases.expired(nowMs: nowMs)
        if !expired.isEmpty { perform(expired, nowMs: nowMs) }
        perform(refresh.runFinished(batch, outcomes.map(bounded), nowMs: nowMs), nowMs: nowMs)
        return takeEffects()
    }

    package func bounded(_ outcome: RunOutcome) -> RunOutcome {
        guard case .result(_, let answer) = outcome, answer.byteCount > settings.resultBytesMax else { return outcome }
        return .failed(RequestError(.payloadTooLarge, "the result is larger than \(settings.resultBytesMax) bytes"))
    }

    /// Gives every shard back; `endDrain` follows when that is done. No more shards are taken.
    package mutating func drain(nowMs: Int64) -> [Effect] {
        isDraining = true
        isDrained = false
        perform(leases.drain(nowMs: nowMs), nowMs: nowMs)
        return takeEffects()
    }

    // MARK: Bounds

    /// Bytes of the messages that wait for the broker, the batch under way included.
    package var outgoingBytes: Int { outgoing.bytes }
    package var callsUnderWay: Int { calls.count }

    // MARK: Effects

    mutating func newCall(for pending: PendingCall) -> CallID {
        lastCall += 1
        let id = CallID(number: lastCall)
        calls[id] = pending
        return id
    }

    /// What the call was for; nil when it is not under way.
    mutating func endCall(_ id: CallID) -> PendingCall? {
        let pending = calls.removeValue(forKey: id)
        if pending == nil { answersIgnored += 1 }
        return pending
    }

    mutating func ask(_ call: BrokerCall, for pending: PendingCall) {
        effects.append(.broker(newCall(for: pending), call))
    }

    mutating func ask(_ call: DatabaseCall, for pending: PendingCall) {
        effects.append(.database(newCall(for: pending), call))
    }

    mutating func log(_ level: LogLine.Level, _ message: String, _ metadata: [String: String] = [:]) {
        effects.append(.log(LogLine(level: level, message: message, metadata: metadata)))
    }

    mutating func takeEffects() -> [Effect] {
        if isDraining, !isDrained, !calls.values.contains(where: \.isHandOver) {
            isDrained = true
            effects.append(.endDrain)
        }
        defer { effects = [] }
        return effects
    }

    package struct LogLine: Sendable, Hashable {
        package enum Level: Sendable { case info, warning }

        package let level: Level
        package let message: String
        package let metadata: [String: String]
    }
}
