import LiveModel
import Pacing

/// One registered live query: its subscribers, what they hold, and where it stands between two runs.
///
/// At most one run is in flight; a trigger meanwhile asks for one more. `ScheduledQueries.update` sees every change of
/// `phase` and puts the live query into the queue or the timer that the phase stands for.
struct LiveQueryState: Sendable {
    /// The oldest event that no finished run covers.
    struct Cause: Sendable {
        var traceID: String
        var committedAtMs: Int64

        static let none = Cause(traceID: "", committedAtMs: 0)
    }

    /// How an announcement of a registered live query is answered.
    enum Renewal {
        /// At once: what the gateway holds is the result at this position.
        case confirmed(LiveQueryKey, Digest, Position)
        case byReplay
        case byRun
    }

    enum RunEnd {
        case refreshed
        /// The answer was `unchanged` though no digest was known: another run follows.
        case unusable
        /// - Parameter retryAtMs: nil if the phase says when.
        case failed(retryAtMs: Int64?)
    }

    typealias Phase = LiveQueryPhase

    let query: LiveQuery
    let everyMs: Int64?
    let pool: RunPool.Name
    private(set) var phase = Phase.idle
    private(set) var subscribers = Subscribers()
    /// The result that the last run found or a replay confirmed; nil while there is none.
    private(set) var digest: Digest?
    private(set) var position: Position?
    private(set) var failures = 0
    private(set) var runs: UInt64 = 0
    private(set) var lastTriggerMs: Int64 = 0
    private(set) var lastFinishMs: Int64 = 0
    private(set) var lastRunMs: Int64 = 0
    private var lastStartMs: Int64 = .min / 2
    private var cause: Cause?
    /// The cause that the run in flight serves.
    private var runningCause: Cause?
    /// Whether a timer is among the causes of the next run, and of the run in flight.
    private var isTimerRunDue = false
    private var isTimerRun = false
    private var intervalDueMs: Int64?
    /// When a run that failed for good is tried again.
    private var retryDueMs: Int64?

    init(query: LiveQuery, everyMs: Int64?, pool: RunPool.Name) {
        self.query = query
        self.everyMs = everyMs
        self.pool = pool
    }

    var group: DueQueue.Group {
        DueQueue.Group(
            operation: query.operation, version: query.version, hasFailed: pool == .remote && failures > 0)
    }

    // MARK: Subscribers

    /// - Returns: true for a gateway that did not subscribe before.
    mutating func subscribe(_ gateway: NodeID, _ subscriber: Subscribers.Subscriber) -> Bool {
        subscribers.insert(gateway, subscriber)
    }

    /// - Returns: false for a gateway that did not subscribe.
    mutating func unsubscribe(_ gateway: NodeID) -> Bool { subscribers.remove(gateway) }

