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

    private typealias Entry = InterestEntry

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
    private let settings: Settings
    private let placeOf: @Sendable (LiveQuery) -> ShardPlace
    private var entries: [LiveQueryKey: Entry] = [:]
    private var lastAsk: UInt64
    /// Shards that were ever told something: they get summaries, also of zero.
    private var shards: [ShardID: (count: Int, fingerprint: UInt64)] = [:]
    /// The newest epoch met per shard: what an older owner still sends is dropped, whatever it is about.
    private var epochs: [ShardID: UInt64] = [:]
    private var nextSummaryMs: Int64 = 0
    private var nextSweepMs: Int64 = 0

    /// - Parameters:
    ///   - firstAsk: greater than any announcement's number of a former process under this name.
    ///   - placeOf: where a live query belongs now; after a change, call `placesChanged`.
    package init(
        gateway: NodeID, settings: Settings, firstAsk: UInt64 = 0,
        placeOf: @escaping @Sendable (LiveQuery) -> ShardPlace
    ) {
        self.gateway = gateway
        self.settings = settings
        self.lastAsk = firstAsk
        self.placeOf = placeOf
    }

    // MARK: Subscriptions

    /// One more subscription of `query` on `hub`.
    /// - Parameters:
    ///   - known: what the client says it holds.
    ///   - wantsTicks: it is told of each run of a timer, also when the result is the same.
    package mutating func subscribed(
        hub: Int, _ query: LiveQuery, known: KnownResult?, wantsTicks: Bool = false, nowMs: Int64
    ) throws(RequestError) -> Start {
        let key = query.key
        guard wantsTicks, let entry = entries[key], !entry.wantsTicks else {
            return try join(hub: hub, query, known: known, wantsTicks: wantsTicks, nowMs: nowMs)
        }
        // The first who wants it here: the owner has to know.
        entries[key]?.wantsTicks = true
        var start = try join(hub: hub, query, known: known, wantsTicks: true, nowMs: nowMs)
        if start.actions.isEmpty { start.actions = announce(key, nowMs: nowMs) }
        return start
    }

    /// The owner is to run the live query anew, whatever is held of it.
    /// - Returns: the number of the announcement that says so; nil when nobody subscribes to it.
    package mutating func rerun(_ key: LiveQueryKey, nowMs: Int64) -> (ask: UInt64, actions: [Action])? {
        guard let entry = entries[key], !entry.hubs.isEmpty else { return nil }
        let ask = lastAsk + 1
        entries[key]?.freshAsk = ask
        return (ask, announce(key, nowMs: nowMs))
    }

    private mutating func join(
        hub: Int, _ query: LiveQuery, known: KnownResult?, wantsTicks: Bool, nowMs: Int64
    ) throws(RequestError) -> Start {
        let key = query.key
        if entries[key] == nil {
            guard entries.count < settings.liveQueriesMax else {
                throw RequestError(.limitExceeded, "this gateway has its maximum of live queries")
            }
            var entry = Entry(query: query, place: placeOf(query))
            if let known { entry.held = .claim(known) }
            entry.hubs[hub] = 1
            entry.wantsTicks = wantsTicks
            entry.firstAsk = lastAsk + 1
            if let known, known.position?.placement != entry.place.version { entry.freshAsk = entry.firstAsk }
            entries[key] = entry
            count(entry, 1)
            return Start(actions: announce(key, nowMs: nowMs))
        }
        entries[key]?.hubs[hub, default: 0] += 1
        entries[key]?.lingerUntilMs = nil
        guard let entry = entries[key] else { return Start() }
        switch entry.held {
        case .result(let result):
            guard let known else { return Start(immediate: .result(result)) }
            let unchanged = Delivery.unchanged(digest: result.digest, position: result.position)
            guard let seen = known.position, seen.isOrdered(with: result.position) else {
                return known.digest == result.digest
                    ? Start(immediate: unchanged) : joinUnordered(key, entry, known, nowMs: nowMs)
            }
            // The client has seen newer than this gateway: ask rather than go backwards. A run has to tell: an owner
            // that has not heard of the newer one's cause yet would say that what is held here still holds.
            if seen > result.position {
                // What comes from a new place has no order with what the client saw, and may have been run before it.
                guard seen.placement == entry.place.version else {
                    return joinUnordered(key, entry, known, nowMs: nowMs)
                }
                if entry.freshAsk == nil { entries[key]?.freshAsk = lastAsk + 1 }
                return Start(actions: announce(key, nowMs: nowMs))
            }
            return Start(immediate: known.digest == result.digest ? unchanged : .result(result))
        case .claim(let claim):
            if entry.announcedMs == nil, claim.digest == known?.digest, let position = claim.position {
                return Start(immediate: .unchanged(digest: claim.digest, position: position))
            }
            if let known, known.position?.placement != entry.place.version {
                return joinUnordered(key, entry, known, nowMs: nowMs)
            }
            if claim.digest == known?.digest { return Start() }
            // Somebody needs the body now.
            entries[key]?.held = .nothing
            return Start(actions: announce(key, nowMs: nowMs))
        case .nothing:
            if let known { return joinUnordered(key, entry, known, nowMs: nowMs) }
            return Start(actions: entry.announcedMs == nil ? announce(key, nowMs: nowMs) : [])
        }
    }

    /// A client joins whose result has no order with what is held here. One that comes from this place has an order
    /// with what is on its way; of any other only a run tells that starts from now on.
    private mutating func joinUnordered(
        _ key: LiveQueryKey, _ entry: Entry, _ known: KnownResult, nowMs: Int64
    ) -> Start {
        if known.position?.placement == entry.place.version {
            return Start(actions: entry.announcedMs == nil ? announce(key, nowMs: nowMs) : [])
        }
        // The answer may be that a claim still holds, which brings no body.
        if case .claim(let claim) = entry.held, claim.digest != known.digest { entries[key]?.held = .nothing }
        let ask = lastAsk + 1
        entries[key]?.freshAsk = ask
        return Start(fromAsk: ask, actions: announce(key, nowMs: nowMs))
    }

    // MARK: Places

    /// Operators changed where live queries belong: those that moved are announced at their new place, then withdrawn
    /// at the old one. What the old one still sends is dropped from here on.
    package mutating func placesChanged(nowMs: Int64) -> [Action] {
        var actions: [Action] = []
        let moved = entries.compactMap { key, entry in
            let place = placeOf(entry.query)
            return place == entry.place ? nil : (key: key, place: place)
        }
        for (key, place) in moved.sorted(by: { $0.key.digest.prefix < $1.key.digest.prefix }) {
            guard let entry = entries[key] else { continue }
            count(entry, -1)
            entries[key]?.place = place
            entries[key]?.firstAsk = lastAsk + 1
            entries[key]?.freshAsk = lastAsk + 1
            entries[key]?.retries = 0
            if let moved = entries[key] { count(moved, 1) }
            actions += announce(key, nowMs: nowMs)
            if place.shard != entry.place.shard {
                actions.append(.tell(entry.place.shard, .withdraw(gateway: gateway, key: key)))
            }
            movedCount += 1
        }
        return actions
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
        return [.tell(entry.place.shard, .withdraw(gateway: gateway, key: key))]
    }

    private mutating func count(_ entry: Entry, _ change: Int) {
        shards[entry.place.shard, default: (0, 0)].count += change
        shards[entry.place.shard]?.fingerprint ^= entry.query.key.digest.prefix
    }

    private mutating func announce(_ key: LiveQueryKey, nowMs: Int64) -> [Action] {
        guard let entry = entries[key] else { return [] }
        entries[key]?.announcedMs = nowMs
        lastAsk += 1
        let ask = Ask(number: lastAsk, isFresh: entry.freshAsk != nil, wantsTicks: entry.wantsTicks)
        return [
            .tell(
                entry.place.shard,
                .announce(gateway: gateway, query: entry.query, known: entry.knownToOwner, ask: ask))
        ]
    }

    // MARK: Inbox

    package mutating func inboxArrived(_ message: InboxMessage, nowMs: Int64) -> [Action] {
        guard isCurrent(message) else { return [] }
        switch message {
        case .result(let shard, let key, var result, let answers):
            guard let entry = entry(key, of: shard, answers) else { return [] }
            result.position.placement = entry.place.version
            // Fenced: not newer than what is here. A client's claim does not fence, or a forged one would silence a
            // live query for everybody; each session's own position does.
            if case .result(let held) = entry.held, held.position == result.position || entry.isOlder(result.position) {
                return []
            }
            answered(key, answers)
            entries[key]?.held = .result(result)
            return deliver(entry, .result(result), answers)
        case .unchanged(let shard, let key, let digest, var position, _, let answers):
            guard let entry = entry(key, of: shard, answers) else { return [] }
            position.placement = entry.place.version
            guard let known = entry.held.known, known.digest == digest else {
                // The owner believes that something else is held here. An announcement under way tells it better.
                return entry.announcedMs == nil ? announce(key, nowMs: nowMs) : []
            }
            if entry.isOlder(position) { return [] }
            answered(key, answers)
            switch entry.held {
            case .result(var result):
                result.position = position
                entries[key]?.held = .result(result)
                return deliver(entry, .result(result), answers)
            case .claim, .nothing:
                entries[key]?.held = .claim(KnownResult(digest: digest, position: position))
                return deliver(entry, .unchanged(digest: digest, position: position), answers)
            }
        case .ticked(let shard, let key, let digest, var position, let answers):
            guard let entry = entry(key, of: shard, answers), case .result(var held) = entry.held, held.digest == digest
            else { return [] }
            position.placement = entry.place.version
            if entry.isOlder(position) { return [] }
            held.position = position
            entries[key]?.held = .result(held)
            return deliver(entry, .again(held), answers)
        case .failed(let shard, let key, let position, let error, let answers):
            guard let entry = entry(key, of: shard, answers) else { return [] }
            if entry.isOlder(position.at(placement: entry.place.version)) { return [] }
            // A run that is still wanted stays wanted: another owner must not answer from what it finds.
            answered(key, answers, isRun: false)
            // The owner forgot what this gateway holds, too: the next result brings its body. What a client said it
            // holds was not confirmed.
            switch entry.held {
            case .claim: entries[key]?.held = .nothing
            // A newcomer must not get as current what the owner says cannot be read any more.
            case .result where !error.code.isRetryable: entries[key]?.held = .nothing
            case .result, .nothing: break
            }
            return deliver(entry, .failed(error), answers)
        case .announceAll(let shard, _):
            var actions: [Action] = []
            for key in entries.keys.sorted(by: { $0.digest.prefix < $1.digest.prefix })
            where entries[key]?.place.shard == shard { actions += announce(key, nowMs: nowMs) }
            return actions
        }
    }

    /// The live query a message is about, unless that comes from a registration which is over.
    private func entry(_ key: LiveQueryKey, of shard: ShardID, _ answers: UInt64) -> Entry? {
        guard let entry = entries[key], entry.place.shard == shard, answers >= entry.firstAsk else { return nil }
        return entry
    }

    /// An owner whose lease another worker took may still send what it read late; it would turn screens back.
    private mutating func isCurrent(_ message: InboxMessage) -> Bool {
        let (shard, epoch): (ShardID, UInt64) =
            switch message {
            case .result(let shard, _, let result, _): (shard, result.position.epoch)
            case .unchanged(let shard, _, _, _, let epoch, _): (shard, epoch)
            case .ticked(let shard, _, _, let position, _), .failed(let shard, _, let position, _, _):
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

    private mutating func answered(_ key: LiveQueryKey, _ answers: UInt64, isRun: Bool = true) {
        // What was on its way before the run that was asked for is no answer.
        if let freshAsk = entries[key]?.freshAsk, answers < freshAsk { return }
        entries[key]?.announcedMs = nil
        entries[key]?.retries = 0
        if isRun { entries[key]?.freshAsk = nil }
    }

    private func deliver(_ entry: Entry, _ delivery: Delivery, _ answers: UInt64) -> [Action] {
        entry.hubs.isEmpty
            ? [] : [.deliver(hubs: entry.hubs.keys.sorted(), key: entry.query.key, delivery, answers: answers)]
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
    /// Moves of live queries to another place since the start.
    package private(set) var movedCount = 0
    package var subscriptionCount: Int { entries.values.reduce(0) { $0 + $1.hubs.values.reduce(0, +) } }
    package var awaitingCount: Int { entries.values.count { $0.announcedMs != nil } }
    /// Bytes of the results kept.
    package var resultBytes: Int {
        entries.values.reduce(0) { sum, entry in
            if case .result(let result) = entry.held { sum + result.body.count + result.entities.count } else { sum }
        }
    }
}
