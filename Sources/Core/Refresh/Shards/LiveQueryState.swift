import Inspection
import LiveModel
import Pacing

/// A registered live query: its subscribers, the results they hold, and its phase between two runs.
///
/// The file is long because every change of the phase stands here. At most one run is in flight; a trigger meanwhile
/// requests one more. `ScheduledQueries.update` sees every change of `phase` and puts the live query into the queue or
/// timer of the new phase.
struct LiveQueryState: Sendable {
    /// The oldest event that no finished run covers.
    struct Cause: Sendable {
        var traceID: String
        var committedAtMs: Int64
        var isTraced = false

        static let none = Cause(traceID: "", committedAtMs: 0)
    }

    /// The kind of answer to an announcement of a registered live query.
    enum Renewal {
        /// Immediate: the gateway's result is still the result, at this position.
        case confirmed(LiveQueryKey, Digest, Position)
        case byReplay
        case byRun
    }

    enum RunEnd {
        case refreshed(Effect)
        /// The answer was `unchanged` although no digest was known: another run follows.
        case unusable
        /// Another run follows, with fewer others or apart from them.
        case cutShort
        /// - Parameter retryAtMs: the time of the retry; nil if the phase holds it.
        case failed(retryAtMs: Int64?)
    }

    /// Why the result was read, and whether it was another one than before.
    struct Effect {
        let isChanged: Bool
        /// Whether there was no result to compare with.
        var isFirst = false
        let causes: RuleIndex.Causes
        let check: Check?
    }

    /// A run to compare the result with what the subscribers have.
    enum Check {
        case verification
        /// A look whether a change that no rule noticed made the result stale.
        case sample
    }

    typealias Phase = LiveQueryPhase

    let query: LiveQuery
    let everyMs: Int64?
    /// The other servers that a run waits for.
    let otherServers: [String]
    /// The client that subscribes; nil if it is unknown, or there are several.
    private(set) var client: ClientID?
    private(set) var speed = QuerySpeed()
    private(set) var phase = Phase.idle
    private(set) var subscribers = Subscribers()
    /// The digest that the last run found or a replay confirmed; nil if there is none.
    private(set) var digest: Digest?
    private(set) var position: Position?
    private(set) var failures = 0
    private(set) var runs: UInt64 = 0
    private(set) var lastTriggerMs: Int64 = 0
    private(set) var lastFinishMs: Int64 = 0
    private(set) var lastRunMs: Int64 = 0
    let sinceMs: Int64
    /// Why the last run failed; nil if it did not. An object, because hardly any live query has one.
    private(set) var lastFailure: Failure?
    private(set) var lastStartMs: Int64 = .min / 2
    private var cause: Cause?
    /// The cause of the run in flight.
    private var runningCause: Cause?
    /// The reasons that events gave for the next run, and for the one in flight.
    private var causesDue: RuleIndex.Causes = []
    private var runningCauses: RuleIndex.Causes = []
    /// The events that the next run, and the one in flight, answers.
    private var eventsDue: UInt32 = 0
    private var runningEvents: UInt32 = 0
    /// Set while nothing but a check causes the next run, and the one in flight.
    private var checkDue: Check?
    private var runningCheck: Check?
    /// Whether a timer is among the causes of the next run, and of the run in flight.
    private var isTimerRunDue = false
    private var isTimerRun = false
    /// Whether the last run began as a check, which delays no other run.
    private var wasCheck = false
    private var intervalDueMs: Int64?
    /// When to retry after a failure that looked final.
    private var retryDueMs: Int64?
    /// The turn of the oldest event that the next run, and the one in flight, answers; nil: no event causes it, but a
    /// timer, a check or a subscriber. While it is set, that run is pending, or in flight.
    private var owedDue: ShardMarkers.Turn?
    private var owedRunning: ShardMarkers.Turn?

    final class Failure: Sendable {
        let error: RequestError
        init(_ error: RequestError) { self.error = error }
    }

    init(query: LiveQuery, everyMs: Int64?, otherServers: [String], client: ClientID?, nowMs: Int64) {
        sinceMs = nowMs
        self.query = query
        self.everyMs = everyMs
        self.otherServers = otherServers
        self.client = client
    }

    /// Records who subscribes, now also on another gateway perhaps.
    mutating func subscribed(by client: ClientID?) {
        if client != self.client { self.client = nil }
    }

    /// The turn since which subscribers may lack a result that an event changed; nil if they do not.
    var owedSince: ShardMarkers.Turn? {
        guard let owedDue, let owedRunning else { return owedDue ?? owedRunning }
        return min(owedDue, owedRunning)
    }

