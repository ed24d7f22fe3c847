package import LiveModel

/// What a gateway knows of the live queries that its sessions subscribe to: the truth about interest.
///
/// It announces interest to the owning shards and repeats that until answered, keeps the last result per live query,
/// and drops whatever is older than what it has (fencing). It counts subscriptions per *hub*, one hub per event loop;
/// the hub knows the sessions. Facts come in with the time they happened, `Action`s come out.
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
        case failed(RequestError)
    }

    package enum Action: Sendable {
        /// Append to the control stream of the shard.
        case tell(ShardID, ControlMessage)
        /// Hand to the sessions of these hubs.
        case deliver(hubs: [Int], key: LiveQueryKey, Delivery)
    }

    private struct Entry: Sendable {
        let query: LiveQuery
        let shard: ShardID
        /// Subscriptions per hub; a hub without is absent.
        var hubs: [Int: Int] = [:]
        var held: Held = .nothing
        /// Set until the owner answers the last announcement.
        var announcedMs: Int64?
        var retries = 0
        /// When the live query ends, if nobody subscribes until then.
        var lingerUntilMs: Int64?
    }

    private enum Held: Sendable {
        case nothing
        /// A client came back with this; the body is with the client alone.
        case claim(KnownResult)
        case result(LiveResult)

        var known: KnownResult? {
            switch self {
            case .nothing: nil
            case .claim(let known): known
            case .result(let result): KnownResult(digest: result.digest, position: result.position)
            }
        }
    }

    package let gateway: NodeID
    private let settings: Settings
    private let shardOf: @Sendable (OperationReference) -> ShardID
    private var entries: [LiveQueryKey: Entry] = [:]
    /// Shards that were ever told something: they get summaries, also of zero.
    private var shards: [ShardID: (count: Int, fingerprint: UInt64)] = [:]
    /// The newest epoch met per shard: what an older owner still sends is dropped, whatever it is about.
    private var epochs: [ShardID: UInt64] = [:]
    private var nextSummaryMs: Int64 = 0
    private var nextSweepMs: Int64 = 0

    package init(gateway: NodeID, settings: Settings, shardOf: @escaping @Sendable (OperationReference) -> ShardID) {
        self.gateway = gateway
        self.settings = settings
        self.shardOf = shardOf
    }

    // MARK: Subscriptions

    /// One more subscription of `query` on `hub`.
    /// - Parameter known: what the client says it holds.
    /// - Returns: what can be handed to this subscription at once; nil when the owner has to answer first.
    package mutating func subscribed(
        hub: Int, _ query: LiveQuery, known: KnownResult?, nowMs: Int64
    ) throws(RequestError) -> (immediate: Delivery?, actions: [Action]) {
        let key = query.key
        if entries[key] == nil {
            guard entries.count < settings.liveQueriesMax else {
                throw RequestError(.limitExceeded, "this gateway has its maximum of live queries")
            }
            var entry = Entry(query: query, shard: shardOf(query.operation))
            if let known { entry.held = .claim(known) }
            entry.hubs[hub] = 1
            entries[key] = entry
            count(entry, 1)
            return (nil, announce(key, nowMs: nowMs))
        }
        entries[key]?.hubs[hub, default: 0] += 1
        entries[key]?.lingerUntilMs = nil
        guard let entry = entries[key] else { return (nil, []) }
        switch entry.held {
        case .result(let result):
            if let seen = known?.position, seen > result.position {
                // The client has seen newer than this gateway: ask rather than go backwards.
                return (nil, announce(key, nowMs: nowMs))
            }
            if let known, known.position == nil, known.digest != result.digest {
                // Read past the shard, so perhaps newer than what is here: only a run can tell.
                entries[key]?.held = .nothing
                return (nil, announce(key, nowMs: nowMs))
            }
            if known?.digest == result.digest {
                return (.unchanged(digest: result.digest, position: result.position), [])
            }
            return (.result(result), [])
        case .claim(let claim):
            if entry.announcedMs == nil, claim.digest == known?.digest, let position = claim.position {
                return (.unchanged(digest: claim.digest, position: position), [])
            }
            if claim.digest == known?.digest { return (nil, []) }
            // Somebody needs the body now.
            entries[key]?.held = .nothing
            return (nil, announce(key, nowMs: nowMs))
        case .nothing:
            return (nil, entry.announcedMs == nil ? announce(key, nowMs: nowMs) : [])
        }
    }

    /// One subscription less.
    package mutating func unsubscribed(hub: Int, _ key: LiveQueryKey, nowMs: Int64) -> [Action] {
        guard let count = entries[key]?.hubs[hub] else { return [] }
        entries[key]?.hubs[hub] = count > 1 ? count - 1 : nil
        guard entries[key]?.hubs.isEmpty == true else { return [] }
        if settings.lingerMs > 0 {
            entries[key]?.lingerUntilMs = nowMs + settings.lingerMs
            return []
        }
        return end(key)
    }

    private mutating func end(_ key: LiveQueryKey) -> [Action] {
        guard let entry = entries.removeValue(forKey: key) else { return [] }
        count(entry, -1)
        return [.tell(entry.shard, .withdraw(gateway: gateway, key: key))]
    }

    private mutating func count(_ entry: Entry, _ change: Int) {
        shards[entry.shard, default: (0, 0)].count += change
        shards[entry.shard]?.fingerprint ^= entry.query.key.digest.prefix
    }

    private mutating func announce(_ key: LiveQueryKey, nowMs: Int64) -> [Action] {
        guard let entry = entries[key] else { return [] }
        entries[key]?.announcedMs = nowMs
        return [.tell(entry.shard, .announce(gateway: gateway, query: entry.query, known: entry.held.known))]
    }

    // MARK: Inbox

    package mutating func inboxArrived(_ message: InboxMessage, nowMs: Int64) -> [Action] {
        guard isCurrent(message) else { return [] }
        switch message {
        case .result(let shard, let key, let result):
            guard let entry = entries[key], entry.shard == shard else { return [] }
            // Fenced: not newer than what is here. A client's claim does not fence, or a forged one would silence a
            // live query for everybody; each session's own position does.
            if case .result(let held) = entry.held, result.position <= held.position { return [] }
            answered(key)
            entries[key]?.held = .result(result)
            return deliver(entry, .result(result))
        case .unchanged(let shard, let key, let digest, let position):
            guard let entry = entries[key], entry.shard == shard else { return [] }
            guard let known = entry.held.known, known.digest == digest else {
                // The owner believes that something else is held here. An announcement under way tells it better.
                return entry.announcedMs == nil ? announce(key, nowMs: nowMs) : []
            }
            if case .result(let held) = entry.held, position < held.position { return [] }
            answered(key)
            switch entry.held {
            case .result(var result):
                result.position = position
                entries[key]?.held = .result(result)
                return deliver(entry, .result(result))
            case .claim, .nothing:
                entries[key]?.held = .claim(KnownResult(digest: digest, position: position))
                return deliver(entry, .unchanged(digest: digest, position: position))
            }
        case .failed(let shard, let key, let position, let error):
            guard let entry = entries[key], entry.shard == shard else { return [] }
            if case .result(let held) = entry.held, position < held.position { return [] }
            answered(key)
            // The owner forgot what this gateway holds, too: the next result brings its body. What a client said it
            // holds was not confirmed.
            switch entry.held {
            case .claim: entries[key]?.held = .nothing
            // A newcomer must not get as current what the owner says cannot be read any more.
            case .result where !error.code.isRetryable: entries[key]?.held = .nothing
            case .result, .nothing: break
            }
            return deliver(entry, .failed(error))
        case .announceAll(let shard, _):
            var actions: [Action] = []
            for key in entries.keys.sorted(by: { $0.digest.prefix < $1.digest.prefix })
            where entries[key]?.shard == shard { actions += announce(key, nowMs: nowMs) }
            return actions
        }
    }

    /// An owner whose lease another worker took may still send what it read late; it would turn screens back.
    private mutating func isCurrent(_ message: InboxMessage) -> Bool {
        let (shard, epoch): (ShardID, UInt64) =
            switch message {
            case .result(let shard, _, let result): (shard, result.position.epoch)
            case .unchanged(let shard, _, _, let position), .failed(let shard, _, let position, _):
                (shard, position.epoch)
            case .announceAll(let shard, let epoch): (shard, epoch)
            }
        let newest = epochs[shard] ?? 0
        if epoch > newest { epochs[shard] = epoch }
        return epoch >= newest
    }

    /// Entries of the inbox are lost: everything is announced again.
    package mutating func inboxLost(nowMs: Int64) -> [Action] {
        entries.keys.sorted { $0.digest.prefix < $1.digest.prefix }.flatMap { announce($0, nowMs: nowMs) }
    }

    private mutating func answered(_ key: LiveQueryKey) {
        entries[key]?.announcedMs = nil
        entries[key]?.retries = 0
    }

    private func deliver(_ entry: Entry, _ delivery: Delivery) -> [Action] {
        entry.hubs.isEmpty ? [] : [.deliver(hubs: entry.hubs.keys.sorted(), key: entry.query.key, delivery)]
    }

    // MARK: Time

    /// How often `timeReached` wants to be called.
    package static let sweepMs: Int64 = 500

    package mutating func timeReached(nowMs: Int64) -> [Action] {
        guard nowMs >= nextSweepMs else { return [] }
        nextSweepMs = nowMs + Self.sweepMs
        var actions: [Action] = []
        var ended: [LiveQueryKey] = []
        var unanswered: [LiveQueryKey] = []
        for (key, entry) in entries {
            if let until = entry.lingerUntilMs, until <= nowMs {
                ended.append(key)
            } else if let announcedMs = entry.announcedMs {
                let delay = min(
                    settings.announceRetryMaxMs, settings.announceRetryMs << Int64(min(entry.retries, 16)))
                if nowMs >= announcedMs + delay { unanswered.append(key) }
            }
        }
        // In an order of their own: the same facts lead to the same actions in every process.
        for key in ended.sorted(by: { $0.digest.prefix < $1.digest.prefix }) { actions += end(key) }
        for key in unanswered.sorted(by: { $0.digest.prefix < $1.digest.prefix }) {
            entries[key]?.retries += 1
            actions += announce(key, nowMs: nowMs)
        }
        if nowMs >= nextSummaryMs {
            nextSummaryMs = nowMs + settings.summaryMs
            for (shard, interest) in shards.sorted(by: { $0.key < $1.key }) {
                actions.append(
                    .tell(
                        shard, .summary(gateway: gateway, count: interest.count, fingerprint: interest.fingerprint)))
            }
        }
        return actions
    }

    /// The gateway leaves: every shard is told.
    package mutating func leave() -> [Action] {
        let told = shards.keys.sorted()
        entries = [:]
        shards = [:]
        return told.map { .tell($0, .leave(gateway: gateway)) }
    }

    // MARK: What operators see

    package var liveQueryCount: Int { entries.count }
    package var subscriptionCount: Int { entries.values.reduce(0) { $0 + $1.hubs.values.reduce(0, +) } }
    package var awaitingCount: Int { entries.values.count { $0.announcedMs != nil } }
    /// Bytes of the results kept.
    package var resultBytes: Int {
        entries.values.reduce(0) { sum, entry in
            if case .result(let result) = entry.held { sum + result.body.count } else { sum }
        }
    }
}
