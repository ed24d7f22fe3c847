import DequeModule

extension PipelineMachine {
    /// libpq's report about the command at the front of the pipeline.
    enum Answer {
        /// Rows or a command tag.
        case completed
        /// Skipped because of an earlier error in its group.
        case aborted
        case sync
        /// The statement began a COPY.
        case copy
        /// An error; without a SQLSTATE it is libpq's own, and the connection is lost.
        indirect case failed(PostgresError)
    }

    /// Whether libpq must be read for an answer.
    var expectsAnswer: Bool {
        if case .script = mode { true } else { !pipeline.isEmpty }
    }

    enum ResultUse {
        case keep(for: Job)
        case discard
    }

    /// Reports that a result arrived.
    mutating func answered(_ answer: Answer, nowMs: Int) -> ResultUse {
        if case .script(let slot) = mode {
            scriptAnswered(slot, answer)
            return .discard
        }
        guard let expected = pipeline.first else { preconditionFailure("\(answer) with nothing sent") }
        isHeadAnswered = true
        switch answer {
        case .completed:
            return completed(expected)
        case .aborted:
            aborted(expected)
        case .sync:
            synced(expected, nowMs)
        case .copy:
            // Only a new connection can leave COPY half-way; it rolls the work back.
            if case .step(let slot, let index) = expected {
                jobs.fail(slot, .copyRefused, step: index)
                failEarly(slot, jobs.error(of: slot) ?? .copyRefused)
            }
            lose(PostgresError.copyRefused.message)
        case .failed(let error):
            if error.sqlState == nil { lose(error.message) } else { failed(expected, error) }
        }
        return .discard
    }

    private mutating func synced(_ expected: Expectation, _ nowMs: Int) {
        guard expected.isSync else { return lose("an answer out of order") }
        emptyAnswersAtSync = 0
        isHeadAnswered = false
        pipeline.removeFirst()
        groupsInFlight -= 1
        switch expected {
        case .start(let slot): decide(.reportStart(jobs[slot].job))
        case .sync(let slot): groupEnded(slot, nowMs)
        case .prepare, .step, .deallocate: break
        }
    }

    private mutating func completed(_ expected: Expectation) -> ResultUse {
        switch expected {
        case .prepare(let statement, let name, _, _):
            statements.confirm(statement, name: name)
        case .step(let slot, _):
            if jobs[slot].isAnswered { return .discard }
            jobs[slot].hasResults = true
            return .keep(for: jobs[slot].job)
        case .deallocate:
            break
        case .start, .sync:
            lose("an answer out of order")
        }
        return .discard
    }

    private mutating func aborted(_ expected: Expectation) {
        switch expected {
        case .prepare(let statement, let name, _, _): statements.forget(statement, name: name)
        case .step(let slot, _): jobs[slot].isAborted = true
        case .deallocate: break
        case .start, .sync: lose("an answer out of order")
        }
    }

    private mutating func failed(_ expected: Expectation, _ error: PostgresError) {
        switch expected {
        case .prepare(let statement, let name, let slot, let step):
            statements.forget(statement, name: name)
            jobs.fail(slot, error, step: step)
        case .step(let slot, let index):
            jobs.fail(slot, error, step: index)
        case .deallocate, .start:
            break
        case .sync(let slot):
            // A fatal error here may follow a commit that was not yet reported: the loss of the connection decides the
            // outcome.
            if let slot, !error.isFatal { jobs.fail(slot, error, step: nil) }
        }
    }

    /// Reports that libpq returned no result, which ends the command at the front.
    /// - Parameter lossMessage: why the connection broke, if it did.
    /// - Returns: false when there is nothing to read until more input arrives.
    mutating func commandEnded(nowMs: Int, lossMessage: @autoclosure () -> String) -> Bool {
        if case .script(let slot) = mode {
            scriptEnded(slot, nowMs)
            return true
        }
        guard let expected = pipeline.first else { preconditionFailure("a command ended with nothing sent") }
        if expected.isSync {
            // libpq separates an error raised at commit from the sync with an empty answer.
            emptyAnswersAtSync += 1
            return emptyAnswersAtSync <= 2
        }
        // On a broken connection every command ends without an answer.
        guard isHeadAnswered else {
            lose(lossMessage())
            return false
        }
        isHeadAnswered = false
        pipeline.removeFirst()
        guard case .step(let slot, _) = expected, jobs[slot].kind.isRead else { return true }
        if jobs[slot].hasFatalError {
            // The connection is about to end; its loss decides whether the job is repeated.
            abortedReads.append(slot)
        } else if jobs[slot].isAborted, !jobs[slot].hasError {
            abortedReads.append(slot)
        } else if !jobs[slot].isIsolated {
            conclude(slot, nowMs)
        }
        return true
    }

    private mutating func groupEnded(_ slot: Slot?, _ nowMs: Int) {
        if let slot, abortedReads.last != slot { conclude(slot, nowMs) }
        defer { isGroupCancelled = false }
        guard !abortedReads.isEmpty else { return }
        for slot in abortedReads.reversed() {
            leaveFlight(slot)
            if jobs[slot].isAnswered {
                finish(slot)
                continue
            }
            if !isGroupCancelled { jobs[slot].isIsolated = true }
            requeue(slot)
        }
        abortedReads.removeAll(keepingCapacity: true)
    }

