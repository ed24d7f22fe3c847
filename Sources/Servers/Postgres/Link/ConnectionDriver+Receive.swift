import CLibpq
import DequeModule
import Logging
import Synchronization

extension ConnectionDriver {
    /// Reads what has arrived and answers callers. What came before the connection broke still counts.
    func receive() {
        guard let connection else { return }
        let isOpen = connection.consumeInput()
        if case .script = phase { handleScriptAnswers(connection) } else { handleAnswers(connection) }
        if !isOpen, self.connection === connection {
            if case .script(nil, _) = phase {
                connectFailed(connection.errorMessage)
            } else {
                connectionLost(connection.errorMessage)
            }
        }
        leaveIfIdle()
        if case .ready = phase { sendPending(monotonicMs()) }
    }

    private func handleAnswers(_ connection: Connection) {
        while let expected = pipeline.first, !connection.isBusy {
            guard let pointer = connection.nextResult() else {
                if case .sync = expected {
                    // libpq separates an error raised at commit from the sync by an empty answer.
                    emptyAnswersAtSync += 1
                    if emptyAnswersAtSync > 2 { return }
                    continue
                }
                // A broken connection ends every command without an answer.
                guard isHeadAnswered else { return connectionLost(connection.errorMessage) }
                isHeadAnswered = false
                pipeline.removeFirst()
                commandEnded(expected)
                continue
            }
            isHeadAnswered = true
            let status = PQresultStatus(pointer)
            let error: PostgresError?
            switch status {
            case PGRES_FATAL_ERROR, PGRES_NONFATAL_ERROR, PGRES_BAD_RESPONSE:
                error = PostgresError(result: pointer)
                PQclear(pointer)
                // Without a state it is libpq's own: the connection is gone, and not only this command.
                if let error, error.sqlState == nil { return connectionLost(error.message) }
            case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
                PQclear(pointer)
                return refuseCopy(expected)
            default:
                error = nil
            }
            handle(expected, status, pointer, error)
            if self.connection !== connection { return }
        }
    }

    /// `pointer` is still owned by this call unless `error` is set.
    private func handle(
        _ expected: Expectation, _ status: ExecStatusType, _ pointer: OpaquePointer, _ error: PostgresError?
    ) {
        switch expected {
        case .prepare(let statement, let name, let job, let step):
            if let error {
                statements.forget(statement, name: name)
                job.fail(error, step: step)
            } else {
                if status == PGRES_COMMAND_OK {
                    statements.confirm(statement, name: name)
                } else {
                    statements.forget(statement, name: name)
                }
                PQclear(pointer)
            }
        case .step(let job, let index):
            if let error {
                job.fail(error, step: index)
            } else if status == PGRES_PIPELINE_ABORTED {
                job.isAborted = true
                PQclear(pointer)
            } else {
                job.results.append(ResultSet(storage: ResultStorage(owning: pointer)))
            }
        case .deallocate:
            if error == nil { PQclear(pointer) }
        case .sync(let job):
            if let error {
                // A fatal error here may follow a commit that was not yet reported: the loss decides.
                if !error.isFatal { job?.fail(error, step: nil) }
            } else {
                PQclear(pointer)
                guard status == PGRES_PIPELINE_SYNC else { return connectionLost("an answer out of order") }
                emptyAnswersAtSync = 0
                isHeadAnswered = false
                pipeline.removeFirst()
                groupEnded(job)
            }
        }
    }

    private func commandEnded(_ expected: Expectation) {
        guard case .step(let job, _) = expected, job.isRead else { return }
        if job.error?.isFatal == true {
            // The connection is about to end; there it is sent again, if it may be.
            abortedReads.append(job)
        } else if job.isAborted, job.error == nil {
            abortedReads.append(job)
        } else if !job.isIsolated {
            conclude(job)
        }
    }

    private func groupEnded(_ job: Job?) {
        if let job, !(job.isRead && abortedReads.last === job) { conclude(job) }
        guard !abortedReads.isEmpty else { return }
        for read in abortedReads {
            leaveFlight(read)
            read.isIsolated = true
            read.forgetAnswers()
        }
        counters.repeated.wrappingAdd(abortedReads.count, ordering: .relaxed)
        pending.prepend(contentsOf: abortedReads)
        abortedReads = []
    }

