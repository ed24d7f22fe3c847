import LiveModel

/// When a live query runs: coalescing, gaps, intervals, the pace of runs without a cause.
extension RefreshMachine {
    /// - Parameter isPaced: no event of now caused it, and nobody waits for a first result.
    mutating func trigger(
        _ slot: Int32, cause: LiveQueryState.Cause, isPaced: Bool = false, nowMs: Int64
    ) {
        guard let state = states[slot] else { return }
        states[slot]?.lastTriggerMs = nowMs
        // The oldest cause stays: latency is told for the event that waited longest.
        if state.cause == nil || state.cause?.traceID.isEmpty == true { states[slot]?.cause = cause }
        switch state.phase {
        case .idle, .judged:
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
    mutating func triggerUnlessPending(_ slot: Int32, isPaced: Bool, nowMs: Int64) {
        switch states[slot]?.phase {
        case .idle, .judged, .running, .paced: trigger(slot, cause: .none, isPaced: isPaced, nowMs: nowMs)
        case .waiting, .queued, nil: break
        }
    }

    mutating func enter(_ phase: LiveQueryState.Phase, _ slot: Int32) {
        guard let state = states[slot] else { return }
        if case .judged = state.phase { shards[state.shard]?.replay.forget(slot) }
        shards[state.shard]?.phases[state.phase.name] -= 1
        shards[state.shard]?.phases[phase.name] += 1
        states[slot]?.phase = phase
    }

    mutating func enqueue(_ slot: Int32) {
        guard let state = states[slot] else { return }
        enter(.queued, slot)
        lanes[state.lane.rawValue].due.append(slot, to: state.group)
    }

    mutating func enqueuePaced(_ slot: Int32) {
        guard let state = states[slot] else { return }
        // Those that an event took out of turn still stand there.
        let lane = state.lane.rawValue
        if lanes[lane].paced.count > 2 * states.count + Self.leftoversMax {
            let living = states
            lanes[lane].paced.keep { if case .paced = living[$0]?.phase { true } else { false } }
        }
        enter(.paced, slot)
        shards[state.shard]?.takeOver.rerun += 1
        lanes[lane].paced.append(slot, to: state.group)
    }

    mutating func wait(_ slot: Int32, untilMs: Int64) {
        enter(.waiting(untilMs: untilMs), slot)
        timers.insert(.init(deadlineMs: untilMs, slot: slot, kind: .gap))
    }

    mutating func scheduleInterval(_ slot: Int32, nowMs: Int64) {
        guard let state = states[slot], let everyMs = state.everyMs else { return }
        let deadline = IntervalGrid.next(after: nowMs, everyMs: everyMs, key: state.query.key)
        states[slot]?.intervalDueMs = deadline
        timers.insert(.init(deadlineMs: deadline, slot: slot, kind: .interval))
    }

    /// When `timeReached` should be called next; nil when nothing waits for a time.
    package var nextDeadlineMs: Int64? {
        let mayRunPaced = lanes.contains {
            $0.runsInFlight < $0.runsMax && $0.mayRunPaced(statementsMax: settings.pacedStatementsMax)
        }
        return [timers.earliestMs, replayStartsMs.values.min(), mayRunPaced ? pace.nextMs : nil].compactMap { $0 }.min()
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
        return startReplays(nowMs: nowMs) + dispatch(nowMs: nowMs)
    }
}
