import DequeModule

extension PipelineMachine {
    mutating func connectionLost(_ message: String) { lose(message) }

    /// Gives the connection up and decides which jobs in flight are repeated and which are answered.
    ///
    /// Reads return to the front of the queue, once. All others are answered: their outcome is known (nothing
    /// committed) if the server's error for them, or a fatal error before it, had arrived, and otherwise unknown.
    mutating func lose(_ message: String) {
        decide(.disconnect(reason: message, isExpected: isStopping))
        // A job that is not sent in time from now on waits for the connection, not for its turn.
        connectError = PostgresError(.connectionFailed, message)
        var sent = abortedReads
        for slot in slotsInFlight() where !abortedReads.contains(slot) { sent.append(slot) }
        reset()

        var repeated: [Slot] = []
        var saidFarewell = false
        for slot in sent {
            leaveFlight(slot)
            if jobs[slot].isAnswered {
                finish(slot)
                continue
            }
            if jobs[slot].hasFatalError { saidFarewell = true }
            if jobs[slot].kind.isRead, jobs[slot].isRerouting, !isStopping {
                reroute(slot)
            } else if jobs[slot].kind.isRead, jobs[slot].connectionLosses < limits.lossesMax, !isStopping {
                jobs[slot].connectionLosses += 1
                forgetAnswers(slot)
                repeated.append(slot)
            } else {
                finish(slot, lossError(slot, saidFarewell: saidFarewell, message))
            }
        }
        for slot in pending where jobs[slot].job.generation != nil && !jobs[slot].isAnswered {
            failQueued(slot, PostgresError(.connectionLost(outcomeUnknown: false), message))
        }
        pending.prepend(contentsOf: repeated)
        repeatedCount += repeated.count
        precondition(inFlight == 0, "\(inFlight) jobs in flight without a connection")
    }

    /// Returns to the state without a connection; the jobs stay.
    private mutating func reset() {
        mode = .offline
        pipeline.removeAll(keepingCapacity: true)
        groupsInFlight = 0
        isGroupCancelled = false
        abortedReads.removeAll(keepingCapacity: true)
        statements.removeAll()
        sending = .idle
        isBatchOpen = false
        needsFlush = false
        justBegun = nil
        isCancelling = false
        isLeaving = false
        scriptError = nil
        emptyAnswersAtSync = 0
        isHeadAnswered = false
        head = nil
    }

    private func lossError(_ slot: Slot, saidFarewell: Bool, _ message: String) -> PostgresError {
        let known = jobs.error(of: slot)
        if let known, !known.isFatal, known.sqlState != nil { return known }
        var error = known ?? PostgresError(.connectionLost(outcomeUnknown: true), message)
        switch jobs[slot].kind {
        case .read: error.code = .connectionLost(outcomeUnknown: false)
        case .transaction, .session: error.code = .connectionLost(outcomeUnknown: !saidFarewell)
        // Earlier parts of a script may have been committed.
        case .script: error.code = .connectionLost(outcomeUnknown: true)
        }
        return error
    }
}