    private mutating func owe(since turn: ShardMarkers.Turn?) {
        if let turn { owedDue = min(owedDue ?? turn, turn) }
    }

    // MARK: Subscribers

    /// - Returns: whether the gateway did not subscribe before.
    mutating func subscribe(_ gateway: NodeID, _ subscriber: Subscribers.Subscriber) -> Bool {
        subscribers.insert(gateway, subscriber)
    }

    /// - Returns: whether the gateway subscribed.
    mutating func unsubscribe(_ gateway: NodeID) -> Bool { subscribers.remove(gateway) }

    /// Chooses the answer to an announcement that a subscriber just renewed.
    mutating func renew(
        _ gateway: NodeID, _ known: KnownResult?, requiresFreshRun: Bool, _ positions: ShardPositions
    ) -> Renewal {
        guard !requiresFreshRun, let known, known.digest == digest, let position, let subscriber = subscribers[gateway]
        else {
            return .byRun
        }
        switch phase {
        case .awaitingReplay:
            self.position = positions.newerRank(of: position, or: known)
            return .byReplay
        case .idle where positions.isAfter(subscriber.afterRun, position):
            subscribers.answered(gateway)
            // While the live query is idle, no applied event concerned it.
            return .confirmed(
                query.key, known.digest, positions.newerRank(of: position.through(positions.lastEventID), or: known))
        case .idle, .waiting, .queued, .paced, .running: return .byRun
        }
    }

    /// Adopts the result that a first announcement carried.
    mutating func adopt(_ digest: Digest, _ position: Position) {
        self.digest = digest
        self.position = position
    }

    mutating func awaitReplay() { phase = .awaitingReplay }

    /// Confirms the subscribers' result, because no event up to `id` concerned it.
    /// - Returns: the gateways that hold the result and await an answer, sorted, with their announcement numbers. A run
    ///   is triggered for others that await an answer.
    mutating func confirm(through id: StreamID, gapMs: Int64, nowMs: Int64) -> [(gateway: NodeID, answers: UInt64)] {
        guard let digest, let read = position else { preconditionFailure("nothing to confirm: \(self)") }
        phase = .idle
        position = Position(epoch: read.epoch, run: read.run, id: id)
        let (confirmed, othersWait) = subscribers.confirm(digest)
        if othersWait { trigger(.none, gapMs: gapMs, nowMs: nowMs) }
        return confirmed
    }

    /// Schedules another delivery of the result after a message failed to reach the gateway's inbox, because its state
    /// is unknown.
    /// - Parameter turn: the turn of the events that the message may answer.
    mutating func sendFailed(
        _ gateway: NodeID, since turn: ShardMarkers.Turn, _ settings: RefreshSettings, nowMs: Int64
    ) {
        guard subscribers.forgetHeld(gateway) else { return }
        switch phase {
        case .idle: phase = .waiting(untilMs: nowMs + settings.retryBackoff.delayMs(after: failures))
        case .waiting, .queued, .paced, .awaitingReplay, .running: break
        }
        // The run in flight sends its result to the gateway.
        if case .running = phase { owedRunning = min(owedRunning ?? turn, turn) } else { owe(since: turn) }
        failures += 1
    }

    /// Returns the digest that the gateway holds if it is the result as of all applied events.
    func settledDigest(of gateway: NodeID) -> Digest? {
        guard case .idle = phase, failures == 0, let digest, let subscriber = subscribers[gateway],
            !subscriber.awaitsAnswer, subscriber.digest == digest
        else { return nil }
        return digest
    }

    // MARK: Triggers

    /// - Parameters:
    ///   - isPaced: whether the trigger is neither a new event nor a subscriber without a result.
    ///   - turn: the turn of the event that may have changed the result; nil: there is none.
    mutating func trigger(
        _ cause: Cause, _ causes: RuleIndex.Causes = [], isPaced: Bool = false,
        owedSince turn: ShardMarkers.Turn? = nil, gapMs: Int64, nowMs: Int64
    ) {
        owe(since: turn)
        causesDue.formUnion(causes)
        if !causes.isEmpty { eventsDue &+= 1 }
        (checkDue, runningCheck) = (nil, nil)
        lastTriggerMs = nowMs
        // Keep the oldest cause: latency is measured for the event that waited longest.
        if self.cause == nil || self.cause?.traceID.isEmpty == true { self.cause = cause }
        switch phase {
        case .idle, .awaitingReplay:
            let earliestMs = wasCheck ? nowMs : lastStartMs + gapMs
            phase = isPaced ? .paced : nowMs >= earliestMs ? .queued : .waiting(untilMs: earliestMs)
        case .paced: if !isPaced { phase = .queued }
        case .running(let batch, _): phase = .running(batch: batch, isDirty: true)
        case .waiting, .queued: break
        }
    }

