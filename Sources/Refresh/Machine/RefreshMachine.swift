package import LiveModel

/// Decides, for every shard that a worker owns, which live query runs when and who gets what.
///
/// Long because it is one exhaustive machine; its parts (index, queue, timers) stand in files of their own. Calls are
/// facts in the past tense with the time they happened; what is to be done comes out as `RefreshAction`s. Nothing here
/// knows a clock, a socket or a task.
///
/// The order that makes it safe: a live query enters the rule index *before* its first run is asked for, and a run is
/// fresh up to the events applied *before* it started. So an event is either covered by the run, or it marks the live
/// query dirty and one more run follows.
package struct RefreshMachine: Sendable {
    package typealias RulesProvider = @Sendable (LiveQuery) throws(RequestError) -> QueryRules

    package let settings: RefreshSettings
    private let rules: RulesProvider
    private var index = RuleIndex()
    private var shards: [ShardID: ShardState] = [:]
    private var states: [Int32: LiveQueryState] = [:]
    /// A live query may stand at two shards of one worker while its operation's splits change.
    private var slots: [SlotKey: Int32] = [:]
    private var due = DueQueue()
    private var paced = DueQueue()
    private var pace: Pace
    private var pacedBatches: Set<UInt64> = []
    /// Of shards that are gone, too.
    private var formerTakeOver = TakeOverCounts()
    private var timers = TimerHeap()
    private var nextSlot: Int32 = 0
    private var nextBatch: UInt64 = 0
    private var runsInFlight = 0
    private var conditionErrors: [Trigger.ID: UInt64] = [:]
    /// Live queries per gateway that has any.
    private var interestCounts: [NodeID: Int] = [:]
    /// Those of them that the last node list did not name.
    private var unlistedGateways: Set<NodeID> = []

    private struct SlotKey: Hashable {
        let shard: ShardID
        let key: LiveQueryKey
    }

    /// - Parameter rules: the compiled rules of a live query; throws when this worker does not know the stored
    ///   operation in that version, or its variables cannot be used.
    package init(settings: RefreshSettings, rules: @escaping RulesProvider) {
        self.settings = settings
        self.rules = rules
        self.pace = Pace(
            perSecond: settings.pacedRunsPerSecond, burst: min(settings.batchMax, settings.pacedRunsPerSecond))
    }

    // MARK: Ownership

    /// The lease of `shard` was taken under `epoch`. Next, every gateway is asked to announce its interest.
    /// - Parameters:
    ///   - lastEventID: last id that the shard's event stream ever gave out.
    ///   - history: the last entries of that stream, oldest first, without a hole up to `lastEventID`.
    ///   - trustedEpoch: results of earlier epochs may lack events that the broker's former server lost.
    package mutating func shardAcquired(
        _ shard: ShardID, epoch: UInt64, lastEventID: StreamID, history: [(StreamID, MutationEvent)],
        trustedEpoch: UInt64 = 0, nowMs: Int64
    ) {
        _ = shardLost(shard)
        var state = ShardState(
            epoch: epoch, trustedEpoch: trustedEpoch, ownedSinceMs: nowMs, lastEventID: lastEventID,
            // An empty stream may be a new one after a loss: nothing is judged before its first event.
            historyFloor: history.first?.0 ?? (lastEventID == .zero ? .max : lastEventID))
        for (id, event) in history.suffix(settings.historyMax) { state.history.append(.init(id: id, event: event)) }
        if history.count > settings.historyMax { state.historyFloor = state.history.first?.id ?? lastEventID }
        state.takeOver.replayed = UInt64(state.history.count)
        shards[shard] = state
    }

    /// The lease is gone, given up or not renewed in time: nothing of this shard may be sent any more.
    /// - Returns: how many live queries it had.
    @discardableResult
    package mutating func shardLost(_ shard: ShardID) -> Int {
        guard let state = shards.removeValue(forKey: shard) else { return 0 }
        formerTakeOver += state.takeOver
        for slot in state.slots { drop(slot) }
        return state.slots.count
    }

    // MARK: Events

    /// Entries of a shard's event stream, in stream order. `nil` stands for an entry that could not be read: since
    /// nobody knows what it meant, everything in the shard runs again.
    package mutating func eventsArrived(
        _ shard: ShardID, _ entries: [(StreamID, MutationEvent?)], nowMs: Int64
    ) -> [RefreshAction] {
        guard shards[shard] != nil else { return [] }
        for (id, event) in entries {
            // Nothing here may hold a copy of the state: its whole history would be copied with every event.
            guard let lastEventID = shards[shard]?.lastEventID, id > lastEventID else { continue }
            shards[shard]?.lastEventID = id
            if shards[shard]?.historyFloor == StreamID.max { shards[shard]?.historyFloor = id }
            shards[shard]?.events += 1
            shards[shard]?.lastEventMs = nowMs
            guard let event else {
                forgetHistory(of: shard, upTo: id)
                refreshAll(of: shard, nowMs: nowMs)
                continue
            }
            remember(event, id: id, in: shard)
            let matches = index.match(event)
            for (trigger, count) in matches.conditionErrors {
                conditionErrors[trigger, default: 0] += UInt64(count)
            }
            for (slot, _) in matches.live where states[slot]?.shard == shard {
                shards[shard]?.matches += 1
                trigger(slot, cause: .init(traceID: event.traceID, committedAtMs: event.committedAtMs), nowMs: nowMs)
            }
        }
        return dispatch(nowMs: nowMs)
    }

    /// The stream no longer reaches back to what was read: events are lost, so everything in the shard runs again.
    package mutating func eventsLost(_ shard: ShardID, lastEventID: StreamID, nowMs: Int64) -> [RefreshAction] {
        guard let state = shards[shard] else { return [] }
        // A result read before the loss may lack what was lost, also when nothing newer was known then.
        forgetHistory(of: shard, upTo: max(state.lastEventID, lastEventID).successor ?? .max)
        shards[shard]?.lastEventID = lastEventID
        shards[shard]?.takeOver.losses += 1
        refreshAll(of: shard, nowMs: nowMs)
        return dispatch(nowMs: nowMs)
    }

    /// Results fresh up to less than `floor` cannot be judged any more.
    private mutating func forgetHistory(of shard: ShardID, upTo floor: StreamID) {
        shards[shard]?.historyFloor = floor
        shards[shard]?.history.removeAll()
    }

    private mutating func refreshAll(of shard: ShardID, nowMs: Int64) {
        for slot in (shards[shard]?.slots ?? []).sorted() {
            trigger(slot, cause: .none, isPaced: true, nowMs: nowMs)
        }
    }

    private mutating func remember(_ event: MutationEvent, id: StreamID, in shard: ShardID) {
        shards[shard]?.history.append(.init(id: id, event: event))
        if let count = shards[shard]?.history.count, count > settings.historyMax {
            shards[shard]?.history.removeFirst()
            let floor = shards[shard]?.history.first?.id ?? id
            shards[shard]?.historyFloor = floor
        }
    }

    // MARK: Interest

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
            shards[shard]?.refused[gateway]?.remove(key)
            return []
        case .leave(let gateway):
            gatewayGone(gateway, in: shard)
            return []
        case .summary(let gateway, let count, let fingerprint):
            let mine = interest(of: gateway, in: shard)
            if mine.count == count, mine.fingerprint == fingerprint { return [] }
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
    /// - Returns: the gateways that are gone.
    @discardableResult
    package mutating func gatewaysListed(_ listed: Set<NodeID>) -> [NodeID] {
        let unlisted = Set(interestCounts.keys).subtracting(listed)
        let gone = unlisted.intersection(unlistedGateways).sorted()
        unlistedGateways = unlisted.subtracting(gone)
        for gateway in gone { gatewayGone(gateway) }
        return gone
    }

    private mutating func gatewayGone(_ gateway: NodeID, in shard: ShardID) {
        for slot in shards[shard]?.slots ?? [] { unsubscribe(gateway, from: slot) }
        shards[shard]?.refused[gateway] = nil
    }

    private func interest(of gateway: NodeID, in shard: ShardID) -> (count: Int, fingerprint: UInt64) {
        var count = 0
        var fingerprint: UInt64 = 0
        for slot in shards[shard]?.slots ?? [] {
            guard let state = states[slot], state.subscribers[gateway] != nil else { continue }
            count += 1
            fingerprint ^= state.query.key.digest.prefix
        }
        for key in shards[shard]?.refused[gateway] ?? [] {
            count += 1
            fingerprint ^= key.digest.prefix
        }
        return (count, fingerprint)
    }

    private mutating func announce(
        _ shard: ShardID, _ gateway: NodeID, _ query: LiveQuery, _ known: KnownResult?, _ ask: Ask, nowMs: Int64
    ) -> [RefreshAction] {
        guard let runs = shards[shard]?.runs else { return [] }
        if known != nil { shards[shard]?.takeOver.announced += 1 }
        let slotKey = SlotKey(shard: shard, key: query.key)
        var subscriber = LiveQueryState.Subscriber(digest: known?.digest, awaitsAnswer: true, ask: ask.number)
        if ask.isFresh { subscriber.afterRun = runs }
        subscriber.wantsTicks = ask.wantsTicks
        if let slot = slots[slotKey], let state = states[slot] {
            if let former = state.subscribers[gateway] {
                // A plain announcement does not take back that an earlier one wanted a later run.
                if former.awaitsAnswer { subscriber.afterRun = max(subscriber.afterRun, former.afterRun) }
            } else {
                interestCounts[gateway, default: 0] += 1
            }
            states[slot]?.subscribers[gateway] = subscriber
            if !ask.isFresh, case .idle = state.phase, let digest = state.digest, digest == known?.digest,
                let position = state.position, isAfter(subscriber.afterRun, position, in: shard)
            {
                states[slot]?.subscribers[gateway]?.awaitsAnswer = false
                shards[shard]?.takeOver.kept += 1
                let newer = newerRank(of: position, or: known, in: shard)
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
            shards[shard]?.refused[gateway]?.remove(query.key)
        } catch {
            // The gateway counts it among its interest; not to know it would look like a lost announcement.
            shards[shard]?.refused[gateway, default: []].insert(query.key)
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
        var state = LiveQueryState(query: query, shard: shard, everyMs: queryRules.everyMs)
        state.subscribers[gateway] = subscriber
        interestCounts[gateway, default: 0] += 1
        states[slot] = state
        shards[shard]?.phases[state.phase.name] += 1
        index.insert(slot, rules: queryRules)
        scheduleInterval(slot, nowMs: nowMs)
        if let known, let read = known.position, !ask.isFresh, isStillFresh(known, rules: queryRules, in: shard) {
            let position = Position(
                epoch: read.epoch, run: read.run, id: shards[shard]?.lastEventID ?? read.id)
            states[slot]?.digest = known.digest
            states[slot]?.position = position
            states[slot]?.subscribers[gateway]?.awaitsAnswer = false
            shards[shard]?.takeOver.kept += 1
            return [unchanged(query.key, known.digest, at: position, in: shard, to: gateway, answers: ask.number)]
        }
        // Somebody's screen is empty, or it shows what may be old: the first goes before the second.
        trigger(slot, cause: .none, isPaced: known != nil, nowMs: nowMs)
        return dispatch(nowMs: nowMs)
    }

    private func unchanged(
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
    private func newerRank(of position: Position, or known: KnownResult?, in shard: ShardID) -> Position {
        guard let read = known?.position, isCredible(read, in: shard), read > position else { return position }
        return Position(epoch: read.epoch, run: read.run, id: position.id)
    }

    /// Whether this owner or one before it can have given out the position. Clients bring them along, so they may be
    /// forged, and one that is too high would silence a live query.
    private func isCredible(_ position: Position, in shard: ShardID) -> Bool {
        guard let shard = shards[shard] else { return false }
        return position.epoch < shard.epoch || position.epoch == shard.epoch && position.run <= shard.runs
    }

    /// Whether what was read at `position` satisfies a subscriber that wants a run of this owner after `run`.
    private func isAfter(_ run: UInt64, _ position: Position, in shard: ShardID) -> Bool {
        run == 0 || position.epoch == shards[shard]?.epoch && position.run > run
    }

    /// Whether nothing relevant happened since `known` was read. Any doubt says no: a run with the known digest is
    /// cheap, a stale screen is not.
    private func isStillFresh(_ known: KnownResult, rules: QueryRules, in shard: ShardID) -> Bool {
        guard let position = known.position, rules.everyMs == nil, isCredible(position, in: shard),
            let shard = shards[shard]
        else { return false }
        guard position.epoch >= shard.trustedEpoch, position.id >= shard.historyFloor, position.id <= shard.lastEventID
        else { return false }
        return !shard.history.contains { $0.id > position.id && RuleIndex.concerns($0.event, rules: rules) }
    }

    private mutating func unsubscribe(_ gateway: NodeID, from slot: Int32) {
        if states[slot]?.subscribers.removeValue(forKey: gateway) != nil { forgetInterest(of: gateway) }
        if states[slot]?.subscribers.isEmpty == true { drop(slot) }
    }

    private mutating func drop(_ slot: Int32) {
        guard let state = states.removeValue(forKey: slot) else { return }
        for gateway in state.subscribers.keys { forgetInterest(of: gateway) }
        index.remove(slot)
        shards[state.shard]?.phases[state.phase.name] -= 1
        slots[SlotKey(shard: state.shard, key: state.query.key)] = nil
        shards[state.shard]?.slots.remove(slot)
        // What stands in the queue and the heap for live queries that are gone goes when it outnumbers the living:
        // else comings and goings would fill them while runs are stuck or intervals are long.
        let living = states
        if due.count > living.count + Self.leftoversMax { due.keep { living[$0] != nil } }
        if paced.count > living.count + Self.leftoversMax { paced.keep { living[$0] != nil } }
        if timers.count > 3 * living.count + Self.leftoversMax { timers.keep { living[$0] != nil } }
    }

    /// Entries for live queries that are gone, which the due queue and the timers may hold.
    package static let leftoversMax = 1_024

    private mutating func forgetInterest(of gateway: NodeID) {
        let count = (interestCounts[gateway] ?? 1) - 1
        interestCounts[gateway] = count > 0 ? count : nil
    }

    private mutating func takeSlot() -> Int32 {
        repeat { nextSlot = nextSlot == .max ? 0 : nextSlot + 1 } while states[nextSlot] != nil
        return nextSlot
    }

    private mutating func takePosition(in shard: ShardID) -> Position {
        guard let state = shards[shard] else { return Position(epoch: 0, run: 0, id: .zero) }
        shards[shard]?.runs += 1
        return Position(epoch: state.epoch, run: state.runs + 1, id: state.lastEventID)
    }

    // MARK: Coalescing

    /// - Parameter isPaced: nothing is known to have changed and nobody waits for a first result.
    private mutating func trigger(
        _ slot: Int32, cause: LiveQueryState.Cause, isPaced: Bool = false, nowMs: Int64
    ) {
        guard let state = states[slot] else { return }
        states[slot]?.lastTriggerMs = nowMs
        // The oldest cause stays: latency is told for the event that waited longest.
        if state.cause == nil || state.cause?.traceID.isEmpty == true { states[slot]?.cause = cause }
        switch state.phase {
        case .idle:
            let earliest = state.lastStartMs + settings.coalesceGapMs
            if isPaced {
                enqueuePaced(slot)
            } else if nowMs >= earliest {
                enqueue(slot)
            } else {
                wait(slot, untilMs: earliest)
            }
        case .waiting, .queued: break
        case .paced: if !isPaced { enqueue(slot) }
        case .running(let batch, _): enter(.running(batch: batch, again: true), slot)
        }
    }

    /// For a new subscriber: a run that is yet to start will serve it, one in flight may not carry the body it needs.
    private mutating func triggerUnlessPending(_ slot: Int32, isPaced: Bool, nowMs: Int64) {
        switch states[slot]?.phase {
        case .idle, .running, .paced: trigger(slot, cause: .none, isPaced: isPaced, nowMs: nowMs)
        case .waiting, .queued, nil: break
        }
    }

    private mutating func enter(_ phase: LiveQueryState.Phase, _ slot: Int32) {
        guard let state = states[slot] else { return }
        shards[state.shard]?.phases[state.phase.name] -= 1
        shards[state.shard]?.phases[phase.name] += 1
        states[slot]?.phase = phase
    }

    private mutating func enqueue(_ slot: Int32) {
        guard let query = states[slot]?.query else { return }
        enter(.queued, slot)
        due.append(slot, to: .init(operation: query.operation, version: query.version))
    }

    private mutating func enqueuePaced(_ slot: Int32) {
        guard let state = states[slot] else { return }
        // Those that an event took out of turn still stand there.
        if paced.count > 2 * states.count + Self.leftoversMax {
            let living = states
            paced.keep { if case .paced = living[$0]?.phase { true } else { false } }
        }
        enter(.paced, slot)
        shards[state.shard]?.takeOver.rerun += 1
        paced.append(slot, to: .init(operation: state.query.operation, version: state.query.version))
    }

    private mutating func wait(_ slot: Int32, untilMs: Int64) {
        enter(.waiting(untilMs: untilMs), slot)
        timers.insert(.init(deadlineMs: untilMs, slot: slot, kind: .gap))
    }

    private mutating func scheduleInterval(_ slot: Int32, nowMs: Int64) {
        guard let state = states[slot], let everyMs = state.everyMs else { return }
        let deadline = IntervalGrid.next(after: nowMs, everyMs: everyMs, key: state.query.key)
        states[slot]?.intervalDueMs = deadline
        timers.insert(.init(deadlineMs: deadline, slot: slot, kind: .interval))
    }

    /// When `timeReached` should be called next; nil when nothing waits for a time.
    package var nextDeadlineMs: Int64? {
        guard paced.count > 0, runsInFlight < settings.runsMax, pacedBatches.count < settings.pacedStatementsMax else {
            return timers.earliestMs
        }
        return min(timers.earliestMs ?? .max, pace.nextMs)
    }

    package mutating func timeReached(nowMs: Int64) -> [RefreshAction] {
        while let entry = timers.popDue(nowMs: nowMs) {
            guard let state = states[entry.slot] else { continue }
            switch entry.kind {
            case .gap:
                if case .waiting(let untilMs) = state.phase, untilMs == entry.deadlineMs { enqueue(entry.slot) }
            case .retry:
                guard state.retryDueMs == entry.deadlineMs, state.failures > 0 else { continue }
                trigger(entry.slot, cause: state.cause ?? .none, nowMs: nowMs)
            case .interval:
                guard state.intervalDueMs == entry.deadlineMs else { continue }
                scheduleInterval(entry.slot, nowMs: nowMs)
                states[entry.slot]?.isTickDue = true
                trigger(entry.slot, cause: .none, nowMs: nowMs)
            }
        }
        return dispatch(nowMs: nowMs)
    }

    // MARK: Runs

    private mutating func dispatch(nowMs: Int64) -> [RefreshAction] {
        var actions: [RefreshAction] = []
        while runsInFlight < settings.runsMax, let (turn, isPaced) = nextTurn(nowMs: nowMs) {
            nextBatch += 1
            var items: [RunBatch.Item] = []
            for slot in turn.slots {
                guard let state = states[slot] else { continue }
                switch state.phase {
                case .queued where !isPaced, .paced where isPaced: break
                case .idle, .waiting, .queued, .paced, .running: continue
                }
                let position = takePosition(in: state.shard)
                enter(.running(batch: nextBatch, again: false), slot)
                states[slot]?.lastStartMs = nowMs
                states[slot]?.runningCause = state.cause
                states[slot]?.cause = nil
                states[slot]?.isTickRunning = state.isTickDue
                states[slot]?.isTickDue = false
                items.append(
                    .init(
                        slot: slot, query: state.query, shard: state.shard, knownDigest: state.sharedDigest,
                        position: position, traceID: state.cause?.traceID ?? ""))
            }
            if items.isEmpty { continue }
            runsInFlight += 1
            if isPaced {
                pace.take(items.count)
                pacedBatches.insert(nextBatch)
            }
            actions.append(
                .run(
                    RunBatch(
                        id: nextBatch, operation: turn.group.operation, version: turn.group.version, items: items)))
        }
        return actions
    }

    /// What has a cause goes first, but one statement may always be of those that have none: they must come to an end.
    private mutating func nextTurn(
        nowMs: Int64
    ) -> (turn: (group: DueQueue.Group, slots: [Int32]), isPaced: Bool)? {
        let allowed =
            paced.count > 0 && pacedBatches.count < settings.pacedStatementsMax ? pace.available(nowMs: nowMs) : 0
        let pacedFirst = allowed > 0 && pacedBatches.isEmpty
        if !pacedFirst, let turn = due.next(limit: settings.batchMax) { return (turn, false) }
        if allowed > 0, let turn = paced.next(limit: min(allowed, settings.batchMax)) { return (turn, true) }
        return due.next(limit: settings.batchMax).map { ($0, false) }
    }

    /// A batch ended. `outcomes` are in the order of its items.
    package mutating func runFinished(_ batch: RunBatch, _ outcomes: [RunOutcome], nowMs: Int64) -> [RefreshAction] {
        runsInFlight -= 1
        pacedBatches.remove(batch.id)
        var actions: [RefreshAction] = []
        for (item, outcome) in zip(batch.items, outcomes) {
            guard let state = states[item.slot], case .running(batch.id, let again) = state.phase else { continue }
            enter(.idle, item.slot)
            states[item.slot]?.lastFinishMs = nowMs
            states[item.slot]?.lastRunMs = nowMs - state.lastStartMs
            states[item.slot]?.runs += 1
            let runAgain = finish(item, outcome, state, &actions, nowMs: nowMs) || again
            states[item.slot]?.runningCause = nil
            if runAgain, case .idle = states[item.slot]?.phase {
                trigger(item.slot, cause: states[item.slot]?.cause ?? .none, nowMs: nowMs)
            }
        }
        return actions + dispatch(nowMs: nowMs)
    }

    /// - Returns: true when one more run is needed for somebody to get a body.
    private mutating func finish(
        _ item: RunBatch.Item, _ outcome: RunOutcome, _ state: LiveQueryState, _ actions: inout [RefreshAction],
        nowMs: Int64
    ) -> Bool {
        let digest: Digest
        var body: [UInt8]?
        var entities: [UInt8] = []
        switch outcome {
        case .failed(let error):
            failed(item, error, state, &actions, nowMs: nowMs)
            return false
        case .unchanged:
            guard let known = item.knownDigest else { return true }
            digest = known
        case .result(let newDigest, let newBody, let newEntities):
            digest = newDigest
            body = newBody
            entities = newEntities
        }
        states[item.slot]?.failures = 0
        states[item.slot]?.digest = digest
        states[item.slot]?.position = item.position
        shards[state.shard]?.lastRefreshMs = nowMs
        var isBodyMissing = false
        for gateway in state.subscribers.keys.sorted() {
            // Announced while the run was in flight, and only a later one will do.
            guard let subscriber = state.subscribers[gateway], item.position.run > subscriber.afterRun else { continue }
            if subscriber.digest == digest {
                if subscriber.awaitsAnswer {
                    actions.append(
                        unchanged(
                            state.query.key, digest, at: item.position, in: state.shard, to: gateway,
                            answers: subscriber.ask))
                } else if state.isTickRunning, subscriber.wantsTicks {
                    actions.append(
                        .send(
                            to: gateway,
                            .ticked(
                                shard: state.shard, key: state.query.key, digest: digest, position: item.position,
                                answers: subscriber.ask)))
                }
            } else if let body {
                let result = LiveResult(
                    position: item.position, digest: digest, body: body, entities: entities,
                    traceID: state.runningCause?.traceID ?? "",
                    committedAtMs: state.runningCause?.committedAtMs ?? 0)
                actions.append(
                    .send(
                        to: gateway,
                        .result(shard: state.shard, key: state.query.key, result: result, answers: subscriber.ask)))
            } else {
                // Subscribed while the run was in flight, and the run brought no body.
                isBodyMissing = true
                continue
            }
            states[item.slot]?.subscribers[gateway]?.digest = digest
            states[item.slot]?.subscribers[gateway]?.awaitsAnswer = false
        }
        return isBodyMissing
    }

    private mutating func failed(
        _ item: RunBatch.Item, _ error: RequestError, _ state: LiveQueryState, _ actions: inout [RefreshAction],
        nowMs: Int64
    ) {
        states[item.slot]?.failures += 1
        // The events behind this run are still not covered, so nobody may be told that an older result still holds.
        if let cause = state.runningCause { states[item.slot]?.cause = cause }
        states[item.slot]?.digest = nil
        for gateway in state.subscribers.keys.sorted() {
            // Who has a result is told of a passing fault only by its end.
            let holds = state.subscribers[gateway]?.digest != nil
            let isTold = state.subscribers[gateway]?.awaitsAnswer == true || (holds && !error.code.isRetryable)
            guard isTold else { continue }
            actions.append(
                .send(
                    to: gateway,
                    .failed(
                        shard: state.shard, key: state.query.key, position: item.position, error: error,
                        answers: state.subscribers[gateway]?.ask ?? 0)))
            states[item.slot]?.subscribers[gateway]?.awaitsAnswer = false
            states[item.slot]?.subscribers[gateway]?.digest = nil
        }
        if error.code.isRetryable {
            let doublings = Int64(min(state.failures, 16))
            wait(item.slot, untilMs: nowMs + min(settings.retryMaxMs, settings.retryMinMs << doublings))
        } else {
            // What looks final is tried again, too, if seldom: a table may come back, a failover end. An event or a
            // newcomer does not wait for that.
            let deadlineMs = nowMs + settings.failedRetryMs
            states[item.slot]?.retryDueMs = deadlineMs
            timers.insert(.init(deadlineMs: deadlineMs, slot: item.slot, kind: .retry))
        }
    }

    /// A message could not be handed to a gateway's inbox: what it holds is unknown, so it gets the result anew.
    package mutating func sendFailed(
        _ gateway: NodeID, _ keys: [LiveQueryKey], nowMs: Int64
    ) -> [RefreshAction] {
        for (shard, key) in shards.keys.flatMap({ shard in keys.map { (shard, $0) } }) {
            guard let slot = slots[SlotKey(shard: shard, key: key)], let state = states[slot],
                state.subscribers[gateway] != nil
            else { continue }
            states[slot]?.subscribers[gateway]?.digest = nil
            states[slot]?.subscribers[gateway]?.awaitsAnswer = true
            states[slot]?.failures += 1
            let delayMs = min(settings.retryMaxMs, settings.retryMinMs << Int64(min(state.failures, 16)))
            if case .idle = state.phase { wait(slot, untilMs: nowMs + delayMs) }
        }
        return []
    }

    // MARK: What operators see

    package var liveQueryCount: Int { states.count }
    package var runsInFlightCount: Int { runsInFlight }
    package var dueCount: Int { due.count }
    package var ownedShards: [ShardID] { shards.keys.sorted() }
    package var conditionErrorCounts: [Trigger.ID: UInt64] { conditionErrors }

    /// Entries of the timers: at most three per live query, and some left over.
    package var timerCount: Int { timers.count }
    /// Events remembered for the shard that remembers most.
    package var historyCountMax: Int { shards.values.map(\.history.count).max() ?? 0 }

    package func epoch(of shard: ShardID) -> UInt64? { shards[shard]?.epoch }
    package func lastEventID(of shard: ShardID) -> StreamID? { shards[shard]?.lastEventID }

    package var shardReports: [ShardReport] {
        shards.sorted { $0.key < $1.key }.map { shard, state in
            ShardReport(
                shard: shard, epoch: state.epoch, ownedSinceMs: state.ownedSinceMs, lastEventID: state.lastEventID,
                events: state.events, matches: state.matches, runs: state.runs, liveQueries: state.slots.count,
                subscribers: state.slots.reduce(0) { $0 + (states[$1]?.subscribers.count ?? 0) },
                lastEventMs: state.lastEventMs, lastRefreshMs: state.lastRefreshMs, due: state.phases[.queued],
                running: state.phases[.running], paced: state.phases[.paced], waiting: state.phases[.waiting],
                failing: state.slots.count { (states[$0]?.failures ?? 0) > 0 }, takeOver: state.takeOver)
        }
    }

    /// The same in a few numbers per shard, without looking at every live query.
    package var shardStatuses: [ShardStatus] {
        shards.sorted { $0.key < $1.key }.map { shard, state in
            ShardStatus(
                shard: shard, epoch: state.epoch, ownedSinceMs: state.ownedSinceMs, liveQueries: state.slots.count,
                due: state.phases[.queued], running: state.phases[.running], paced: state.phases[.paced],
                waiting: state.phases[.waiting], lastEventID: state.lastEventID,
                lastRefreshMs: state.lastRefreshMs, takeOver: state.takeOver)
        }
    }

    /// Since the start, over all shards, lost ones included.
    package var takeOver: TakeOverCounts {
        shards.values.reduce(into: formerTakeOver) { $0 += $1.takeOver }
    }
    package var pacedCount: Int { shards.values.reduce(0) { $0 + $1.phases[.paced] } }

    /// - Parameter limit: at most so many, whichever; ordered by operation then key.
    package func liveQueryReports(limit: Int, operation: OperationReference? = nil) -> [LiveQueryReport] {
        // Cut before sorting: this runs beside the renewal of leases.
        Array(states.values.lazy.filter { operation == nil || $0.query.operation == operation }.prefix(limit))
            .sorted { ($0.query.operation, $0.query.key.description) < ($1.query.operation, $1.query.key.description) }
            .map { state in
                LiveQueryReport(
                    key: state.query.key, operation: state.query.operation, shard: state.shard,
                    gateways: state.subscribers.keys.sorted(), everyMs: state.everyMs, digest: state.digest,
                    position: state.position, lastTriggerMs: state.lastTriggerMs, lastFinishMs: state.lastFinishMs,
                    lastRunMs: state.lastRunMs, runs: state.runs, failures: state.failures)
            }
    }
}
