package import Inspection
package import LiveModel

/// Observations for operators, until the performer takes them. Nothing by default: then an event costs one branch.
struct Observed: Sendable {
    var scope = ObservationScope.nothing { didSet { isOn = !scope.isEmpty } }
    private(set) var isOn = false
    private(set) var observations: [WorkerObservation] = []
    /// The number of those that did not fit.
    private(set) var dropped = 0

    /// The observations that wait to be taken; the performer takes them after each fact.
    private static let countMax = 4_096

    var isEmpty: Bool { observations.isEmpty && dropped == 0 }

    mutating func append(_ observation: WorkerObservation) {
        if observations.count < Self.countMax { observations.append(observation) } else { dropped += 1 }
    }

    mutating func take() -> (observations: [WorkerObservation], dropped: Int) {
        defer { (observations, dropped) = ([], 0) }
        return (observations, dropped)
    }

    /// Returns the run in flight if it is to be noticed.
    func run(_ query: LiveQueryState) -> RunRecord? {
        guard isOn || query.isTraced else { return nil }
        guard query.isTraced || scope.everything || scope.events || scope.queries.contains(query.query.key) else {
            return nil
        }
        return query.runInFlight
    }
}

/// Noticing what operators look at.
extension ShardQueries {
    func observe(
        _ id: StreamID, _ event: MutationEvent, _ found: RuleIndex.Matches, _ observed: inout Observed, nowMs: Int64
    ) {
        let refreshed = found.live.filter { $0.causes != .observed }
        var verdicts: [(key: LiveQueryKey, verdict: EventVerdict)] = []
        for key in observed.scope.queries {
            guard let slot = queries.table.slot(of: key) else { continue }
            verdicts.append(
                (key, verdict(on: event, id, slot, isRecorded: true, observed.scope.redaction)))
        }
        let (isRecorded, isTailed) = (observed.scope.events, observed.scope.everything)
        guard isTailed || isRecorded || event.isTraced || !verdicts.isEmpty else { return }
        let matches = refreshed.prefix(EventObservation.matchesMax).map { slot, causes in
            let query = queries.table[slot].query
            return EventObservation.Match(key: query.key, operation: query.operation, rules: causes.ofRun.names)
        }
        observed.append(
            .event(
                EventObservation(
                    shard: shard, id: id, event: event, considered: queries.table.count, matched: refreshed.count,
                    matches: matches, verdicts: verdicts, appliedAtMs: nowMs,
                    others: isRecorded ? concernedOtherwise(refreshed) : [])))
    }

    /// Returns the live queries that no rule on mutations would have to find.
    private func concernedOtherwise(_ found: [(slot: Int32, causes: RuleIndex.Causes)]) -> [LiveQueryKey] {
        found.lazy.filter { !$0.causes.kinds.subtracting([.trigger, .observed]).isEmpty }
            .map { queries.table[$0.slot].query.key }
    }

    /// - Parameter isRecorded: false if the rules are asked afterwards.
    func verdict(
        on event: MutationEvent, _ id: StreamID, _ slot: Int32, isRecorded: Bool, _ redaction: Redaction
    ) -> EventVerdict {
        let rules = queries.table.rules(of: slot).explain(event, redaction)
        return EventVerdict(
            atMs: event.committedAtMs, id: id.description, mutation: event.operation.description,
            trace: event.traceID, isRecorded: isRecorded, isMatched: rules.contains(where: \.isMatch), rules: rules)
    }

