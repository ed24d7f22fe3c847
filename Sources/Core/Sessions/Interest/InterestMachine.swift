package import LiveModel
import Pacing

/// What a gateway knows of the live queries that its sessions subscribe to: the truth about interest.
///
/// It announces interest to the owning shards and repeats that until answered, keeps the last result per live query,
/// and drops whatever is older than what it has (fencing). It counts subscriptions per *hub*, one hub per event loop;
/// the hub knows the sessions. Facts come in with the time they happened, `Action`s come out. What becomes of one live
/// query is decided by its `InterestEntry`; this type finds it and addresses what comes of it.
///
/// Messages and unsubscriptions may concern live queries that ended here; they change nothing.
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

        var announceBackoff: Backoff { Backoff(minMs: announceRetryMs, maxMs: announceRetryMaxMs) }

        package init() {}
    }

    /// What a hub hands to its sessions.
    package enum Delivery: Sendable {
        case result(LiveResult)
        /// What the subscriber said it holds is the result; fresh up to the position.
        case unchanged(digest: Digest, position: Position)
        /// A timer's run gave the same result once more; for subscriptions that want to hear of that.
        case unchangedTick(LiveResult)
        case failed(RequestError)
    }

    package enum Action: Sendable {
        /// Append to the control stream of the shard.
        case tell(ShardID, ControlMessage)
        /// Hand to the sessions of these hubs that take what answers this announcement (`Start.fromAnnouncement`).
        case deliver(hubs: [Int], key: LiveQueryKey, Delivery, answers: UInt64)
    }

    /// The answer to a new subscription.
    package struct Start: Sendable {
        /// What can be handed over at once; nil when the owner has to answer first.
        package var immediate: Delivery?
        /// The subscription takes only what answers this announcement or a later one: what its client saw has no order
        /// with anything that is on its way already.
        package var fromAnnouncement: UInt64 = 0
        package var actions: [Action] = []
    }

    package let gateway: NodeID
    private let settings: Settings
    private let placeOf: @Sendable (LiveQuery) -> ShardRoute
    private var table = InterestTable()
    private var lastAnnouncement: UInt64
    private var nextSummaryMs: Int64 = 0
    private var nextSweepMs: Int64 = 0
    /// Moves of live queries to another route since the start.
    package private(set) var movedCount = 0

    /// - Parameters:
    ///   - firstAnnouncement: greater than any announcement's number of a former process under this name.
    ///   - placeOf: where a live query belongs now; after a change, call `placesChanged`.
    package init(
        gateway: NodeID, settings: Settings, firstAnnouncement: UInt64 = 0,
        placeOf: @escaping @Sendable (LiveQuery) -> ShardRoute
    ) {
        self.gateway = gateway
        self.settings = settings
        self.lastAnnouncement = firstAnnouncement
        self.placeOf = placeOf
    }

    // MARK: What operators see

    package var liveQueryCount: Int { table.count }
    package var subscriptionCount: Int { table.totals.subscriptions }
    package var awaitingCount: Int { table.totals.awaiting }
    /// Bytes of the results kept.
    package var resultBytes: Int { table.totals.resultBytes }

    // MARK: Subscriptions

    /// One more subscription of `query` on `hub`.
    /// - Parameters:
    ///   - known: what the client says it holds.
    ///   - reportsTimerRuns: it hears of each timer run, even if the result is the same.
    package mutating func subscribed(
        hub: Int, _ query: LiveQuery, known: KnownResult?, reportsTimerRuns: Bool = false, nowMs: Int64
    ) throws(RequestError) -> Start {
        let (key, next) = (query.key, lastAnnouncement + 1)
        guard table[key] != nil else {
            guard table.count < settings.liveQueriesMax else {
                throw RequestError(.limitExceeded, "too many live queries on this gateway")
            }
            table.insert(
                InterestEntry(
                    query, placeOf(query), hub: hub, known: known, reportsTimerRuns: reportsTimerRuns,
                    nextAnnouncement: next)
            )
            return Start(actions: announce(key, nowMs: nowMs))
        }
        let (mustAnnounce, join) = table.update(key) { entry in
            // The owner must hear of the first subscription that wants timer runs.
            let mustAnnounce = reportsTimerRuns && entry.requestTimerRuns()
            return (mustAnnounce, entry.join(hub: hub, known: known, nextAnnouncement: next))
        }
        switch join {
        case .immediate(let delivery):
            return Start(immediate: delivery, actions: mustAnnounce ? announce(key, nowMs: nowMs) : [])
        case .awaitsAnswer: return Start(actions: mustAnnounce ? announce(key, nowMs: nowMs) : [])
        case .announce: return Start(actions: announce(key, nowMs: nowMs))
        case .announceUnordered: return Start(fromAnnouncement: next, actions: announce(key, nowMs: nowMs))
        }
    }

    /// The owner is to run the live query again, whatever is held of it.
    /// - Returns: the number of the announcement that says so; nil when nobody subscribes to it.
    package mutating func rerun(_ key: LiveQueryKey, nowMs: Int64) -> (announcement: UInt64, actions: [Action])? {
        guard let entry = table[key], entry.hasSubscriptions else { return nil }
        let next = lastAnnouncement + 1
        table.update(key) { $0.requireRun(nextAnnouncement: next) }
        return (next, announce(key, nowMs: nowMs))
    }

    /// One subscription less. Its live query may be gone, because the gateway left.
    package mutating func unsubscribed(hub: Int, _ key: LiveQueryKey, nowMs: Int64) -> [Action] {
        guard table[key] != nil else { return [] }
        let lingerMs = settings.lingerMs
        let isOver = table.update(key) { entry in
            guard entry.leave(hub: hub), !entry.hasSubscriptions else { return false }
            if lingerMs > 0 { entry.linger(untilMs: nowMs + lingerMs) }
            return lingerMs <= 0
        }
        return isOver ? end(key) : []
    }

    private mutating func end(_ key: LiveQueryKey) -> [Action] {
        let entry = table.remove(key)
        return [.tell(entry.route.shard, .withdraw(gateway: gateway, key: key))]
    }

    private mutating func announce(_ key: LiveQueryKey, nowMs: Int64) -> [Action] {
        lastAnnouncement += 1
        let (number, gateway, settings) = (lastAnnouncement, gateway, settings)
        return table.update(key) { entry in
            [.tell(entry.route.shard, entry.announce(number, by: gateway, settings, nowMs: nowMs))]
        }
    }

    /// Operators changed where live queries belong: those that moved are announced on their new route, then withdrawn
    /// from the old shard. What that still sends is dropped from here on.
    package mutating func placesChanged(nowMs: Int64) -> [Action] {
        let placeOf = placeOf
        var actions: [Action] = []
        for key in table.keys(where: { placeOf($0.query) != $0.route }) {
            let next = lastAnnouncement + 1
            let (former, shard) = table.update(key) { entry in
                let former = entry.route.shard
                entry.move(to: placeOf(entry.query), nextAnnouncement: next)
                return (former, entry.route.shard)
            }
            actions += announce(key, nowMs: nowMs)
            if shard != former { actions.append(.tell(former, .withdraw(gateway: gateway, key: key))) }
            movedCount += 1
        }
        return actions
    }

    // MARK: The inbox

    /// An owner of a shard sent a message.
    package mutating func inboxArrived(_ message: InboxMessage, nowMs: Int64) -> [Action] {
        switch message {
        case .result(let shard, let key, let result, let number):
            arrived(shard, epoch: result.position.epoch, key, number, nowMs: nowMs) {
                $0.arrived(result, answering: number)
            }
        case .unchanged(let shard, let key, let digest, let position, let epoch, let number):
            arrived(shard, epoch: epoch, key, number, nowMs: nowMs) {
                $0.confirmed(digest, position, answering: number)
            }
        case .unchangedTick(let shard, let key, let digest, let position, let number):
            arrived(shard, epoch: position.epoch, key, number, nowMs: nowMs) { $0.timerRunArrived(digest, position) }
        case .failed(let shard, let key, let position, let error, let number):
            arrived(shard, epoch: position.epoch, key, number, nowMs: nowMs) {
                $0.failed(error, position, answering: number)
            }
        case .announceAll(let shard, let epoch): announceAll(shard, epoch: epoch, nowMs: nowMs)
        case .settled(let shard, let epoch, let through, let except, let held):
            settled(shard, epoch: epoch, through, except: except, held)
        }
    }

    /// A message about one live query; from a former owner, or about a registration that is over, it changes nothing.
    private mutating func arrived(
        _ shard: ShardID, epoch: UInt64, _ key: LiveQueryKey, _ number: UInt64, nowMs: Int64,
        _ change: (inout InterestEntry) -> InterestEntry.Arrival
    ) -> [Action] {
        guard table.meets(epoch: epoch, of: shard), table[key]?.isAddressed(by: shard, answering: number) == true else {
            return []
        }
        let (arrival, hubs) = table.update(key) { (change(&$0), $0.sortedHubs) }
        return switch arrival {
        case .deliver(let delivery):
            hubs.isEmpty ? [] : [.deliver(hubs: hubs, key: key, delivery, answers: number)]
        case .announce: announce(key, nowMs: nowMs)
        case .awaitsAnswer, .outdated: []
        }
    }

    private mutating func announceAll(_ shard: ShardID, epoch: UInt64, nowMs: Int64) -> [Action] {
        guard table.meets(epoch: epoch, of: shard) else { return [] }
        // Even if nothing is held: summaries tell an owner that remembers a former process of this name.
        table.sendSummaries(to: shard)
        return table.keys(of: shard).flatMap { announce($0, nowMs: nowMs) }
    }

    private mutating func settled(
        _ shard: ShardID, epoch: UInt64, _ through: StreamID, except: [LiveQueryKey], _ held: HeldFingerprint
    ) -> [Action] {
        guard table.meets(epoch: epoch, of: shard) else { return [] }
        table.settle(shard, through: through, except: Set(except), held: held)
        return []
    }

    /// Entries of the inbox are lost: everything is announced again.
    package mutating func inboxLost(nowMs: Int64) -> [Action] {
        table.keys().flatMap { announce($0, nowMs: nowMs) }
    }

    // MARK: Time

    /// How often `timeReached` wants to be called.
    package static let sweepMs: Int64 = 500

    package mutating func timeReached(nowMs: Int64) -> [Action] {
        guard nowMs >= nextSweepMs else { return [] }
        nextSweepMs = nowMs + Self.sweepMs
        var actions: [Action] = []
        while let key = table.takeDue(nowMs: nowMs) {
            if let untilMs = table[key]?.lingerUntilMs, untilMs <= nowMs {
                actions += end(key)
            } else {
                table.update(key) { $0.repeated() }
                actions += announce(key, nowMs: nowMs)
            }
        }
        guard nowMs >= nextSummaryMs else { return actions }
        nextSummaryMs = nowMs + settings.summaryMs
        for (shard, interest) in table.summarizedShards {
            let summary = ControlMessage.summary(
                gateway: gateway, count: interest.keys.count, fingerprint: interest.fingerprint,
                settled: interest.settledThrough)
            actions.append(.tell(shard, summary))
        }
        return actions
    }

    /// The broker is back. Announcements made meanwhile may not have reached it, so everything that waits for an answer
    /// is announced now, rather than at the end of a pause that has grown.
    package mutating func linkRestored(nowMs: Int64) -> [Action] {
        table.keys(where: \.isAwaiting).flatMap { key in
            table.update(key) { $0.forgetRetries() }
            return announce(key, nowMs: nowMs)
        }
    }

    /// The gateway leaves, and says so to every shard that may remember it.
    package mutating func leave() -> [Action] {
        let shards = table.summarizedShards.map(\.shard)
        table.removeAll()
        return shards.map { .tell($0, .leave(gateway: gateway)) }
    }
}