    /// Answers the announcement that a subscriber just renewed.
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
            // Idle: no applied event touched it.
            return .confirmed(
                query.key, known.digest, positions.newerRank(of: position.through(positions.lastEventID), or: known))
        case .idle, .waiting, .queued, .paced, .running: return .byRun
        }
    }

    /// A first announcement brought this result.
    mutating func adopt(_ digest: Digest, _ position: Position) {
        self.digest = digest
        self.position = position
    }

    mutating func awaitReplay() { phase = .awaitingReplay }

    /// No event up to `id` touched what the subscribers hold.
    /// - Returns: those that hold it and wait for an answer, by name, with the number of their announcements. The
    ///   others that wait get a run.
    mutating func confirm(through id: StreamID, gapMs: Int64, nowMs: Int64) -> [(gateway: NodeID, answers: UInt64)] {
        guard let digest, let read = position else { preconditionFailure("nothing to confirm: \(self)") }
        phase = .idle
        position = Position(epoch: read.epoch, run: read.run, id: id)
        let (confirmed, othersWait) = subscribers.confirm(digest)
        if othersWait { trigger(.none, gapMs: gapMs, nowMs: nowMs) }
        return confirmed
    }

    /// A message did not reach the gateway's inbox, so what it holds is unknown: it gets the result again.
    mutating func sendFailed(_ gateway: NodeID, _ settings: RefreshSettings, nowMs: Int64) {
        guard subscribers.forgetHeld(gateway) else { return }
        if case .idle = phase { phase = .waiting(untilMs: nowMs + settings.retryBackoff.delayMs(after: failures)) }
        failures += 1
    }

    /// What the gateway holds, if that is the result as of all applied events.
    func settledDigest(of gateway: NodeID) -> Digest? {
        guard case .idle = phase, failures == 0, let digest, let subscriber = subscribers[gateway],
            !subscriber.awaitsAnswer, subscriber.digest == digest
        else { return nil }
        return digest
    }

    // MARK: Triggers

    /// - Parameter isPaced: no new event is the cause, and nobody waits for a first result.
    mutating func trigger(_ cause: Cause, isPaced: Bool = false, gapMs: Int64, nowMs: Int64) {
        lastTriggerMs = nowMs
        // The oldest cause stays: latency is measured for the event that waited longest.
        if self.cause == nil || self.cause?.traceID.isEmpty == true { self.cause = cause }
        switch phase {
        case .idle, .awaitingReplay:
            let earliestMs = lastStartMs + gapMs
            phase = isPaced ? .paced : nowMs >= earliestMs ? .queued : .waiting(untilMs: earliestMs)
        case .paced: if !isPaced { phase = .queued }
        case .running(let batch, _): phase = .running(batch: batch, again: true)
        case .waiting, .queued: break
        }
    }

    /// For a new subscriber: a run yet to start will serve it, one in flight may lack the body it needs.
    mutating func triggerUnlessPending(isPaced: Bool, gapMs: Int64, nowMs: Int64) {
        switch phase {
        case .idle, .awaitingReplay, .running, .paced: trigger(.none, isPaced: isPaced, gapMs: gapMs, nowMs: nowMs)
        case .waiting, .queued: break
        }
    }

    /// The gap or the back-off is over, unless the phase changed since that timer was set.
    mutating func gapEnded(_ deadlineMs: Int64) {
        if case .waiting(untilMs: deadlineMs) = phase { phase = .queued }
    }

    /// The pause after a failure that looked final is over, unless a run succeeded or failed since.
    mutating func retryReached(_ deadlineMs: Int64, gapMs: Int64, nowMs: Int64) {
        guard retryDueMs == deadlineMs, failures > 0 else { return }
        trigger(cause ?? .none, gapMs: gapMs, nowMs: nowMs)
    }

    /// - Returns: when the `every` rule is due next; nil without one.
    mutating func scheduleInterval(nowMs: Int64) -> Int64? {
        intervalDueMs = everyMs.map { IntervalGrid.next(after: nowMs, everyMs: $0, key: query.key) }
        return intervalDueMs
    }

    /// The `every` rule is due.
    /// - Returns: when next; nil if this is not the deadline that was set.
    mutating func intervalReached(_ deadlineMs: Int64, gapMs: Int64, nowMs: Int64) -> Int64? {
        guard intervalDueMs == deadlineMs else { return nil }
        isTimerRunDue = true
        trigger(.none, gapMs: gapMs, nowMs: nowMs)
        return scheduleInterval(nowMs: nowMs)
    }
}

extension LiveQueryState: CustomStringConvertible {
    func report(in shard: ShardID) -> LiveQueryReport {
        LiveQueryReport(
            key: query.key, operation: query.operation, shard: shard, gateways: subscribers.sortedGateways,
            everyMs: everyMs, digest: digest, position: position, lastTriggerMs: lastTriggerMs,
            lastFinishMs: lastFinishMs, lastRunMs: lastRunMs, runs: runs, failures: failures)
    }