    private mutating func requeue(_ slot: Slot) {
        forgetAnswers(slot)
        repeatedCount += 1
        pending.prepend(slot)
    }

    /// Answers a job whose outcome is known, or repeats it where that is harmless.
    private mutating func conclude(_ slot: Slot, _ nowMs: Int) {
        leaveFlight(slot)
        guard jobs[slot].hasError, let error = jobs.error(of: slot) else { return finish(slot) }
        concludeFailed(slot, error, nowMs)
    }

    private mutating func concludeFailed(_ slot: Slot, _ cause: PostgresError, _ nowMs: Int) {
        var error = cause
        if error.isStalePreparedStatement, let step = error.stepIndex {
            statements.discard(jobs[slot].job.steps[step].statement)
        }
        if error.isReadOnlyServer, !isLeaving { writeRefused() }
        if error.isQueryCanceled { isGroupCancelled = true }
        if error.isQueryCanceled, mayReroute(slot, nowMs) { return reroute(slot) }
        if error.isQueryCanceled, jobs[slot].isRerouting, isStopping { return finish(slot, .poolStopped) }
        if !jobs[slot].isAnswered, mayRepeat(slot, error, nowMs) {
            jobs[slot].repeats += 1
            return requeue(slot)
        }
        if error.isQueryCanceled {
            error.code = cancellationCode(slot, nowMs)
            error.ranTooLong = error.code == .timeout(outcomeUnknown: false)
        }
        finish(slot, error)
    }

    /// Whether the job may be sent again. The server's error proves that nothing was committed, so this includes
    /// transactions, but only for causes on our side: a stale plan, a cancel request meant for a neighbour, or leaving
    /// the server.
    private func mayRepeat(_ slot: Slot, _ error: PostgresError, _ nowMs: Int) -> Bool {
        switch jobs[slot].kind {
        case .session, .script: return false
        case .read, .transaction: break
        }
        guard jobs[slot].repeats < limits.repeatsMax, !isStopping else { return false }
        if error.isStalePreparedStatement { return true }
        guard nowMs < jobs[slot].deadlineMs else { return false }
        if error.isReadOnlyServer { return role == .write }
        return error.isQueryCanceled && jobs[slot].isExposedToCancel && !jobs[slot].isCancelRequested
    }

    /// Whether the cancelled job is to run elsewhere, which requires that its time is not over.
    private func mayReroute(_ slot: Slot, _ nowMs: Int) -> Bool {
        let entry = jobs[slot]
        return entry.isRerouting && !entry.isAnswered && !entry.isCancelRequested && !isStopping
            && !isOutOfTime(slot, nowMs)
    }

    /// Whether the deadline, or the server's own `statement_timeout`, has passed. The latter started up to one scan
    /// before the head was first seen.
    private func isOutOfTime(_ slot: Slot, _ nowMs: Int) -> Bool {
        let ranForMs = if let head, head.id == jobs.id(of: slot) { nowMs - head.sinceMs } else { 0 }
        return nowMs >= jobs[slot].deadlineMs || ranForMs + limits.scanIntervalMs >= limits.statementTimeoutMs
    }

    /// Returns the cause of a 57014: the caller, the deadline, or a cancel request from elsewhere.
    private func cancellationCode(_ slot: Slot, _ nowMs: Int) -> PostgresError.Code {
        if jobs[slot].isCancelRequested { return .cancelled }
        if isOutOfTime(slot, nowMs) { return .timeout(outcomeUnknown: false) }
        return .server(sqlState: SQLState.queryCanceled)
    }

    // MARK: a server that no longer accepts writes

    /// Reacts to a refused write. A session may itself have requested a read-only transaction, so there the server's
    /// own settings decide.
    private mutating func writeRefused() {
        switch role {
        case .read: break
        case .write: leaveReadOnlyServer()
        case .session: decide(.askIfReadOnly)
        }
    }

    mutating func serverReported(isReadOnly: Bool) {
        if isReadOnly, isConnected, !isLeaving { leaveReadOnlyServer() }
    }

    private mutating func leaveReadOnlyServer() {
        isLeaving = true
        decideFirst(.reportReadOnly)
    }

    // MARK: scripts

    private mutating func scriptAnswered(_ slot: Slot, _ answer: Answer) {
        switch answer {
        case .completed, .aborted, .sync:
            break
        case .copy:
            failEarly(slot, .copyRefused)
            lose(PostgresError.copyRefused.message)
        case .failed(let error):
            if scriptError == nil { scriptError = error }
            guard error.sqlState == nil || error.isFatal else { return }
            jobs.setError(of: slot, error)
            lose(error.message)
        }
    }

    private mutating func scriptEnded(_ slot: Slot, _ nowMs: Int) {
        if let scriptError { jobs.setError(of: slot, scriptError) }
        mode = .pipeline
        conclude(slot, nowMs)
        decide(.enterPipeline)
    }
}
