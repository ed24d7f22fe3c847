package import LiveModel

/// What a gateway knows of the live queries that its sessions subscribe to: the truth about interest.
///
/// It announces interest to the owning shards and repeats that until answered, keeps the last result per live query,
/// and drops whatever is older than what it has (fencing). It counts subscriptions per *hub*, one hub per event loop;
/// the hub knows the sessions. Facts come in with the time they happened, `Action`s come out.
/// One machine in several files: its state is here, what changes it stands beside it.
package struct InterestMachine: Sendable {
    package struct Settings: Sendable {
        /// An announcement without an answer is repeated after this, doubling up to `announceRetryMaxMs`.
        package var announceRetryMs: Int64 = 2_000
        package var announceRetryMaxMs: Int64 = 30_000
        /// A live query without subscriptions is kept this long: the next long-poll may be on its way.
        package var lingerMs: Int64 = 30_000
        /// Time between two summaries to each shard (anti-entropy).
        package var summaryMs: Int64 = 10_000
        /// Live queries of this gateway; a further subscription is refused.
        package var liveQueriesMax = 200_000

        package init() {}
    }

    /// What a hub hands to its sessions.
    package enum Delivery: Sendable {
        case result(LiveResult)
        /// What the subscriber said it holds is the result; fresh up to the position.
        case unchanged(digest: Digest, position: Position)
        /// A timer's run gave the same result once more; for subscriptions that want to hear of that.
        case again(LiveResult)
        case failed(RequestError)
    }

    package enum Action: Sendable {
        /// Append to the control stream of the shard.
        case tell(ShardID, ControlMessage)
        /// Hand to the sessions of these hubs that take what answers this announcement (`Start.fromAsk`).
        case deliver(hubs: [Int], key: LiveQueryKey, Delivery, answers: UInt64)
    }

    typealias Entry = InterestEntry

    /// The answer to a new subscription.
    package struct Start: Sendable {
        /// What can be handed over at once; nil when the owner has to answer first.
        package var immediate: Delivery?
        /// The subscription takes only what answers this announcement or a later one: what its client saw has no order
        /// with anything that is on its way already.
        package var fromAsk: UInt64 = 0
        package var actions: [Action] = []
    }

    package let gateway: NodeID
    let settings: Settings
    let placeOf: @Sendable (LiveQuery) -> ShardRoute
    var entries = InterestTable()
    var lastAsk: UInt64
    /// Shards that were ever told something: they get summaries, also of zero.
    var shards: [ShardID: (count: Int, fingerprint: UInt64)] = [:]
    /// Up to where what is held of a shard was last known to be fresh; at most one for each shard.
    var settledThrough: [ShardID: StreamID] = [:]
    /// The newest epoch met per shard: what an older owner still sends is dropped, whatever it is about.
    var epochs: [ShardID: UInt64] = [:]
    var nextSummaryMs: Int64 = 0
    var nextSweepMs: Int64 = 0

    /// - Parameters:
    ///   - firstAsk: greater than any announcement's number of a former process under this name.
    ///   - placeOf: where a live query belongs now; after a change, call `placesChanged`.
    package init(
        gateway: NodeID, settings: Settings, firstAsk: UInt64 = 0,
        placeOf: @escaping @Sendable (LiveQuery) -> ShardRoute
    ) {
        self.gateway = gateway
        self.settings = settings
        self.lastAsk = firstAsk
        self.placeOf = placeOf
    }

    // MARK: What operators see

    package var liveQueryCount: Int { entries.count }
    /// Moves of live queries to another place since the start.
    package internal(set) var movedCount = 0
    package var subscriptionCount: Int { entries.totals.subscriptions }
    package var awaitingCount: Int { entries.totals.awaiting }
    /// Bytes of the results kept.
    package var resultBytes: Int { entries.totals.resultBytes }
}