    /// Without variables and claims, which are the users' own.
    var description: String {
        "\(query.operation) \(query.key): \(phase), \(subscribers.count) subscribers, digest \(digest?.hex ?? "none"), "
            + "position \(position?.description ?? "none"), \(runs) runs, \(failures) failures"
    }
}

// MARK: - Runs

extension LiveQueryState {
    struct Run {
        let query: LiveQuery
        let knownDigest: Digest?
        /// The trace of the event that caused it; empty for a first run or a timer.
        let traceID: String
    }

    /// - Returns: nil if it left the queue that its turn came from.
    mutating func start(batch: UInt64, isPaced: Bool, nowMs: Int64) -> Run? {
        switch phase {
        case .queued where !isPaced, .paced where isPaced: break
        case .idle, .waiting, .queued, .paced, .awaitingReplay, .running: return nil
        }
        phase = .running(batch: batch, again: false)
        lastStartMs = nowMs
        (runningCause, cause) = (cause, nil)
        (isTimerRun, isTimerRunDue) = (isTimerRunDue, false)
        return Run(query: query, knownDigest: subscribers.sharedDigest, traceID: runningCause?.traceID ?? "")
    }

    /// The run in flight ended.
    /// - Parameter actions: receives the messages to its subscribers.
    mutating func finish(
        _ item: RunBatch.Item, _ outcome: RunOutcome, _ settings: RefreshSettings, _ actions: inout [RefreshAction],
        nowMs: Int64
    ) -> RunEnd {
        guard case .running(_, var again) = phase else { preconditionFailure("no run in flight: \(self)") }
        phase = .idle
        lastFinishMs = nowMs
        lastRunMs = nowMs - lastStartMs
        runs += 1
        let end: RunEnd
        switch outcome {
        case .failed(let error):
            end = .failed(retryAtMs: fail(item, error, settings, &actions, nowMs: nowMs))
        case .unchanged:
            if let known = item.knownDigest {
                end = .refreshed
                if refresh(item, known, nil, &actions) { again = true }
            } else {
                end = .unusable
                again = true
            }
        case .result(let digest, let answer):
            end = .refreshed
            if refresh(item, digest, answer, &actions) { again = true }
        }
        runningCause = nil
        // A back-off stands in for the further run.
        if again, case .idle = phase { trigger(cause ?? .none, gapMs: settings.coalesceGapMs, nowMs: nowMs) }
        return end
    }

    /// - Returns: true if a subscriber needs the body and the run brought none.
    private mutating func refresh(
        _ item: RunBatch.Item, _ digest: Digest, _ answer: OperationAnswer?, _ actions: inout [RefreshAction]
    ) -> Bool {
        failures = 0
        adopt(digest, item.position)
        let body = answer.map { answer in
            LiveResult(
                position: item.position, digest: digest, answer: answer, traceID: runningCause?.traceID ?? "",
                committedAtMs: runningCause?.committedAtMs ?? 0)
        }
        return subscribers.refresh(item, (digest, body), isTimerRun: isTimerRun, &actions)
    }

    /// - Returns: when a run that failed for good is tried again; nil after a passing fault, which is a back-off.
    private mutating func fail(
        _ item: RunBatch.Item, _ error: RequestError, _ settings: RefreshSettings, _ actions: inout [RefreshAction],
        nowMs: Int64
    ) -> Int64? {
        // The events behind this run are still not covered, so no older result may be confirmed.
        if let runningCause { cause = runningCause }
        digest = nil
        subscribers.fail(item, error, &actions)
        let delayMs = settings.retryBackoff.delayMs(after: failures)
        failures += 1
        guard !error.code.isRetryable else {
            phase = .waiting(untilMs: nowMs + delayMs)
            return nil
        }
        // Even a failure that looks final is retried, if seldom: a table may come back, a failover end. Events and new
        // subscribers do not wait for that.
        retryDueMs = nowMs + settings.failedRetryMs
        return retryDueMs
    }
}
