package import LiveModel
package import Sessions
import Streams

/// A gateway between its event loops and the broker: what it follows (`InterestMachine`), the messages that wait for
/// the shards' control streams, the state of its link, and what it does as time passes.
///
/// Messages enter the queue in the order in which the machine makes them, and leave it one batch at a time. A batch
/// that fails is not sent again: announcements repeat until they are answered, and summaries find the rest.
/// Bound: `outgoingMax` messages; one that finds no room counts as one whose batch failed.
package struct GatewayMachine: Sendable {
    package struct Settings: Sendable {
        package var interest = InterestMachine.Settings()
        /// Messages waiting per live query that a gateway may have: announce, withdraw, announce again, and one to
        /// spare.
        package var messagesPerLiveQueryMax = 4
        /// Messages waiting altogether; nil: by `messagesPerLiveQueryMax`.
        package var outgoingMax: Int?
        /// Time between two calls of `ticked`.
        package var tickMs = InterestMachine.sweepMs
        /// The counts go to the metrics with every so many ticks.
        package var sampleEveryTicks = 20

        package init() {}
    }

    /// The connection to the broker.
    package struct Link: Sendable, Hashable {
        package let isConnected: Bool
        /// Connections made after the first one.
        package let reconnects: Int

        package init(isConnected: Bool, reconnects: Int) {
            self.isConnected = isConnected
            self.reconnects = reconnects
        }
    }

    package struct Counts: Sendable, Hashable {
        package let liveQueries: Int
        package let subscriptions: Int
        /// Live queries whose last announcement has no answer yet.
        package let awaiting: Int
        /// Bytes of the results kept.
        package let resultBytes: Int
        /// Moves of live queries to another shard since the start.
        package let moved: Int
    }

    package enum Effect: Sendable {
        /// Append what `nextBatch` gives to the shards' control streams, and again until it gives nothing.
        case send
        /// Hand to the sessions of these hubs that take what answers this announcement.
        case deliver(hubs: [Int], key: LiveQueryKey, InterestMachine.Delivery, answers: UInt64)
        /// For the metrics.
        case sample(Counts)
    }

    /// A message for a shard's control stream.
    package typealias Outgoing = (shard: ShardID, message: ControlMessage)

    package let settings: Settings
    private var interest: InterestMachine
    private var outgoing: BatchQueue<Outgoing>
    private var ticks = 0
    private var reconnects = 0

    /// - Parameters:
    ///   - firstAnnouncement: greater than the number of any announcement of a former process under this name.
    ///   - placeOf: where a live query belongs now; after a change, call `placesChanged`.
    package init(
        gateway: NodeID, settings: Settings, firstAnnouncement: UInt64,
        placeOf: @escaping @Sendable (LiveQuery) -> ShardRoute
    ) {
        self.settings = settings
        interest = InterestMachine(
            gateway: gateway, settings: settings.interest, firstAnnouncement: firstAnnouncement, placeOf: placeOf)
        let outgoingMax = settings.outgoingMax ?? settings.messagesPerLiveQueryMax * settings.interest.liveQueriesMax
        outgoing = BatchQueue(bytesMax: outgoingMax, batchBytesMax: .max)
    }

    package var gateway: NodeID { interest.gateway }
    package var counts: Counts {
        Counts(
            liveQueries: interest.liveQueryCount, subscriptions: interest.subscriptionCount,
            awaiting: interest.awaitingCount, resultBytes: interest.resultBytes, moved: interest.movedCount)
    }

    // MARK: Life and time

    /// Withdraws what a former process of the same name may have left behind. Before the first subscription.
    package mutating func started(shardCount: Int) -> [Effect] {
        effects(of: (0..<shardCount).map { .tell(ShardID($0), .leave(gateway: gateway)) })
    }

    package mutating func ticked(_ link: Link, nowMs: Int64) -> [Effect] {
        var effects: [Effect] = []
        if link.isConnected, link.reconnects != reconnects {
            reconnects = link.reconnects
            effects += self.effects(of: interest.linkRestored(nowMs: nowMs))
        }
        effects += self.effects(of: interest.timeReached(nowMs: nowMs))
        if ticks % settings.sampleEveryTicks == 0 { effects.append(.sample(counts)) }
        ticks += 1
        return effects
    }

    /// Operators changed where live queries belong.
    package mutating func placesChanged(nowMs: Int64) -> [Effect] {
        effects(of: interest.placesChanged(nowMs: nowMs))
    }

    /// Withdraws all interest; the gateway may stop once `isIdle`.
    package mutating func leave() -> [Effect] { effects(of: interest.leave()) }

    // MARK: Subscriptions

    /// One more subscription of `query` on `hub`.
    /// - Parameters:
    ///   - known: what the client says it holds.
    ///   - reportsTimerRuns: it gets a message for each run of a timer, also when the result is the same.
    /// - Returns: what the subscription begins with; its `actions` are among the effects.
    package mutating func subscribed(
        hub: Int, _ query: LiveQuery, known: KnownResult?, reportsTimerRuns: Bool, nowMs: Int64
    ) throws(RequestError) -> (start: InterestMachine.Start, effects: [Effect]) {
        let start = try interest.subscribed(
            hub: hub, query, known: known, reportsTimerRuns: reportsTimerRuns, nowMs: nowMs)
        return (start, effects(of: start.actions))
    }

    package mutating func unsubscribed(hub: Int, _ key: LiveQueryKey, nowMs: Int64) -> [Effect] {
        effects(of: interest.unsubscribed(hub: hub, key, nowMs: nowMs))
    }

    /// The owner is to run the live query again, even if its result is known to be fresh.
    /// - Returns: the number of the announcement that says so; nil when it has no subscription.
    package mutating func rerun(_ key: LiveQueryKey, nowMs: Int64) -> (announcement: UInt64, effects: [Effect])? {
        guard let (ask, actions) = interest.rerun(key, nowMs: nowMs) else { return nil }
        return (ask, effects(of: actions))
    }

    // MARK: The inbox

    package mutating func inboxArrived(_ message: InboxMessage, nowMs: Int64) -> [Effect] {
        effects(of: interest.inboxArrived(message, nowMs: nowMs))
    }

    /// The inbox lost entries, another server answers, or an entry cannot be read: owners may believe that this gateway
    /// holds what it does not, so everything is announced again.
    package mutating func inboxLost(nowMs: Int64) -> [Effect] { effects(of: interest.inboxLost(nowMs: nowMs)) }

    // MARK: Messages to shards

    /// The next batch; the one before it, if any, is over. Empty: nothing waits until the next `send`.
    package mutating func nextBatch() -> [Outgoing] { outgoing.nextBatch() }

    /// Messages that wait, those of the batch under way included.
    package var outgoingCount: Int { outgoing.bytes }
    package var isIdle: Bool { outgoing.isIdle }

    private mutating func effects(of actions: [InterestMachine.Action]) -> [Effect] {
        var effects: [Effect] = []
        for action in actions {
            switch action {
            case .tell(let shard, let message):
                // Counted in messages.
                if outgoing.offer((shard, message), bytes: 1) == .begin { effects.append(.send) }
            case .deliver(let hubs, let key, let delivery, let answers):
                effects.append(.deliver(hubs: hubs, key: key, delivery, answers: answers))
            }
        }
        return effects
    }
}
