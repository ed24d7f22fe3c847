import LiveModel

/// A shard that this worker owns: its position in the events stream, its live queries, and the gateways' interest in
/// them.
///
/// Two orderings make it safe: a live query enters the rule index *before* its first run starts, and a run is fresh up
/// to the events applied *before* it started. So an event is either covered by the run, or it marks the live query
/// dirty and one more run follows.
struct ShardQueries: Sendable {
    /// The consequence of an announcement.
    enum AnnouncementAnswer {
        /// No run is needed, or none is possible.
        case answered([RefreshAction])
        /// A run was triggered.
        case triggered
    }

    let shard: ShardID
    let ownedSinceMs: Int64
    private(set) var positions: ShardPositions
    var queries: ScheduledQueries
    private(set) var events: UInt64 = 0
    private(set) var matches: UInt64 = 0
    private(set) var lastEventMs: Int64 = 0
    private(set) var lastRefreshMs: Int64 = 0
    /// Live queries whose verification found another result, with the position of the former one, until an event
    /// explains it. Bound: the verifications within their grace.
    var suspects: [Int32: (untilMs: Int64, position: Position)] = [:]
    /// The gateways that take markers. Bound: those that announced something here.
    var markerGateways: Set<NodeID> = []

    init(_ shard: ShardID, _ positions: ShardPositions, nowMs: Int64) {
        self.shard = shard
        self.positions = positions
        ownedSinceMs = nowMs
        queries = ScheduledQueries(shard, epoch: positions.epoch)
        queries.takeOver.replayed = UInt64(positions.historyCount)
    }

    // MARK: Events

    /// Handles an entry of the shard's stream, in stream order.
    /// - Parameter report: receives what is counted.
    mutating func eventArrived(
        _ entry: EventEntry, _ schedule: inout RunSchedule, _ report: inout EventReport, nowMs: Int64
    ) {
        // A repeated read returns entries again.
        guard positions.advance(to: entry.id) else { return }
        if let event = entry.event, event.isMarker { return markerArrived(entry.id, event, nowMs: nowMs) }
        events += 1
        lastEventMs = nowMs
        guard let event = entry.event else {
            positions.eventUnreadable()
            suspects = [:]
            return queries.triggerAll(&schedule, nowMs: nowMs)
        }
        positions.remember(entry, schedule.settings)
        if queries.table.isEmpty { return }
        let found = queries.table.match(event)
        for (trigger, count) in found.conditionErrors {
            report.conditionErrors[trigger, default: 0] += UInt64(count)
        }
        if event.isTraced || report.observed.isOn { observe(entry.id, event, found, &report.observed, nowMs: nowMs) }
        let cause = LiveQueryState.Cause(
            traceID: event.traceID, committedAtMs: event.committedAtMs, isTraced: event.isTraced)
        for (slot, causes) in found.live {
            if causes == .observed {
                unnoticed(slot, event, &schedule, &report, nowMs: nowMs)
                continue
            }
            matches += 1
            suspects[slot] = nil
            // After a take-over a change of one row may concern every live query of a table.
            let isPaced = event.isDoubt || causes == .possible
            queries.trigger(
                slot, cause, causes.ofRun, isPaced: isPaced, owedSince: queries.markers.turn, &schedule, nowMs: nowMs)
        }
    }

    /// Handles a loss of events: the stream no longer reaches back to the last read.
    mutating func eventsLost(lastEventID: StreamID, _ schedule: inout RunSchedule, nowMs: Int64) {
        positions.eventsLost(continuingAfter: lastEventID)
        suspects = [:]
        queries.takeOver.losses += 1
        queries.triggerAll(&schedule, nowMs: nowMs)
    }

    /// Runs the live queries of some operations again, without an event.
    mutating func rerun(_ operations: Set<OperationReference>, _ schedule: inout RunSchedule, nowMs: Int64) {
        for slot in queries.table.allSlots.sorted() where operations.contains(queries.table[slot].query.operation) {
            queries.trigger(slot, .none, isPaced: true, owedSince: queries.markers.oldestTurn, &schedule, nowMs: nowMs)
        }
    }

    // MARK: Interest