    /// Whether a run would show whether the subscribers have the current result.
    var canBeChecked: Bool {
        guard case .idle = phase, failures == 0, let digest else { return false }
        return subscribers.allHold(digest)
    }

    /// Triggers a run to compare the result.
    mutating func check(_ check: Check, gapMs: Int64, nowMs: Int64) {
        trigger(.none, isPaced: true, gapMs: gapMs, nowMs: nowMs)
        checkDue = check
    }

    /// Triggers a run for a new subscriber unless one is pending; a run in flight may lack the body it needs.
    mutating func triggerUnlessPending(isPaced: Bool, gapMs: Int64, nowMs: Int64) {
        switch phase {
        case .idle, .awaitingReplay, .running, .paced: trigger(.none, isPaced: isPaced, gapMs: gapMs, nowMs: nowMs)
        case .waiting, .queued: break
        }
    }

    /// Ends the gap or back-off, unless the phase changed since that timer was set.
    mutating func gapEnded(_ deadlineMs: Int64) {
        if case .waiting(untilMs: deadlineMs) = phase { phase = .queued }
    }

    /// Retries after a failure that looked final, unless a run succeeded or failed since.
    mutating func retryReached(_ deadlineMs: Int64, gapMs: Int64, nowMs: Int64) {
        guard retryDueMs == deadlineMs, failures > 0 else { return }
        trigger(cause ?? .none, gapMs: gapMs, nowMs: nowMs)
    }

    /// - Returns: the next due time of the `every` rule; nil if there is none.
    mutating func scheduleInterval(nowMs: Int64) -> Int64? {
        intervalDueMs = everyMs.map { IntervalGrid.next(after: nowMs, everyMs: $0, key: query.key) }
        return intervalDueMs
    }

    /// Triggers the run of the `every` rule.
    /// - Returns: the next due time; nil if `deadlineMs` is not the current deadline.
    mutating func intervalReached(_ deadlineMs: Int64, gapMs: Int64, nowMs: Int64) -> Int64? {
        guard intervalDueMs == deadlineMs else { return nil }
        isTimerRunDue = true
        trigger(.none, gapMs: gapMs, nowMs: nowMs)
        return scheduleInterval(nowMs: nowMs)
    }
}

// MARK: - Runs

extension LiveQueryState {
    struct Run {
        let query: LiveQuery
        let knownDigest: Digest?
        /// The trace of the event that caused the run; empty for a first run or a timer.
        let traceID: String
    }

    /// Whether the run in flight answers a traced event.
    var isTraced: Bool { runningCause?.isTraced ?? false }

    /// The run in flight, as far as it is known before its end.
    var runInFlight: RunRecord {
        var causes = runningCauses.names
        if isTimerRun { causes.append("timer") }
        if runningCheck != nil { causes.append("check") }
        if causes.isEmpty { causes.append("subscriber") }
        return RunRecord(
            startedAtMs: lastStartMs, ms: 0, causes: causes, trace: runningCause?.traceID ?? "",
            isTraced: runningCause?.isTraced ?? false, coalesced: Int(runningEvents), outcome: .same, digest: nil,
            error: nil, gateways: [])
    }

    /// - Returns: the run; nil if the live query has left the queue in which its turn came up.
    mutating func start(batch: UInt64, _ turn: RunPool.Turn, in pool: RunPool.Name, nowMs: Int64) -> Run? {
        switch phase {
        case .queued where !turn.isPaced, .paced where turn.isPaced: break
        case .idle, .waiting, .queued, .paced, .awaitingReplay, .running: return nil
        }
        // A queue may hold it from a time when it was faster or slower; first runs may have moved to another pool.
        guard pool == .remote || speed.grade == .unknown || pool == self.pool && turn.group == group else { return nil }
        phase = .running(batch: batch, isDirty: false)
        lastStartMs = nowMs
        (runningCause, cause) = (cause, nil)
        (isTimerRun, isTimerRunDue) = (isTimerRunDue, false)
        (runningCauses, causesDue) = (causesDue, [])
        (runningEvents, eventsDue) = (eventsDue, 0)
        (runningCheck, checkDue) = (isTimerRun ? nil : checkDue, nil)
        wasCheck = runningCheck != nil
        (owedRunning, owedDue) = (owedDue, nil)
        return Run(query: query, knownDigest: subscribers.sharedDigest, traceID: runningCause?.traceID ?? "")
    }

