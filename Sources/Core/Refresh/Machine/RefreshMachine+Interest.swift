package import LiveModel

/// What gateways want, and whether what they have still holds.
extension RefreshMachine {
    /// A gateway's message on the shard's control stream.
    package mutating func controlArrived(
        _ shard: ShardID, _ message: ControlMessage, nowMs: Int64
    ) -> [RefreshAction] {
        guard shards[shard] != nil else { return [] }
        switch message {
        case .announce(let gateway, let query, let known, let ask):
            return announce(shard, gateway, query, known, ask, nowMs: nowMs)
        case .withdraw(let gateway, let key):
            if let slot = slots[SlotKey(shard: shard, key: key)] { unsubscribe(gateway, from: slot) }
            forgetRefusal(of: key, by: gateway, in: shard)
            return []
        case .leave(let gateway):
            gatewayGone(gateway, in: shard)
            return []
        case .summary(let gateway, let count, let fingerprint, let known):
            if shards[shard]?.interest[gateway] ?? InterestFingerprint()
                == InterestFingerprint(count: count, fingerprint: fingerprint)
            {
                return known.map { settled(for: gateway, in: shard, after: $0) } ?? []
            }
            // One side is wrong and the gateway owns the truth: forget, then ask.
            gatewayGone(gateway, in: shard)
            return [.send(to: gateway, .announceAll(shard: shard, epoch: shards[shard]?.epoch ?? 0))]
        }
    }

    /// A gateway left the cluster or its heartbeat ended.
    package mutating func gatewayGone(_ gateway: NodeID) {
        for shard in shards.keys { gatewayGone(gateway, in: shard) }
    }

    /// The gateways of a fresh node list. Who has interest and is in neither of two lists in a row is gone: also one
    /// that died before this worker ever saw it in a list and is known from its messages only.
    /// - Returns: the gateways that are gone, and those that the list before did not name. The latter are to be asked for
    ///   their interest: who was cut off does not know that it was forgotten here, or that a shard has a new owner.
    @discardableResult
    package mutating func gatewaysListed(_ listed: Set<NodeID>) -> (gone: [NodeID], new: [NodeID]) {
        let new = listed.subtracting(listedGateways).sorted()
        listedGateways = listed
        let unlisted = Set(shards.values.flatMap(\.interest.keys)).subtracting(listed)
        let gone = unlisted.intersection(unlistedGateways).sorted()
        unlistedGateways = unlisted.subtracting(gone)
        for gateway in gone { gatewayGone(gateway) }
        return (gone, new)
    }

    mutating func gatewayGone(_ gateway: NodeID, in shard: ShardID) {
        guard shards[shard]?.interest[gateway] != nil else { return }
        for slot in shards[shard]?.slots ?? [] { unsubscribe(gateway, from: slot) }
        for key in shards[shard]?.refused.removeValue(forKey: gateway) ?? [] {
            shards[shard]?.interest.remove(key, of: gateway)
        }
    }

    private mutating func forgetRefusal(of key: LiveQueryKey, by gateway: NodeID, in shard: ShardID) {
        if shards[shard]?.refused[gateway]?.remove(key) != nil { shards[shard]?.interest.remove(key, of: gateway) }
    }

