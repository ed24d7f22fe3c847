import DequeModule

extension PipelineMachine {
    /// Returns the next action, sends included: as many jobs as may be in flight, reads in one batch, one flush at the
    /// end.
    /// - Parameter isIdle: whether no transaction is open, as of the last answer.
    mutating func nextAction(nowMs: Int, isIdle: @autoclosure () -> Bool) -> Action? {
        if let action = decidedAction() { return action }
        switch mode {
        case .offline:
            return nil
        case .script:
            return flush()
        case .pipeline:
            break
        }
        switch sending {
        case .step(let slot, let index):
            return sendStep(slot, index)
        case .sync(let slot):
            return closeGroup(slot)
        case .idle:
            break
        }
        if isLeaving, pipeline.isEmpty {
            lose("the server no longer accepts writes")
            return decidedAction()
        }
        if !isCancelling, !isLeaving, let action = nextSend(nowMs, isIdle()) { return action }
        if isBatchOpen { return closeGroup(nil) }
        return flush()
    }

    private mutating func nextSend(_ nowMs: Int, _ isIdle: @autoclosure () -> Bool) -> Action? {
        // A session's connection can do this only between sessions.
        if statements.hasDiscarded, !isBatchOpen, role != .session || pipeline.isEmpty && isIdle() {
            return deallocate()
        }
        while inFlight < limits.inFlightMax, let slot = pending.first {
            if role == .read, !isBatchOpen, groupsInFlight >= limits.readGroupsMax || isHeadLong { break }
            if jobs[slot].isAnswered {
                pending.removeFirst()
                jobs.remove(slot)
                continue
            }
            guard jobs[slot].deadlineMs > nowMs, belongsHere(slot) else {
                pending.removeFirst()
                dropQueued(slot, belongsHere(slot) ? .notSentInTime : .sessionLost)
                continue
            }
            if jobs[slot].job.isKnownSlow, !isStopping {
                pending.removeFirst()
                divert(slot)
                continue
            }
            if case .script(let sql) = jobs[slot].kind {
                guard pipeline.isEmpty else { break }
                pending.removeFirst()
                return runScript(slot, sql)
            }
            let isTimed = jobs[slot].job.isTimed
            if isBatchOpen, isAlone(slot) || isTimed { return closeGroup(nil) }
            pending.removeFirst()
            enterFlight(slot)
            return isTimed ? announce(slot) : sendStep(slot, 0)
        }
        return decidedAction()
    }

    /// Whether the job has a separate sync.
    private func isAlone(_ slot: Slot) -> Bool { !jobs[slot].kind.isRead || jobs[slot].isIsolated }

    /// Whether the job may use this connection; false for a session's job on an earlier one.
    private func belongsHere(_ slot: Slot) -> Bool {
        jobs[slot].job.generation.map { $0 == generation } ?? true
    }

    /// Sends a step, directly preceded by its preparation: an earlier step may create what the statement refers to.
    private mutating func sendStep(_ slot: Slot, _ index: Int) -> Action {
        let job = jobs[slot].job
        let statement = job.steps[index].statement
        let use = statements.use(statement, group: group)
        if case .prepareFirst(let name) = use {
            pipeline.append(.prepare(statement, name: name, slot, step: index))
            preparedCount += 1
        }
        pipeline.append(.step(slot, index: index))
        justBegun = index == 0 ? slot : nil
        needsFlush = true
        if index + 1 < job.steps.count {
            sending = .step(slot, index: index + 1)
        } else if isAlone(slot) {
            sending = .sync(slot)
        } else {
            sending = .idle
            isBatchOpen = true
        }
        return .send(job, step: index, use)
    }

    /// Precedes a job with a sync. The server answers it when it begins the job, so the time to the job's own answer
    /// includes no network.
    private mutating func announce(_ slot: Slot) -> Action {
        pipeline.append(.start(slot))
        groupsInFlight += 1
        group += 1
        sending = .step(slot, index: 0)
        justBegun = slot
        needsFlush = true
        return .announce(jobs[slot].job)
    }

    /// Closes a group with a sync; nil closes a batch.
    private mutating func closeGroup(_ slot: Slot?) -> Action {
        pipeline.append(.sync(slot))
        groupsInFlight += 1
        group += 1
        sending = .idle
        isBatchOpen = false
        justBegun = nil
        needsFlush = true
        return .sync
    }

    private mutating func deallocate() -> Action? {
        guard let name = statements.takeDiscarded() else { return nil }
        pipeline.append(.deallocate)
        _ = closeGroup(nil)
        return .deallocate(name: name)
    }

    private mutating func runScript(_ slot: Slot, _ sql: String) -> Action {
        enterFlight(slot)
        mode = .script(slot)
        scriptError = nil
        justBegun = nil
        needsFlush = true
        return .runScript(jobs[slot].job, sql: sql)
    }

    private mutating func flush() -> Action? {
        guard needsFlush else { return nil }
        needsFlush = false
        return .flush
    }

    /// Reports that the last send failed, so the connection is unusable.
    mutating func sendFailed(_ message: String) {
        if let slot = justBegun {
            while let last = pipeline.last, last.slot == slot { pipeline.removeLast() }
            leaveFlight(slot)
            pending.prepend(slot)
        }
        lose(message)
    }
}

extension PipelineMachine.Expectation {
    /// The job it belongs to.
    var slot: Int? {
        switch self {
        case .prepare(_, _, let slot, _), .step(let slot, _), .start(let slot): slot
        case .sync(let slot): slot
        case .deallocate: nil
        }
    }
    var isSync: Bool {
        switch self {
        case .start, .sync: true
        case .prepare, .step, .deallocate: false
        }
    }
}
