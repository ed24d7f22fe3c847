import LiveModel

/// The live queries of one shard with their scheduling: every change of phase goes through `update`, which keeps the
/// worker's queues and timers, and the shard's replay, consistent with it.
///
/// Slots from a queue, a timer or a run may belong to a live query that ended meanwhile: check `contains`. A slot from
/// this shard's own table must exist.
struct ScheduledQueries: Sendable {
    private let shard: ShardID
    private let epoch: UInt64
    private(set) var table = LiveQueryTable()
    private var replay = Replay()
    var markers = ShardMarkers()
    var takeOver = TakeOverCounts()

    init(_ shard: ShardID, epoch: UInt64) {
        self.shard = shard
        self.epoch = epoch
    }

    // MARK: Registration

    /// Registers a new live query in the index and sets the timer of its `every` rule.
    mutating func register(
        _ query: LiveQuery, _ rules: QueryRules, for client: ClientID?, _ schedule: inout RunSchedule, nowMs: Int64
    ) -> Int32 {
        let slot = schedule.takeSlot(for: shard)
        let state = LiveQueryState(
            query: query, everyMs: rules.everyMs, otherServers: rules.otherServers, client: client, nowMs: nowMs)
        table.insert(state, at: slot, rules: rules)
        if let dueMs = table.update(slot, { $0.scheduleInterval(nowMs: nowMs) }) {
            schedule.setTimer(.interval, slot, atMs: dueMs)
        }
        return slot
    }

    mutating func subscribe(_ gateway: NodeID, to slot: Int32, _ subscriber: Subscribers.Subscriber) {
        table.subscribe(gateway, to: slot, subscriber)
    }

    /// Removes a subscriber; a live query without subscribers ends.
    mutating func unsubscribe(_ gateway: NodeID, from slot: Int32, _ schedule: inout RunSchedule) {
        guard table.unsubscribe(gateway, from: slot) else { return }
        replay.forget(slot)
        markers.changed(from: table[slot].owedSince, to: nil)
        table.remove(slot)
        schedule.release(slot)
    }

    /// Removes all interest of a gateway.
    mutating func remove(_ gateway: NodeID, _ schedule: inout RunSchedule) {
        guard table.interest(of: gateway) != nil else { return }
        for slot in Array(table.allSlots) { unsubscribe(gateway, from: slot, &schedule) }
        table.forgetRefusals(to: gateway)
    }

    /// - Returns: whether other events may concern the live query than before.
    mutating func bind(_ slot: Int32, _ read: [RowsRead]?, countMax: Int) -> Bool {
        table.bind(slot, read, countMax: countMax)
    }

    /// Takes over a result that no run here read: which rows it is of is not known.
    mutating func adopt(_ slot: Int32, _ digest: Digest, _ position: Position, _ schedule: inout RunSchedule) {
        _ = table.bind(slot, nil, countMax: 0)
        update(slot, &schedule) { $0.adopt(digest, position) }
    }

    mutating func refuse(_ key: LiveQueryKey, to gateway: NodeID) { table.refuse(key, to: gateway) }
    mutating func forgetRefusal(of key: LiveQueryKey, to gateway: NodeID) { table.forgetRefusal(of: key, to: gateway) }

    // MARK: Phases