    /// - Parameter sent: the actions that followed from the end of the run.
    func observe(
        _ started: RunRecord, _ item: RunBatch.Item, _ outcome: RunOutcome, _ end: LiveQueryState.RunEnd,
        _ sent: ArraySlice<RefreshAction>, _ observed: inout Observed, nowMs: Int64
    ) {
        var run = started
        run.ms = nowMs - started.startedAtMs
        switch (outcome, end) {
        case (.failed(let error), _): (run.outcome, run.error) = (.failed, error.message)
        case (.cutShort, _): run.outcome = .cutShort
        // A first result has no former one to differ from.
        case (_, .refreshed(let effect)): run.outcome = effect.isChanged || effect.isFirst ? .changed : .same
        case (.unchanged, _), (.result, _): run.outcome = .same
        }
        if queries.table.contains(item.slot) { run.digest = queries.table[item.slot].digest?.hex }
        run.gateways = sent.compactMap { action in
            guard case .send(let gateway, .result) = action else { return nil }
            return gateway.name
        }
        observed.append(.run(item.query.key, item.query.operation, shard, run))
    }
}

extension RuleIndex.Causes {
    /// `key`, `rule`, `rows`
    var names: [String] {
        (contains(.implicit) ? ["key"] : []) + (contains(.trigger) ? ["rule"] : [])
            + (contains(.automatic) ? ["rows"] : [])
    }
}

/// The observations of all shards.
extension RefreshMachine {
    package var scope: ObservationScope {
        get { report.observed.scope }
        set { report.observed.scope = newValue }
    }

    package var hasObservations: Bool { !report.observed.isEmpty }

    package mutating func takeObservations() -> (observations: [WorkerObservation], dropped: Int) {
        report.observed.take()
    }

    /// Returns what is known of a live query, and the verdicts of its rules on the newest events that its shard
    /// remembers; nil if it is not registered here.
    package func inspect(
        _ key: LiveQueryKey, events count: Int, _ redaction: Redaction, nowMs: Int64
    ) -> (query: LiveQuery, owner: OwnerReport, events: [EventVerdict])? {
        for shard in shards.values {
            guard let slot = shard.queries.table.slot(of: key) else { continue }
            let events = shard.positions.newestEvents(count).compactMap { entry in
                entry.event.map { shard.verdict(on: $0, entry.id, slot, isRecorded: false, redaction) }
            }
            return (shard.queries.table[slot].query, shard.ownerReport(slot, nowMs: nowMs), events)
        }
        return nil
    }
}

extension RefreshMachine {
    /// Returns live queries and when each was registered, in no order.
    /// - Parameter limit: the most to return.
    package func registered(limit: Int) -> [(query: LiveQuery, sinceMs: Int64)] {
        var found: [(query: LiveQuery, sinceMs: Int64)] = []
        for shard in shards.values where found.count < limit {
            found += shard.queries.table.states.prefix(limit - found.count).map { ($0.query, $0.sinceMs) }
        }
        return found
    }
}

extension ShardQueries {
    fileprivate func ownerReport(_ slot: Int32, nowMs: Int64) -> OwnerReport {
        let query = queries.table[slot]
        let isRunning = if case .running = query.phase { true } else { false }
        return OwnerReport(
            shard: shard.number, epoch: epoch, sinceMs: query.sinceMs, phase: query.phase.text,
            runningForMs: isRunning ? max(0, nowMs - query.lastStartMs) : 0, runs: query.runs,
            failures: query.failures, lastError: query.lastFailure?.error.message,
            waitsFor: query.otherServers, digest: query.digest?.hex, position: query.position?.description,
            lastTriggerAtMs: query.lastTriggerMs, lastRunAtMs: query.lastFinishMs, lastRunMs: query.lastRunMs,
            everyMs: query.everyMs, lastEventID: lastEventID.description,
            subscribers: query.subscribers.sortedGateways.map { gateway in
                let subscriber = query.subscribers[gateway]
                return OwnerReport.Subscriber(
                    gateway: gateway.name, digest: subscriber?.digest?.hex,
                    awaitsAnswer: subscriber?.awaitsAnswer ?? false)
            })
    }
}

extension LiveQueryPhase {
    fileprivate var text: String {
        switch self {
        case .idle: "idle"
        case .waiting: "waiting"
        case .queued: "queued"
        case .paced: "paced"
        case .awaitingReplay: "awaitingReplay"
        case .running: "running"
        }
    }
}
