package import LiveModel

/// Runs and their outcomes: at most one in flight for a live query, many in one statement.
extension RefreshMachine {
    mutating func dispatch(nowMs: Int64) -> [RefreshAction] {
        // The lanes share the pace; what waits for others takes little of it.
        RunPool.Name.allCases.reversed().flatMap { dispatch($0, nowMs: nowMs) }
    }

    private mutating func dispatch(_ name: RunPool.Name, nowMs: Int64) -> [RefreshAction] {
        let lane = name.rawValue
        var actions: [RefreshAction] = []
        while lanes[lane].runsInFlight < lanes[lane].runsMax, let (turn, isPaced) = nextTurn(in: name, nowMs: nowMs) {
            nextBatch += 1
            var items: [RunBatch.Item] = []
            for slot in turn.slots {
                guard let state = states[slot] else { continue }
                switch state.phase {
                case .queued where !isPaced, .paced where isPaced: break
                case .idle, .waiting, .queued, .paced, .judged, .running: continue
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
            lanes[lane].runsInFlight += 1
            if isPaced {
                pace.take(items.count)
                lanes[lane].pacedBatches.insert(nextBatch)
            }
            actions.append(
                .run(
                    RunBatch(
                        id: nextBatch, operation: turn.group.operation, version: turn.group.version, items: items,
                        lane: name)))
        }
        return actions
    }

    /// What has a cause goes first, but one statement may always be of those that have none: they must come to an end.
    private mutating func nextTurn(
        in name: RunPool.Name, nowMs: Int64
    ) -> (turn: (group: DueQueue.Group, slots: [Int32]), isPaced: Bool)? {
        let lane = name.rawValue
        let mayRunPaced = lanes[lane].mayRunPaced(statementsMax: settings.pacedStatementsMax)
        let allowed = mayRunPaced ? pace.available(nowMs: nowMs) : 0
        let pacedFirst = allowed > 0 && lanes[lane].pacedBatches.isEmpty
        if !pacedFirst, let turn = lanes[lane].due.next(limit: settings.batchMax) { return (turn, false) }
        if allowed > 0, let turn = lanes[lane].paced.next(limit: min(allowed, settings.batchMax)) {
            return (turn, true)
        }
        return lanes[lane].due.next(limit: settings.batchMax).map { ($0, false) }
    }

    /// A batch ended. `outcomes` are in the order of its items.
    package mutating func runFinished(_ batch: RunBatch, _ outcomes: [RunOutcome], nowMs: Int64) -> [RefreshAction] {
        lanes[batch.lane.rawValue].runsInFlight -= 1
        lanes[batch.lane.rawValue].pacedBatches.remove(batch.id)
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
    mutating func finish(
        _ item: RunBatch.Item, _ outcome: RunOutcome, _ state: LiveQueryState, _ actions: inout [RefreshAction],
        nowMs: Int64
    ) -> Bool {
        let digest: Digest
        var answer: OperationAnswer?
        switch outcome {
        case .failed(let error):
            failed(item, error, state, &actions, nowMs: nowMs)
            return false
        case .unchanged:
            guard let known = item.knownDigest else { return true }
            digest = known
        case .result(let newDigest, let newAnswer):
            digest = newDigest
            answer = newAnswer
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
            } else if let answer {
                let result = LiveResult(
                    position: item.position, digest: digest, answer: answer,
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

    mutating func failed(
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
}
