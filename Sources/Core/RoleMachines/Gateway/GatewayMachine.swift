package import LiveModel
package import Sessions
package import Sharding
import Streams

/// The state machine between a gateway's event loops and the broker: the live queries it follows (`InterestMachine`),
/// the queue of messages for the shards' control streams, the state of the broker connection, and periodic work.
///
/// Messages enter the queue in the order in which the machine makes them and leave it one batch at a time, which
/// preserves their order within a control stream. A failed batch is not resent: announcements repeat until they are
/// answered, and summaries repair the rest.
/// Bounds: `outgoingMax` messages and `outgoingBytesMax`; a message that exceeds them is dropped, as if its batch
/// had failed.
package struct GatewayMachine: Sendable {
    package struct Settings: Sendable {
        package var interest = InterestMachine.Settings()
        /// Queued messages per live query that a gateway may have: announce, withdraw, announce again, and one to
        /// spare.
        package var messagesPerLiveQueryMax = 4
        /// Queued messages altogether; nil: derived from `messagesPerLiveQueryMax`.
        package var outgoingMax: Int?
        /// Bytes of queued messages.
        package var outgoingBytesMax = 512 << 20
        /// Bytes of one batch to the broker; well below its queue's capacity, which lease renewals share.
        package var batchBytesMax = 8 << 20
        /// Time between two calls of `ticked`.
        package var tickMs = InterestMachine.sweepMs
        /// Time between two rounds of trimming. The inbox keeps what was read since the round before the last one.
        package var trimMs: Int64 = 10_000
        /// Number of ticks between two samples for the metrics.
        package var sampleEveryTicks = 20

        package init() {}
    }

    /// The state of the connection to the broker.
    package struct BrokerConnection: Sendable, Hashable {
        package let isConnected: Bool
        /// Connections made after the first one.
        package let reconnects: Int

        package init(isConnected: Bool, reconnects: Int) {
            self.isConnected = isConnected
            self.reconnects = reconnects
        }
    }

    /// Identifies an append that awaits an answer.
    package typealias CallID = UInt64

    package enum Effect: Sendable {
        /// Call `batchDue` soon, but not at once: messages that are queued until then go with the first batch.
        case gather
        /// Append the messages to the shards' control streams; answer with `batchAppended`. One batch at a time.
        case append(CallID, [Outgoing])
        /// Hand the result to those sessions of these hubs that accept an answer to this announcement.
        case deliver(hubs: [Int], key: LiveQueryKey, InterestMachine.Delivery, answers: UInt64)
        /// Read the newest recorded epoch of the shard and answer with `epochRead`.
        case readEpoch(ShardID, call: UInt64)
        /// Forget the positions of these hubs' subscriptions of the live query.
        case forgetPositions(hubs: [Int], key: LiveQueryKey, from: UInt64)
        /// Log that messages named an epoch that is not the recorded one.
        case reportEpoch(ShardID, named: UInt64, recorded: UInt64)
        /// Log that this many messages were not sent.
        case reportUnsent(Int, reason: String)
        /// Log that messages may be missing, and that all interest is announced again.
        case reportLoss(InboxLoss)
        /// Remove the entries below this id from the inbox. Repeated in each round, so a failure needs no answer.
        case trimInbox(minimumID: StreamID)
        /// Count a probe of the node for its readiness.
        case reportProbe
        /// Log and measure a result that arrived.
        case reportResult(LiveQueryKey, LiveResult)
        /// Record the counts in the metrics.
        case sample(Counts)
        /// Pass the marker to every hub after the deliveries before it; when all of them have it, call `markerTaken`.
        case passMarker(InterestMachine.ArrivedMarker)
        /// Measure the hops of a marker that every hub has taken.
        case reportMarker(MarkerHops)
        /// Make sure that the event is in the streams of the shards that it concerns; answer with `waitAppended`.
        case ensureAppended(InterestMachine.WaitID, position: String)
        /// Append the gateway's ticket to the shard's events stream. Repeated if it does not come back, so a failure
        /// needs no answer.
        case appendTicket(ShardID, WaitTicket)
        /// Tell the session of this hub that its wait is over, after the deliveries before it.
        case answerWait(hub: Int, InterestMachine.WaitID, RequestError?, beganAtMs: Int64)
    }

    /// A message for a shard's control stream.
    package typealias Outgoing = (shard: ShardID, message: ControlMessage)

    package let settings: Settings
    var interest: InterestMachine
    private var outgoing: BatchQueue<Outgoing>
    /// The number of the last append.
    private var lastCall: CallID = 0
    /// The number of messages of the append in flight; nil: there is none.
    private var appending: Int?
    private var ticks = 0
    private var reconnects = 0
    /// The last entry read from the inbox; zero before the first one, and after a loss: ids may begin again.
    private var cursor = StreamID.zero
    /// The value of `cursor` in the last round of trimming.
    private var cursorAtTrim = StreamID.zero
    private var lastTrimMs: Int64

    /// Makes a gateway that routes live queries without overrides until `overridesChanged`.
    /// - Parameter nowMs: decides the first announcement number (`firstAnnouncement`).
    package init(gateway: NodeID, settings: Settings, nowMs: Int64) {
        self.settings = settings
        lastTrimMs = nowMs
        interest = InterestMachine(
            gateway: gateway, settings: settings.interest, firstAnnouncement: Self.firstAnnouncement(atMs: nowMs))
        let outgoingMax = settings.outgoingMax ?? settings.messagesPerLiveQueryMax * settings.interest.liveQueriesMax
        outgoing = BatchQueue(
            bytesMax: settings.outgoingBytesMax, batchBytesMax: settings.batchBytesMax, countMax: outgoingMax)
    }

    /// Returns a number greater than the announcement numbers of a former process of this name, which made fewer than
    /// 1,024 announcements per millisecond. If the clock was set back, the numbers of that process are greater than any
    /// used here, and `inboxRead` refuses their answers.
    package static func firstAnnouncement(atMs nowMs: Int64) -> UInt64 { UInt64(clamping: nowMs) << 10 }

    package var gateway: NodeID { interest.gateway }

    /// Returns what this gateway holds of a live query, for operators; nil if nothing.
    package func held(_ key: LiveQueryKey) -> InterestMachine.HeldReport? { interest.held(key) }

    // MARK: Life and time

    /// Withdraws what a former process of the same name may have left behind; call it before the first subscription.
    package mutating func started() -> [Effect] {
        effects(of: ShardID.all(count: settings.interest.shardCount).map { .tell($0, .leave(gateway: gateway)) })
    }

    package mutating func ticked(_ connection: BrokerConnection, nowMs: Int64) -> [Effect] {
        var actions: [InterestMachine.Action] = []
        if connection.isConnected, connection.reconnects != reconnects {
            reconnects = connection.reconnects
            actions += interest.brokerReconnected(nowMs: nowMs)
        }
        var effects = self.effects(of: actions + interest.timeReached(nowMs: nowMs))
        if !(lastTrimMs..<lastTrimMs + settings.trimMs).contains(nowMs) { effects += trimmed(nowMs: nowMs) }
        if ticks % settings.sampleEveryTicks == 0 { effects.append(.sample(counts)) }
        ticks += 1
        return effects
    }

    /// Only this process reads the inbox, so it needs none of the read entries but the last one: while that exists,
    /// the reader knows that nothing after it was lost.
    private mutating func trimmed(nowMs: Int64) -> [Effect] {
        lastTrimMs = nowMs
        defer { cursorAtTrim = cursor }
        return cursorAtTrim == .zero || cursorAtTrim > cursor ? [] : [.trimInbox(minimumID: cursorAtTrim)]
    }

    /// Handles a change of the overrides by operators. From now on, and not before, subscriptions follow their routes.
    package mutating func overridesChanged(_ overrides: ClusterOverrides, nowMs: Int64) -> [Effect] {
        effects(of: interest.overridesChanged(overrides, nowMs: nowMs))
    }

    /// Returns a live query that is followed or lingers.
    package func liveQuery(_ key: LiveQueryKey) -> LiveQuery? { interest.liveQuery(key) }

    /// Returns the shard of a live query by the latest overrides.
    package func shard(of query: LiveQuery) -> ShardID { interest.route(of: query).shard }

    /// Withdraws all interest; the gateway may stop once `isIdle`.
    package mutating func leave() -> [Effect] { effects(of: interest.leave()) }

    // MARK: Subscriptions

    /// Adds a subscription of `query` on `hub`.
    /// - Parameters:
    ///   - known: the result that the client claims to hold.
    ///   - reportsTimerRuns: whether the subscription gets a message for each timer run, even if the result is
    ///     unchanged.
    ///   - client: who subscribes; nil if that is unknown.
    /// - Returns: the initial state of the subscription; its `actions` are among the effects.
    package mutating func subscribed(
        hub: Int, _ query: LiveQuery, known: KnownResult?, reportsTimerRuns: Bool, client: ClientID? = nil,
        nowMs: Int64
    ) throws(RequestError) -> (start: InterestMachine.Start, effects: [Effect]) {
        let start = try interest.subscribed(
            hub: hub, query, known: known, reportsTimerRuns: reportsTimerRuns, client: client, nowMs: nowMs)
        return (start, effects(of: start.actions))
    }

    /// - Parameter lingers: whether the client may be back soon; false if it ended the subscription itself.
    package mutating func unsubscribed(
        hub: Int, _ key: LiveQueryKey, lingers: Bool = true, nowMs: Int64
    ) -> [Effect] {
        effects(of: interest.unsubscribed(hub: hub, key, lingers: lingers, nowMs: nowMs))
    }

    /// Makes the owner run the live query again, even if its result is known to be fresh.
    /// - Returns: the number of the announcement that requests the run; nil if the live query has no subscription.
    package mutating func rerun(_ key: LiveQueryKey, nowMs: Int64) -> (announcement: UInt64, effects: [Effect])? {
        guard let (ask, actions) = interest.rerun(key, nowMs: nowMs) else { return nil }
        return (ask, effects(of: actions))
    }

    // MARK: The inbox

    /// Handles a message, or a loss: then everything is announced again. Ignores answers to announcements that this
    /// process has not made: the inbox may hold some for a former process of this name, whose clock was ahead.
    /// - Parameter fact: from `StreamBatch.forEachInboxFact`.
    package mutating func inboxRead(_ fact: InboxFact, nowMs: Int64) -> [Effect] {
        switch fact {
        case .message(let message):
            if let number = message.answers, number > interest.lastAnnouncement { return [] }
            let effects = effects(of: interest.inboxArrived(message, nowMs: nowMs))
            guard case .result(_, let key, let result, _) = message else { return effects }
            return [.reportResult(key, result)] + effects
        case .probe: return [.reportProbe]
        case .read(let last):
            cursor = last
            return []
        case .lost(let loss):
            // A former process of this name has trimmed what it read.
            let isOfFormer = if case .signal(.trimmed) = loss { cursor == .zero } else { false }
            if case .signal = loss { (cursor, cursorAtTrim) = (.zero, .zero) }
            return (isOfFormer ? [] : [.reportLoss(loss)]) + effects(of: interest.inboxLost(nowMs: nowMs))
        }
    }

    /// - Parameter recorded: the newest recorded epoch of the shard; nil if the database did not answer.
    package mutating func epochRead(_ shard: ShardID, call: UInt64, recorded: UInt64?, nowMs: Int64) -> [Effect] {
        effects(of: interest.epochRead(shard, call: call, recorded: recorded, nowMs: nowMs))
    }

    // MARK: Messages to shards

    /// Begins the batch that `gather` announced.
    package mutating func batchDue() -> [Effect] {
        precondition(appending == nil, "a batch of \(gateway) is due while one is in flight")
        return beginBatch()
    }

    /// Handles the answer to an append; any other answer is ignored.
    /// - Parameter problem: the reason why messages may not have been appended.
    package mutating func batchAppended(_ call: CallID, problem: String?) -> [Effect] {
        guard call == lastCall, let count = appending else { return [] }
        let report = problem.map { [Effect.reportUnsent(count, reason: $0)] } ?? []
        return report + beginBatch()
    }

    private mutating func beginBatch() -> [Effect] {
        let batch = outgoing.nextBatch()
        guard !batch.isEmpty else {
            appending = nil
            return []
        }
        lastCall += 1
        appending = batch.count
        return [.append(lastCall, batch)]
    }

    /// The number of queued messages, including the batch in flight.
    package var outgoingCount: Int { outgoing.totalCount }
    package var isIdle: Bool { outgoing.isIdle }

    mutating func effects(of actions: [InterestMachine.Action]) -> [Effect] {
        var effects: [Effect] = []
        for action in actions {
            switch action {
            case .tell(let shard, let message):
                if outgoing.offer((shard, message), bytes: message.byteCount) == .begin { effects.append(.gather) }
            case .deliver(let hubs, let key, let delivery, let answers):
                effects.append(.deliver(hubs: hubs, key: key, delivery, answers: answers))
            case .readEpoch(let shard, let call): effects.append(.readEpoch(shard, call: call))
            case .forgetPositions(let hubs, let key, let from):
                effects.append(.forgetPositions(hubs: hubs, key: key, from: from))
            case .reportEpoch(let shard, let named, let recorded):
                effects.append(.reportEpoch(shard, named: named, recorded: recorded))
            case .passMarker(let arrived): effects.append(.passMarker(arrived))
            case .appendTicket(let shard, let number):
                effects.append(.appendTicket(shard, WaitTicket(gateway: gateway, number: number)))
            case .answerWait(let hub, let id, let error, let beganAtMs):
                effects.append(.answerWait(hub: hub, id, error, beganAtMs: beganAtMs))
            }
        }
        return effects
    }
}
