import DequeModule

extension PipelineMachine {
    /// Times out jobs not sent yet, asks the server to cancel a statement that takes too long, and gives the connection
    /// up when even the cancellation is not confirmed.
    ///
    /// Today a job's time runs from its submission. Both places that compare it with the clock for a job in flight are
    /// in this function and in `giveUp`.
    mutating func timeReached(_ nowMs: Int) {
        guard hasWork, nowMs >= nextScanMs else { return }
        nextScanMs = nowMs + limits.scanIntervalMs
        expirePending(nowMs)
        var isHead = true
        for slot in slotsInFlight() {
            if nowMs >= jobs[slot].deadlineMs + limits.cancelGraceMs { return giveUp(nowMs) }
            if nowMs >= jobs[slot].deadlineMs {
                if isHead, !isCancelling { decide(.requestCancel) }
                if jobs[slot].kind.isRead { failEarly(slot, .timedOut(outcomeUnknown: false)) }
            }
            isHead = false
        }
    }

    private mutating func expirePending(_ nowMs: Int) {
        guard pending.contains(where: { jobs[$0].isAnswered || jobs[$0].deadlineMs <= nowMs }) else { return }
        let error = overdueError
        // Once around the queue, which keeps its order.
        for _ in 0..<pending.count {
            let slot = pending.removeFirst()
            if jobs[slot].isAnswered || jobs[slot].deadlineMs <= nowMs {
                dropQueued(slot, error)
            } else {
                pending.append(slot)
            }
        }
    }

    /// While there is no connection, the reason for that is worth more than the timeout.
    private var overdueError: PostgresError {
        connectError.map { PostgresError(.connectionFailed, $0.message) } ?? .timedOut(outcomeUnknown: false)
    }

    /// Neither an answer nor a cancellation: the server or the network hangs.
    private mutating func giveUp(_ nowMs: Int) {
        for slot in slotsInFlight() where nowMs >= jobs[slot].deadlineMs {
            let isRead = jobs[slot].kind.isRead
            let isCancelled = isRead && jobs[slot].isCancelRequested
            failEarly(slot, isCancelled ? .cancelledByCaller : .timedOut(outcomeUnknown: !isRead))
        }
        lose("no answer within \(limits.cancelGraceMs) ms after a deadline")
    }

    /// Jobs sent and not fully answered, in order.
    func slotsInFlight() -> [Slot] {
        if case .script(let slot) = mode { return [slot] }
        var slots: [Slot] = []
        for expectation in pipeline {
            if let slot = expectation.slot, slots.last != slot { slots.append(slot) }
        }
        return slots
    }

    // MARK: cancel requests

    /// The request is under way; it cancels whatever statement runs when it arrives at the server.
    mutating func cancelRequestStarted() {
        guard isConnected else { return }
        for slot in slotsInFlight() { jobs[slot].isExposedToCancel = true }
        isCancelling = true
    }

    mutating func cancelRequestEnded(generation: Int) {
        if generation == self.generation { isCancelling = false }
    }
}
