package import LiveModel

/// Subscriptions that come and go, and what they get at once.
extension InterestMachine {
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

    mutating func join(
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
            if !entry.isAwaiting, claim.digest == known?.digest, let position = claim.position {
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
            return Start(actions: !entry.isAwaiting ? announce(key, nowMs: nowMs) : [])
        }
    }

    /// A client joins whose result has no order with what is held here. One that comes from this place has an order
    /// with what is on its way; of any other only a run tells that starts from now on.
    mutating func joinUnordered(
        _ key: LiveQueryKey, _ entry: Entry, _ known: KnownResult, nowMs: Int64
    ) -> Start {
        if known.position?.placement == entry.place.version {
            return Start(actions: !entry.isAwaiting ? announce(key, nowMs: nowMs) : [])
        }
        // The answer may be that a claim still holds, which brings no body.
        if case .claim(let claim) = entry.held, claim.digest != known.digest { entries[key]?.held = .nothing }
        let ask = lastAsk + 1
        entries[key]?.freshAsk = ask
        return Start(fromAsk: ask, actions: announce(key, nowMs: nowMs))
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

    mutating func end(_ key: LiveQueryKey) -> [Action] {
        guard let entry = entries[key] else { return [] }
        entries[key] = nil
        count(entry, -1)
        return [.tell(entry.place.shard, .withdraw(gateway: gateway, key: key))]
    }

    mutating func count(_ entry: Entry, _ change: Int) {
        shards[entry.place.shard, default: (0, 0)].count += change
        shards[entry.place.shard]?.fingerprint ^= entry.query.key.digest.prefix
    }

    mutating func announce(_ key: LiveQueryKey, nowMs: Int64) -> [Action] {
        guard let entry = entries[key] else { return [] }
        let delayMs = min(
            settings.announceRetryMaxMs, settings.announceRetryMs << Int64(min(entry.retries, 16)))
        entries[key]?.repeatAtMs = nowMs + max(1, delayMs)
        lastAsk += 1
        let ask = AnnouncementID(number: lastAsk, isFresh: entry.freshAsk != nil, wantsTicks: entry.wantsTicks)
        return [
            .tell(
                entry.place.shard,
                .announce(gateway: gateway, query: entry.query, known: entry.knownToOwner, ask: ask))
        ]
    }
}
