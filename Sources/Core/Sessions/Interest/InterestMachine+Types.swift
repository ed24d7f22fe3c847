package import LiveModel
import Pacing

extension InterestMachine {
    package struct Settings: Sendable {
        /// Time after which an unanswered announcement is repeated, doubling up to `announceRetryMaxMs`.
        package var announceRetryMs: Int64 = 2_000
        package var announceRetryMaxMs: Int64 = 30_000
        /// Time for which a live query without subscriptions is kept, because the next long-poll may be on its way.
        package var lingerMs: Int64 = 30_000
        /// Time between two summaries to each shard (anti-entropy).
        package var summaryMs: Int64 = 10_000
        /// The limit on live queries of this gateway. Those without subscriptions make room; otherwise a further
        /// subscription is refused.
        package var liveQueriesMax = 200_000
        /// Time after which subscribers whose live query no owner has answered get an error; 0: never.
        package var answerMaxMs: Int64 = 30_000
        /// The shards of the cluster, to which live queries are routed; messages that name others are refused.
        package var shardCount = 64
        /// The interval of markers, by which the gateway knows of those that it lacks; 0: there are none.
        package var markerEveryMs: Int64 = 10_000
        /// The age of a missing marker beyond which its shard is reported as late.
        package var markerLateMs: Int64 = 30_000

        /// The limit on waits of this gateway's sessions; more are refused.
        package var waitsMax = 10_000
        /// The time that a wait may take.
        package var waitTimeoutMs: Int64 = 10_000
        /// The time after which a ticket that has not come back is appended again.
        package var ticketRepeatMs: Int64 = 1_000

        var announceBackoff: Backoff { Backoff(minMs: announceRetryMs, maxMs: announceRetryMaxMs) }

        package init() {}
    }

    /// A delivery from a hub to its sessions.
    package enum Delivery: Sendable {
        case result(LiveResult)
        /// The result that the subscriber holds is current, up to the position.
        case unchanged(digest: Digest, position: Position)
        /// A timer run found the same result; for subscriptions that request such runs.
        case unchangedTick(LiveResult)
        case failed(RequestError)
        /// No owner has answered in time; for subscriptions without any answer. They stay open.
        case unanswered(RequestError)
    }

    package enum Action: Sendable {
        /// Append to the control stream of the shard.
        case tell(ShardID, ControlMessage)
        /// Deliver to the sessions of these hubs that accept answers to this announcement (`Start.fromAnnouncement`).
        case deliver(hubs: [Int], key: LiveQueryKey, Delivery, answers: UInt64)
        /// Read the newest recorded epoch of the shard and answer with `epochRead`.
        case readEpoch(ShardID, call: UInt64)
        /// Forget the positions of these hubs' subscriptions (`SubscriptionTable.forgetPositions`).
        case forgetPositions(hubs: [Int], key: LiveQueryKey, from: UInt64)
        /// Report to operators that messages named an epoch that was not the recorded one.
        case reportEpoch(ShardID, named: UInt64, recorded: UInt64)
        /// Pass the marker to every hub after the deliveries before it; when all of them have it, call `markerTaken`.
        case passMarker(ArrivedMarker)
        /// Append the gateway's ticket of this number to the events stream of the shard.
        case appendTicket(ShardID, number: UInt64)
        /// Tell the session of this hub that its wait is over, after the deliveries before it.
        case answerWait(hub: Int, WaitID, RequestError?, beganAtMs: Int64)
    }

    /// Identifies a wait of a session for what was committed before it.
    package typealias WaitID = UInt64

    /// A marker for which no live query of its shard need be waited any longer.
    package struct ArrivedMarker: Sendable, Hashable {
        package let shard: ShardID
        package let marker: LagMarker
        /// When it was read from the inbox, by the gateway's clock.
        package let arrivedAtMs: Int64
    }

    /// The result that a gateway holds of a live query, as operators see it.
    package struct HeldReport: Sendable {
        package let query: LiveQuery
        package let shard: ShardID
        package let digest: Digest?
        package let position: Position?
        package let bytes: Int
        package let subscriptions: Int
        /// Whether the owner has yet to answer the last announcement.
        package let isAwaitingOwner: Bool
        /// When it ends unless it gets a subscription again; nil while it has one.
        package let lingersUntilMs: Int64?
    }

    package func held(_ key: LiveQueryKey) -> HeldReport? {
        guard let entry = table[key] else { return nil }
        return HeldReport(
            query: entry.query, shard: entry.route.shard, digest: entry.held.known?.digest,
            position: entry.held.known?.position, bytes: entry.resultBytes, subscriptions: entry.subscriptionCount,
            isAwaitingOwner: entry.isAwaiting, lingersUntilMs: entry.lingerUntilMs)
    }

    /// The answer to a new subscription.
    package struct Start: Sendable {
        /// The delivery that is available at once; nil if the owner must answer first.
        package var immediate: Delivery?
        /// The first announcement whose answers the subscription accepts: its client's result is not comparable with
        /// messages that are already in transit.
        package var fromAnnouncement: UInt64 = 0
        /// The announcement from which on answers are accepted even if older than the position that the client reports:
        /// a position that no owner assigned would exclude every answer.
        package var fencedUntil = UInt64.max
        package var actions: [Action] = []
    }
}