    mutating func announce(
        _ shard: ShardID, _ gateway: NodeID, _ query: LiveQuery, _ known: KnownResult?, _ ask: AnnouncementID,
        nowMs: Int64
    ) -> [RefreshAction] {
        guard let runs = shards[shard]?.runs else { return [] }
        if known != nil { shards[shard]?.takeOver.announced += 1 }
        forgetRefusal(of: query.key, by: gateway, in: shard)
        let slotKey = SlotKey(shard: shard, key: query.key)
        var subscriber = LiveQueryState.Subscriber(digest: known?.digest, awaitsAnswer: true, ask: ask.number)
        if ask.isFresh { subscriber.afterRun = runs }
        subscriber.wantsTicks = ask.wantsTicks
        if let slot = slots[slotKey], let state = states[slot] {
            if let former = state.subscribers[gateway] {
                // A plain announcement does not take back that an earlier one wanted a later run.
                if former.awaitsAnswer { subscriber.afterRun = max(subscriber.afterRun, former.afterRun) }
            } else {
                shards[shard]?.interest.insert(query.key, of: gateway)
            }
            states[slot]?.subscribers[gateway] = subscriber
            if case .judged = state.phase, !ask.isFresh, let known, known.digest == state.digest {
                let newer = state.position.map { newerRank(of: $0, or: known, in: shard) }
                states[slot]?.position = newer
                return []
            }
            if !ask.isFresh, case .idle = state.phase, let digest = state.digest, digest == known?.digest,
                let position = state.position, isAfter(subscriber.afterRun, position, in: shard)
            {
                states[slot]?.subscribers[gateway]?.awaitsAnswer = false
                shards[shard]?.takeOver.kept += 1
                // Idle: no event that is applied touched it.
                let fresh = position.through(shards[shard]?.lastEventID ?? position.id)
                let newer = newerRank(of: fresh, or: known, in: shard)
                return [unchanged(query.key, digest, at: newer, in: shard, to: gateway, answers: ask.number)]
            }
            triggerUnlessPending(slot, isPaced: known != nil, nowMs: nowMs)
            return dispatch(nowMs: nowMs)
        }
        let queryRules: QueryRules
        do throws(RequestError) {
            guard states.count < settings.liveQueriesMax else {
                throw RequestError(.limitExceeded, "this worker has its maximum of live queries")
            }
            queryRules = try rules(query)
        } catch {
            // The gateway counts it among its interest; not to know it would look like a lost announcement.
            shards[shard]?.refused[gateway, default: []].insert(query.key)
            shards[shard]?.interest.insert(query.key, of: gateway)
            let position = Position(
                epoch: shards[shard]?.epoch ?? 0, run: runs, id: shards[shard]?.lastEventID ?? .zero)
            return [
                .send(
                    to: gateway,
                    .failed(shard: shard, key: query.key, position: position, error: error, answers: ask.number))
            ]
        }
        let slot = takeSlot()
        slots[slotKey] = slot
        shards[shard]?.slots.insert(slot)
        var state = LiveQueryState(
            query: query, shard: shard, everyMs: queryRules.everyMs,
            lane: queryRules.asksOtherServers ? .remote : .local)
        state.subscribers[gateway] = subscriber
        shards[shard]?.interest.insert(query.key, of: gateway)
        states[slot] = state
        shards[shard]?.phases[state.phase.name] += 1
        indexes[shard, default: RuleIndex()].insert(slot, rules: queryRules)
        scheduleInterval(slot, nowMs: nowMs)
        if let known, let read = known.position, !ask.isFresh {
            let freshness = freshness(of: known, rules: queryRules, in: shard)
            if freshness != .doubtful {
                states[slot]?.digest = known.digest
                states[slot]?.position = Position(epoch: read.epoch, run: read.run, id: read.id)
                if freshness == .fresh { return keep(slot, nowMs: nowMs) }
                judgeLater(slot, nowMs: nowMs)
                return []
            }
        }
        // Somebody's screen is empty, or it shows what may be old: the first goes before the second.
        trigger(slot, cause: .none, isPaced: known != nil, nowMs: nowMs)
        return dispatch(nowMs: nowMs)
    }

    func unchanged(
        _ key: LiveQueryKey, _ digest: Digest, at position: Position, in shard: ShardID, to gateway: NodeID,
        answers: UInt64
    ) -> RefreshAction {
        .send(
            to: gateway,
            .unchanged(
                shard: shard, key: key, digest: digest, position: position, epoch: shards[shard]?.epoch ?? 0,
                answers: answers))
    }

    /// The same content may have been read twice; who holds the later reading must not be told of the earlier one.
    func newerRank(of position: Position, or known: KnownResult?, in shard: ShardID) -> Position {
        guard let read = known?.position, isCredible(read, in: shard), read > position else { return position }
        return Position(epoch: read.epoch, run: read.run, id: position.id)
    }

    /// Whether this owner or one before it can have given out the position. Clients bring them along, so they may be
    /// forged, and one that is too high would silence a live query.
    func isCredible(_ position: Position, in shard: ShardID) -> Bool {
        guard let shard = shards[shard] else { return false }
        return position.epoch < shard.epoch || position.epoch == shard.epoch && position.run <= shard.runs
    }

    /// Whether what was read at `position` satisfies a subscriber that wants a run of this owner after `run`.
    func isAfter(_ run: UInt64, _ position: Position, in shard: ShardID) -> Bool {
        run == 0 || position.epoch == shards[shard]?.epoch && position.run > run
    }

    enum Freshness {
        /// Nothing relevant happened since.
        case fresh
        /// Nothing that is remembered, but it may be that something happened before.
        case older
        case doubtful
    }

    /// Whether anything relevant happened since `known` was read. Any doubt says so: a run with the known digest is
    /// cheap, a stale screen is not.
    func freshness(of known: KnownResult, rules: QueryRules, in shard: ShardID) -> Freshness {
        guard let position = known.position, rules.everyMs == nil, isCredible(position, in: shard),
            let shard = shards[shard]
        else { return .doubtful }
        guard position.epoch >= shard.trustedEpoch, position.id >= shard.lossFloor, position.id <= shard.lastEventID,
            !shard.history.concerns(rules, after: position.id)
        else { return .doubtful }
        return position.id >= shard.history.floor ? .fresh : .older
    }

    mutating func unsubscribe(_ gateway: NodeID, from slot: Int32) {
        guard states[slot]?.subscribers.removeValue(forKey: gateway) != nil, let state = states[slot] else { return }
        shards[state.shard]?.interest.remove(state.query.key, of: gateway)
        if states[slot]?.subscribers.isEmpty == true { drop(slot) }
    }
}