    /// Handles a gateway's announcement of a live query.
    /// - Parameter rules: see `RefreshMachine.init`.
    mutating func announced(
        _ query: LiveQuery, by gateway: NodeID, _ known: KnownResult?, _ announcement: AnnouncementID,
        _ rules: RefreshMachine.RulesProvider, _ schedule: inout RunSchedule, nowMs: Int64
    ) -> AnnouncementAnswer {
        if known != nil { queries.takeOver.announced += 1 }
        if announcement.takesMarkers { markerGateways.insert(gateway) } else { markerGateways.remove(gateway) }
        queries.forgetRefusal(of: query.key, to: gateway)
        let subscriber = Subscribers.Subscriber(
            digest: known?.digest, announcement: announcement.number,
            afterRun: announcement.requiresFreshRun ? positions.runs : 0,
            reportsTimerRuns: announcement.reportsTimerRuns)
        if let slot = queries.table.slot(of: query.key) {
            queries.subscribe(gateway, to: slot, subscriber)
            queries.update(slot, &schedule) { $0.subscribed(by: announcement.client) }
            return renewed(slot, by: gateway, known, announcement, &schedule, nowMs: nowMs)
        }
        let queryRules: QueryRules
        do throws(RequestError) {
            guard schedule.liveQueryCount < schedule.settings.liveQueriesMax else {
                throw RequestError(.limitExceeded, "too many live queries on this worker")
            }
            queryRules = try rules(query)
        } catch {
            queries.refuse(query.key, to: gateway)
            let refusal = InboxMessage.failed(
                shard: shard, key: query.key, position: positions.current, error: error, answers: announcement.number)
            return .answered([.send(to: gateway, refusal)])
        }
        let slot = queries.register(query, queryRules, for: announcement.client, &schedule, nowMs: nowMs)
        queries.subscribe(gateway, to: slot, subscriber)
        if let known, !announcement.requiresFreshRun {
            let freshness = positions.freshness(of: known, rules: queryRules)
            switch freshness {
            case .fresh(let position):
                queries.adopt(slot, known.digest, position, &schedule)
                return .answered(queries.confirm(slot, through: positions.lastEventID, &schedule, nowMs: nowMs))
            case .older(let position):
                queries.adopt(slot, known.digest, position, &schedule)
                queries.awaitReplay(slot, floor: positions.historyFloor, &schedule, nowMs: nowMs)
                return .answered([])
            case .doubtful: break
            }
        }
        // A subscriber without a result takes precedence over one whose result may be stale.
        queries.trigger(slot, .none, isPaced: known != nil, owedSince: nil, &schedule, nowMs: nowMs)
        return .triggered
    }

    private mutating func renewed(
        _ slot: Int32, by gateway: NodeID, _ known: KnownResult?, _ announcement: AnnouncementID,
        _ schedule: inout RunSchedule, nowMs: Int64
    ) -> AnnouncementAnswer {
        let (positions, gapMs) = (positions, schedule.settings.coalesceGapMs)
        let renewal = queries.update(slot, &schedule) { query in
            let renewal = query.renew(gateway, known, requiresFreshRun: announcement.requiresFreshRun, positions)
            if case .byRun = renewal { query.triggerUnlessPending(isPaced: known != nil, gapMs: gapMs, nowMs: nowMs) }
            return renewal
        }
        switch renewal {
        case .confirmed(let key, let digest, let position):
            queries.takeOver.kept += 1
            let answer = InboxMessage.unchanged(
                shard: shard, key: key, digest: digest, position: position, epoch: positions.epoch,
                answers: announcement.number)
            return .answered([.send(to: gateway, answer)])
        case .byReplay: return .answered([])
        case .byRun: return .triggered
        }
    }

    /// Handles the withdrawal of a gateway's last subscriber of a live query.
    mutating func withdrawn(_ key: LiveQueryKey, by gateway: NodeID, _ schedule: inout RunSchedule) {
        if let slot = queries.table.slot(of: key) { queries.unsubscribe(gateway, from: slot, &schedule) }
        queries.forgetRefusal(of: key, to: gateway)
    }

    /// Removes the interest of a gateway that left the cluster or this shard.
    mutating func gatewayGone(_ gateway: NodeID, _ schedule: inout RunSchedule) {
        queries.remove(gateway, &schedule)
        markerGateways.remove(gateway)
    }

    /// Compares a gateway's summary with its known interest.
    /// - Parameter settled: the event up to which the gateway knows its results to be fresh; nil if it does not accept
    ///   settled messages.
    mutating func summarized(
        _ summary: InterestFingerprint, by gateway: NodeID, settled: StreamID?, _ schedule: inout RunSchedule
    ) -> [RefreshAction] {
        guard summary == queries.table.interest(of: gateway) ?? InterestFingerprint() else {
            // The sides disagree, and the gateway is authoritative: forget its interest and request all of it.
            gatewayGone(gateway, &schedule)
            return [.send(to: gateway, .announceAll(shard: shard, epoch: positions.epoch))]
        }
        let message = settled.flatMap { settledMessage(to: gateway, after: $0, schedule.settings) }
        return message.map { [.send(to: gateway, $0)] } ?? []
    }