    /// Changes a live query; if its phase changes, it enters the queue or timer of the new one.
    @discardableResult
    mutating func update<Result>(
        _ slot: Int32, _ schedule: inout RunSchedule, _ change: (inout LiveQueryState) -> Result
    ) -> Result {
        var phases: (from: LiveQueryState.Phase, to: LiveQueryState.Phase) = (.idle, .idle)
        var owedSince: (from: ShardMarkers.Turn?, to: ShardMarkers.Turn?) = (nil, nil)
        var turn: (pool: RunPool.Name, group: DueQueue.Group, priority: RunPriority)?
        let result = table.update(slot) { query in
            (phases.from, owedSince.from) = (query.phase, query.owedSince)
            let result = change(&query)
            (phases.to, owedSince.to) = (query.phase, query.owedSince)
            switch phases {
            case (.queued, .queued), (.paced, .paced): break
            case (_, .queued), (_, .paced): turn = (query.pool, query.group, query.priority)
            case (_, .idle), (_, .waiting), (_, .awaitingReplay), (_, .running): break
            }
            return result
        }
        if owedSince.from != owedSince.to { markers.changed(from: owedSince.from, to: owedSince.to) }
        if phases.from.isAwaitingReplay, !phases.to.isAwaitingReplay { replay.forget(slot) }
        if let turn {
            if phases.to.isPaced { takeOver.rerun += 1 }
            schedule.enqueue(slot, to: turn.group, turn.priority, in: turn.pool, isPaced: phases.to.isPaced)
        }
        switch phases {
        case (.waiting, .waiting): break
        case (_, .waiting(let untilMs)): schedule.setTimer(.gap, slot, atMs: untilMs)
        case (_, .idle), (_, .queued), (_, .paced), (_, .awaitingReplay), (_, .running): break
        }
        return result
    }

    /// - Parameter turn: the turn of the event that may have changed the result; nil: there is none.
    mutating func trigger(
        _ slot: Int32, _ cause: LiveQueryState.Cause, _ causes: RuleIndex.Causes = [], isPaced: Bool = false,
        owedSince turn: ShardMarkers.Turn?, _ schedule: inout RunSchedule, nowMs: Int64
    ) {
        let gapMs = schedule.settings.coalesceGapMs
        update(slot, &schedule) {
            $0.trigger(cause, causes, isPaced: isPaced, owedSince: turn, gapMs: gapMs, nowMs: nowMs)
        }
    }

    mutating func check(
        _ slot: Int32, _ check: LiveQueryState.Check, _ schedule: inout RunSchedule, nowMs: Int64
    ) {
        let gapMs = schedule.settings.coalesceGapMs
        update(slot, &schedule) { $0.check(check, gapMs: gapMs, nowMs: nowMs) }
    }

    /// Re-runs everything after a loss of events, which no replay can make good.
    mutating func triggerAll(_ schedule: inout RunSchedule, nowMs: Int64) {
        replay = Replay()
        for slot in table.allSlots.sorted() {
            trigger(slot, .none, isPaced: true, owedSince: markers.oldestTurn, &schedule, nowMs: nowMs)
        }
    }

    mutating func timerReached(_ timer: TimerHeap.Entry, _ schedule: inout RunSchedule, nowMs: Int64) {
        guard table.contains(timer.slot) else { return }
        let gapMs = schedule.settings.coalesceGapMs
        switch timer.kind {
        case .gap: update(timer.slot, &schedule) { $0.gapEnded(timer.deadlineMs) }
        case .retry:
            update(timer.slot, &schedule) { $0.retryReached(timer.deadlineMs, gapMs: gapMs, nowMs: nowMs) }
        case .interval:
            let nextMs = update(timer.slot, &schedule) {
                $0.intervalReached(timer.deadlineMs, gapMs: gapMs, nowMs: nowMs)
            }
            if let nextMs { schedule.setTimer(.interval, timer.slot, atMs: nextMs) }
        }
    }

    /// Confirms the subscribers' result of a live query, because no event up to `id` concerned it.
    mutating func confirm(
        _ slot: Int32, through id: StreamID, _ schedule: inout RunSchedule, nowMs: Int64
    ) -> [RefreshAction] {
        let gapMs = schedule.settings.coalesceGapMs
        let (query, confirmed) = update(slot, &schedule) { query in
            let confirmed = query.confirm(through: id, gapMs: gapMs, nowMs: nowMs)
            return (query, confirmed)
        }
        takeOver.kept += UInt64(confirmed.count)
        guard let digest = query.digest, let position = query.position else {
            preconditionFailure("confirmed without a result: \(query)")
        }
        return confirmed.map { gateway, answers in
            .send(
                to: gateway,
                .unchanged(
                    shard: shard, key: query.query.key, digest: digest, position: position, epoch: epoch,
                    answers: answers))
        }
    }

    // MARK: Replay