    /// Ends the run in flight.
    /// - Parameters:
    ///   - cutShort: the number of live queries that were cut short together.
    ///   - turn: the turn since which a result is owed if the run failed and is repeated.
    ///   - actions: receives the messages to the subscribers.
    mutating func finish(
        _ item: RunBatch.Item, _ outcome: RunOutcome, cutShort: Int, failedSince turn: ShardMarkers.Turn,
        _ settings: RefreshSettings, _ actions: inout [RefreshAction], nowMs: Int64
    ) -> RunEnd {
        guard case .running(_, var isDirty) = phase else { preconditionFailure("no run in flight: \(self)") }
        phase = .idle
        lastFinishMs = nowMs
        lastRunMs = nowMs - lastStartMs
        runs += 1
        let former = digest
        func effect(_ found: Digest) -> Effect {
            let causes = isTimerRun ? runningCauses.union(.timer) : runningCauses
            return Effect(
                isChanged: former != nil && former != found, isFirst: former == nil, causes: causes,
                check: runningCheck)
        }
        let end: RunEnd
        // Unless another run follows instead.
        let owed = owedRunning
        owedRunning = nil
        switch outcome {
        case .cutShort:
            owe(since: owed)
            speed.wasCutShort(count: cutShort)
            (cause, isTimerRunDue) = (runningCause ?? cause, isTimerRun || isTimerRunDue)
            causesDue.formUnion(runningCauses)
            eventsDue &+= runningEvents
            (phase, isDirty, end) = (.queued, false, .cutShort)
        case .failed(let error):
            // After an error that looks final, subscribers have the error in place of a result. Another one may have
            // answered a gateway that holds a result of before a take-over.
            if error.code.isRetryable { owe(since: owed ?? turn) }
            end = .failed(retryAtMs: fail(item, error, settings, &actions, nowMs: nowMs))
        case .unchanged:
            speed.ran(ms: lastRunMs, settings)
            if let known = item.knownDigest {
                end = .refreshed(effect(known))
                if refresh(item, known, nil, owed: owed, &actions) { isDirty = true }
            } else {
                end = .unusable
                isDirty = true
                owe(since: owed)
            }
        case .result(let digest, let answer, _):
            speed.ran(ms: lastRunMs, settings)
            end = .refreshed(effect(digest))
            if refresh(item, digest, answer, owed: owed, &actions) { isDirty = true }
        }
        (runningCause, runningCheck) = (nil, nil)
        // A back-off replaces the further run.
        if isDirty, case .idle = phase { trigger(cause ?? .none, gapMs: settings.coalesceGapMs, nowMs: nowMs) }
        return end
    }

    /// - Parameter owed: the turn since which the run's result was owed; then another run must follow for subscribers
    ///   that do not get it.
    /// - Returns: whether another run must follow.
    private mutating func refresh(
        _ item: RunBatch.Item, _ digest: Digest, _ answer: OperationAnswer?, owed: ShardMarkers.Turn?,
        _ actions: inout [RefreshAction]
    ) -> Bool {
        failures = 0
        lastFailure = nil
        adopt(digest, item.position)
        let body = answer.map { answer in
            LiveResult(
                position: item.position, digest: digest, answer: answer, traceID: runningCause?.traceID ?? "",
                committedAtMs: runningCause?.committedAtMs ?? 0, isTraced: runningCause?.isTraced ?? false)
        }
        let left = subscribers.refresh(item, (digest, body), isTimerRun: isTimerRun, &actions)
        let mustFollow = left.isBodyMissing || left.isTooEarly && owed != nil
        if mustFollow { owe(since: owed) }
        return mustFollow
    }

    /// - Returns: when to retry after a failure that looks final; nil after a transient error, which leads to a
    ///   back-off.
    private mutating func fail(
        _ item: RunBatch.Item, _ error: RequestError, _ settings: RefreshSettings, _ actions: inout [RefreshAction],
        nowMs: Int64
    ) -> Int64? {
        // The events that caused this run are not covered yet, so no older result may be confirmed.
        if let runningCause { cause = runningCause }
        digest = nil
        lastFailure = Failure(error)
        subscribers.fail(item, error, &actions)
        var delayMs = settings.retryBackoff.delayMs(after: failures)
        // A slow one that fails would otherwise occupy a connection all the time.
        if speed.grade == .slow { delayMs = max(delayMs, min(lastRunMs, settings.failedRetryMs)) }
        failures += 1
        guard !error.code.isRetryable else {
            phase = .waiting(untilMs: nowMs + delayMs)
            return nil
        }
        // Even a failure that looks final is retried, if rarely: a missing table may return, a failover may end. Events
        // and new subscribers do not wait for that.
        retryDueMs = nowMs + settings.failedRetryMs
        return retryDueMs
    }
}