    /// Returns a message with the event up to which a gateway's results are fresh; nil if nothing changed.
    ///
    /// A live query that no event concerns keeps the position of its last run. On a busy shard that position would soon
    /// be too old for the next owner to decide.
    private func settledMessage(to gateway: NodeID, after known: StreamID, _ settings: RefreshSettings) -> InboxMessage?
    {
        let through = positions.lastEventID
        guard through != .zero, through != known, queries.table.count <= settings.settledLiveQueriesMax else {
            return nil
        }
        var held = HeldFingerprint()
        var except: [LiveQueryKey] = []
        for query in queries.table.states where query.subscribers.contains(gateway) {
            if let digest = query.settledDigest(of: gateway) {
                held.insert(query.query.key, digest)
            } else {
                except.append(query.query.key)
                // With this many live queries in progress, runs advance the positions.
                if except.count > settings.settledExceptionsMax { return nil }
            }
        }
        if held == HeldFingerprint() { return nil }
        except.sort { $0.digest.prefix < $1.digest.prefix }
        return .settled(shard: shard, epoch: positions.epoch, through: through, except: except, held: held)
    }

    // MARK: Runs, timers and replays

    func priority(of slot: Int32) -> RunPriority { queries.table[slot].priority }

    /// Starts the run of a live query whose turn has come.
    /// - Returns: nil if the live query ended or left that queue since it was queued.
    mutating func started(
        _ slot: Int32, batch: UInt64, _ turn: RunPool.Turn, in pool: RunPool.Name, _ schedule: inout RunSchedule,
        nowMs: Int64
    ) -> RunBatch.Item? {
        guard queries.table.contains(slot),
            let run = queries.update(slot, &schedule, { $0.start(batch: batch, turn, in: pool, nowMs: nowMs) })
        else { return nil }
        return RunBatch.Item(
            slot: slot, query: run.query, shard: shard,
            knownDigest: queries.table.awaitsRows(slot) ? nil : run.knownDigest, position: positions.next(),
            traceID: run.traceID)
    }

    /// Handles the end of a run. It is ignored if its live query ended, or ended and was registered again, while the
    /// run was in flight.
    /// - Parameters:
    ///   - cutShort: the number of live queries that were cut short together.
    ///   - micros: the run's share of its statement's time.
    ///   - actions: receives the messages to subscribers.
    ///   - report: receives the effect of rules.
    mutating func finished(
        _ item: RunBatch.Item, batch: UInt64, _ outcome: RunOutcome, cutShort: Int, micros: UInt64,
        _ schedule: inout RunSchedule, _ actions: inout [RefreshAction], _ report: inout EventReport, nowMs: Int64
    ) {
        guard queries.table.contains(item.slot), queries.table[item.slot].phase.isRunning(batch) else { return }
        let (settings, turn) = (schedule.settings, queries.markers.oldestTurn)
        let observed = report.observed.run(queries.table[item.slot])
        let sent = actions.count
        let former = queries.table[item.slot].position
        let end = queries.update(item.slot, &schedule) {
            $0.finish(item, outcome, cutShort: cutShort, failedSince: turn, settings, &actions, nowMs: nowMs)
        }
        bind(item, outcome, &schedule, nowMs: nowMs)
        if let observed { observe(observed, item, outcome, end, actions[sent...], &report.observed, nowMs: nowMs) }
        switch end {
        case .refreshed(let effect):
            lastRefreshMs = nowMs
            switch effect.check {
            case .sample: report.counts.checked(item.query.operation, isStale: effect.isChanged)
            case .verification:
                guard effect.isChanged, let former else { break }
                suspects[item.slot] = (nowMs + settings.verifyGraceMs, former)
            case nil:
                report.counts.ran(item.query, effect.causes, isChanged: effect.isChanged, micros: micros)
            }
        case .unusable, .cutShort, .failed(retryAtMs: nil): break
        case .failed(let retryAtMs?): schedule.setTimer(.retry, item.slot, atMs: retryAtMs)
        }
    }

    /// Handles messages that did not reach a gateway's inbox. Keys that are not in this shard concern other shards.
    mutating func sendFailed(_ gateway: NodeID, _ keys: [LiveQueryKey], _ schedule: inout RunSchedule, nowMs: Int64) {
        let (settings, turn) = (schedule.settings, queries.markers.oldestTurn)
        for key in keys {
            guard let slot = queries.table.slot(of: key) else { continue }
            queries.update(slot, &schedule) { $0.sendFailed(gateway, since: turn, settings, nowMs: nowMs) }
        }
    }

    mutating func timerReached(_ timer: TimerHeap.Entry, _ schedule: inout RunSchedule, nowMs: Int64) {
        queries.timerReached(timer, &schedule, nowMs: nowMs)
    }
}
