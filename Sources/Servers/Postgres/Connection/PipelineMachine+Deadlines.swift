import DequeModule

extension PipelineMachine {
    /// Times out jobs, requests the cancellation of a statement that is overdue or delays others, and gives the
    /// connection up when the server does not confirm a cancellation.
    ///
    /// A job's time limit restarts when it becomes first in the pipeline (`PipelineJob.runTimeoutMs`), so it does not
    /// pay for those before it.
    mutating func timeReached(_ nowMs: Int) {
        guard hasWork, nowMs >= nextScanMs else { return }
        nextScanMs = nowMs + limits.scanIntervalMs
        expirePending(nowMs)
        let slots = slotsInFlight()
        // Nothing is sent meanwhile. Only reads and jobs that were not sent can go to another connection.
        if isCancelling, role == .read || slots.isEmpty, nowMs >= cancelStartedMs + limits.cancelGraceMs {
            return lose("a cancel request has not ended after \(limits.cancelGraceMs) ms")
        }
        guard let first = slots.first else {
            head = nil
            return
        }
        let headSinceMs = findHead(first, nowMs)
        if nowMs >= max(jobs[first].deadlineMs, headSinceMs) + limits.cancelGraceMs { return giveUp(nowMs) }
        requestCancelOfHead(first, othersWait: slots.count > 1 || !pending.isEmpty, nowMs)
        for slot in slots where nowMs >= jobs[slot].deadlineMs {
            if jobs[slot].kind.isRead {
                var error = PostgresError.timedOut(outcomeUnknown: false)
                error.ranTooLong = slot == first && jobs[slot].job.runTimeoutMs != nil
                failEarly(slot, error)
            } else if jobs[slot].job.runTimeoutMs == nil, nowMs >= jobs[slot].deadlineMs + limits.cancelGraceMs {
                // It waits behind others and may commit later.
                failEarly(slot, .timedOut(outcomeUnknown: true))
            }
        }
    }

    /// - Returns: when the job became first in the pipeline.
    private mutating func findHead(_ slot: Slot, _ nowMs: Int) -> Int {
        let id = jobs.id(of: slot)
        if let head, head.id == id { return head.sinceMs }
        head = Head(id: id, sinceMs: nowMs, nextCancelMs: nowMs)
        guard let timeoutMs = jobs[slot].job.runTimeoutMs else { return nowMs }
        // No caller waits for one that was answered early: it is cancelled now.
        jobs[slot].deadlineMs = jobs[slot].isAnswered ? nowMs : nowMs + timeoutMs
        return nowMs
    }

    /// Cancels the job that the server works on when its time is over, when nobody waits for its answer any more, or
    /// when it is slow and others wait behind it.
    private mutating func requestCancelOfHead(_ slot: Slot, othersWait: Bool, _ nowMs: Int) {
        guard let head else { return }
        let isLong = nowMs - head.sinceMs >= limits.heldUpAfterMs
        self.head?.isLong = isLong
        var mustCancel = nowMs >= jobs[slot].deadlineMs || isLong && jobs[slot].isAnswered && jobs[slot].kind.isRead
        let forMs = nowMs - head.sinceMs
        // One whose statement proved to be slow after it was sent has been given the benefit of the doubt by others.
        if let slowAfterMs = jobs[slot].job.slowAfterMs,
            forMs >= slowAfterMs || isLong && jobs[slot].job.isKnownSlow
        {
            if !jobs[slot].isSlow, forMs >= slowAfterMs {
                jobs[slot].isSlow = true
                decide(.reportSlow(jobs[slot].job))
            }
            // Too late for another connection: the time to wait for one would be over.
            if othersWait || jobs[slot].job.isAwaited, mayInterrupt(slot),
                nowMs < jobs[slot].job.deadlineMs - slowAfterMs
            {
                mustCancel = true
                jobs[slot].isRerouting = true
            }
        }
        guard mustCancel, !isCancelling, nowMs >= head.nextCancelMs else { return }
        decide(.requestCancel)
    }

    /// Whether a cancel request for the job at the head cannot end the wait of a commit for a standby.
    private func mayInterrupt(_ slot: Slot) -> Bool {
        switch jobs[slot].kind {
        case .read: return true
        case .transaction:
            // Its last step is answered: the server commits.
            if case .sync = pipeline.first { return false }
            return commitsAlone
        case .session, .script: return false
        }
    }

    private mutating func expirePending(_ nowMs: Int) {
        guard pending.contains(where: { jobs[$0].isAnswered || jobs[$0].deadlineMs <= nowMs }) else { return }
        let error = overdueError
        // One full rotation keeps the queue's order.
        for _ in 0..<pending.count {
            let slot = pending.removeFirst()
            if jobs[slot].isAnswered || jobs[slot].deadlineMs <= nowMs {
                dropQueued(slot, error)
            } else {
                pending.append(slot)
            }
        }
    }

    /// The error of an overdue job: without a connection, the reason for that is more useful than the timeout.
    private var overdueError: PostgresError {
        connectError.map { PostgresError(.connectionFailed, $0.message) } ?? .timedOut(outcomeUnknown: false)
    }

    /// Gives the connection up, because neither an answer nor a cancellation came: the server or the network hangs.
    private mutating func giveUp(_ nowMs: Int) {
        for slot in slotsInFlight() where nowMs >= jobs[slot].deadlineMs {
            let isRead = jobs[slot].kind.isRead
            let isCancelled = isRead && jobs[slot].isCancelRequested
            failEarly(slot, isCancelled ? .cancelledByCaller : .timedOut(outcomeUnknown: !isRead))
        }
        lose("no answer within \(limits.cancelGraceMs) ms after a deadline")
    }

    /// The jobs sent and not fully answered, in order.
    func slotsInFlight() -> [Slot] {
        if case .script(let slot) = mode { return [slot] }
        var slots: [Slot] = []
        for expectation in pipeline {
            if let slot = expectation.slot, slots.last != slot { slots.append(slot) }
        }
        return slots
    }

    // MARK: cancel requests

    /// Reports that a cancel request is in progress; it cancels whichever statement runs when it reaches the server.
    mutating func cancelRequestStarted() {
        guard isConnected else { return }
        for slot in slotsInFlight() { jobs[slot].isExposedToCancel = true }
        cancelStartedMs = nextScanMs - limits.scanIntervalMs
        head?.nextCancelMs = nextScanMs + limits.cancelIntervalMs
        isCancelling = true
    }

    mutating func cancelRequestEnded(generation: Int) {
        if generation == self.generation { isCancelling = false }
    }
}