    /// Everything about the job is known: answer it, or send it again where that cannot do harm.
    private func conclude(_ job: Job) {
        leaveFlight(job)
        guard var error = job.error else { return complete(job, .success(job.results)) }
        if error.isStalePreparedStatement, let step = error.stepIndex {
            statements.discard(job.steps[step].statement)
        }
        if error.isReadOnlyServer { serverRefusedWrite() }
        if !job.isFinished, mayRepeat(job, error) {
            job.repeats += 1
            job.forgetAnswers()
            counters.repeated.wrappingAdd(1, ordering: .relaxed)
            pending.prepend(job)
            return
        }
        if error.isQueryCanceled { error.code = cancellationCode(job) }
        complete(job, .failure(error))
    }

    /// The server's error proves that nothing was committed, so even a transaction may go again; but only for reasons
    /// that are this client's own: a plan gone stale, or a cancel request that was meant for a neighbour.
    private func mayRepeat(_ job: Job, _ error: PostgresError) -> Bool {
        switch job.kind {
        case .session, .script: return false
        case .read, .transaction: break
        }
        guard job.repeats < Self.repeatsMax, !isStopping else { return false }
        if error.isStalePreparedStatement { return true }
        // On the server that is looked for now.
        if error.isReadOnlyServer, role == .write { return monotonicMs() < job.deadlineMs }
        return error.isQueryCanceled && job.isExposedToCancel && monotonicMs() < job.deadlineMs
            && !job.cancelRequested.load(ordering: .relaxed)
    }

    /// A session may have asked for a read-only transaction itself.
    private func serverRefusedWrite() {
        guard role == .write || role == .session && connection?.isServerReadOnly == true, !isLeaving else { return }
        isLeaving = true
        logger.warning("postgres takes no writes any more", metadata: ["role": "\(role.rawValue)"])
        link.onServer(.readOnly)
    }

    func cancellationCode(_ job: Job) -> PostgresError.Code {
        if job.cancelRequested.load(ordering: .relaxed) { return .cancelled }
        let nowMs = monotonicMs()
        if nowMs >= job.deadlineMs || nowMs - job.enqueuedMs >= configuration.statementTimeoutMs {
            return .timeout(outcomeUnknown: false)
        }
        return .server(sqlState: "57014")
    }

    /// Leaving COPY half-way needs a new connection, which rolls it back.
    private func refuseCopy(_ expected: Expectation?) {
        let message = "COPY is not supported"
        switch expected {
        case .step(let job, let index):
            job.fail(PostgresError(.unsupported, message), step: index)
            leaveFlight(job)
            complete(job, .failure(job.error ?? PostgresError(.unsupported, message)))
        case .prepare, .deallocate, .sync, nil:
            break
        }
        connectionLost(message)
    }

    // MARK: simple protocol

    private func handleScriptAnswers(_ connection: Connection) {
        guard case .script(let job, _) = phase else { return }
        while !connection.isBusy {
            guard let pointer = connection.nextResult() else { return scriptEnded(job, connection) }
            let status = PQresultStatus(pointer)
            switch status {
            case PGRES_FATAL_ERROR, PGRES_NONFATAL_ERROR, PGRES_BAD_RESPONSE:
                let error = PostgresError(result: pointer)
                PQclear(pointer)
                if scriptError == nil { scriptError = error }
                if error.sqlState == nil || error.isFatal { return scriptConnectionFailed(job, error) }
            case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
                PQclear(pointer)
                if let job {
                    leaveFlight(job)
                    complete(job, .failure(PostgresError(.unsupported, "COPY is not supported")))
                }
                return scriptConnectionFailed(job, PostgresError(.unsupported, "COPY is not supported"))
            default:
                if job == nil, PQntuples(pointer) > 0 {
                    scriptValue = PQgetvalue(pointer, 0, 0).map { String(cString: $0) }
                }
                PQclear(pointer)
            }
        }
    }

    private func scriptConnectionFailed(_ job: Job?, _ error: PostgresError) {
        guard let job else { return connectFailed(error.message) }
        if !job.isFinished { job.error = error }
        connectionLost(error.message)
    }

    private func scriptEnded(_ job: Job?, _ connection: Connection) {
        guard let job else { return connectionIsSetUp() }
        job.error = scriptError
        phase = .ready
        conclude(job)
        if !connection.enterPipeline() { connectionLost(connection.errorMessage) }
    }
}