    /// Makes a live query wait for a replay, which decides by older events whether its subscribers' result is still
    /// fresh.
    /// - Parameter floor: the start of the remembered events.
    mutating func awaitReplay(_ slot: Int32, floor: StreamID, _ schedule: inout RunSchedule, nowMs: Int64) {
        let position = update(slot, &schedule) { query in
            query.awaitReplay()
            return query.position
        }
        guard let position else { preconditionFailure("no position to check: \(table[slot])") }
        if replay.waitingCount > table.count + RunSchedule.leftoversMax { sweepReplay() }
        replay.add(slot, position: position.id, floor: floor)
        if !replay.isReading { schedule.gatherReplay(of: shard, nowMs: nowMs) }
    }

    private func isAwaitingReplay(_ slot: Int32) -> Bool {
        table.contains(slot) && table[slot].phase.isAwaitingReplay
    }

    /// Removes candidates that were decided by an event or another gateway, or that ended.
    private mutating func sweepReplay() {
        let table = table
        replay.keep { table.contains($0) && table[$0].phase.isAwaitingReplay }
    }

    /// Begins a round of replay with the waiting candidates.
    /// - Returns: the first page to read.
    mutating func startReplay(_ schedule: inout RunSchedule, nowMs: Int64) -> [RefreshAction] {
        sweepReplay()
        let count = replay.waitingCount
        guard count > 0 else { return [] }
        let settings = schedule.settings
        let eventsMax = min(settings.replayMax, count * settings.replayPerRun)
        guard eventsMax >= settings.replayPageMax else {
            runUndecided(replay.takeWaiting(), &schedule, nowMs: nowMs)
            return []
        }
        beginReplay(eventsMax: eventsMax)
        return nextPage(&schedule, nowMs: nowMs)
    }

    private mutating func beginReplay(eventsMax: Int) {
        let table = table
        replay.begin(eventsMax: eventsMax) { table.rules(of: $0) }
    }

    /// Handles a page of older events.
    /// - Parameters:
    ///   - entries: the entries, newest first; nil if they could not be read.
    ///   - lastEventID: the last applied event, up to which results that no event concerned are fresh.
    mutating func replayRead(
        _ page: ReplayPage, _ entries: [EventEntry]?, lastEventID: StreamID, _ schedule: inout RunSchedule, nowMs: Int64
    ) -> [RefreshAction] {
        guard let entries else { return endReplay(&schedule, nowMs: nowMs) }
        var actions: [RefreshAction] = []
        for entry in entries {
            for slot in replay.reached(entry.id) where isAwaitingReplay(slot) {
                actions += confirm(slot, through: lastEventID, &schedule, nowMs: nowMs)
            }
            takeOver.replayed += 1
            guard let event = entry.event else { return actions + endReplay(&schedule, nowMs: nowMs) }
            runUndecided(replay.touched(by: event), &schedule, nowMs: nowMs)
        }
        // Beyond the beginning of the stream, nothing is known about earlier events.
        let isEnd = entries.count < page.limit
        return actions + (isEnd ? endReplay(&schedule, nowMs: nowMs) : nextPage(&schedule, nowMs: nowMs))
    }

    /// Whether this is the page requested last.
    func awaits(_ page: ReplayPage) -> Bool { replay.awaits(page) }

    private mutating func nextPage(_ schedule: inout RunSchedule, nowMs: Int64) -> [RefreshAction] {
        let limit = schedule.settings.replayPageMax
        if let page = replay.nextPage(shard, limit: limit, number: schedule.takePageNumber()) { return [.replay(page)] }
        return endReplay(&schedule, nowMs: nowMs)
    }

    private mutating func endReplay(_ schedule: inout RunSchedule, nowMs: Int64) -> [RefreshAction] {
        runUndecided(replay.end(), &schedule, nowMs: nowMs)
        return startReplay(&schedule, nowMs: nowMs)
    }

    private mutating func runUndecided(_ slots: [Int32], _ schedule: inout RunSchedule, nowMs: Int64) {
        for slot in slots where isAwaitingReplay(slot) {
            // The gateways that announced it wait for an answer, and do not take a marker before they have it.
            trigger(slot, .none, isPaced: true, owedSince: nil, &schedule, nowMs: nowMs)
        }
    }
}
