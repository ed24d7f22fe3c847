import DequeModule
import Logging
import Synchronization

extension ConnectionDriver {
    /// Sends as much of the queue as may be in flight, reads in one batch, and flushes once.
    func sendPending(_ nowMs: Int) {
        // A cancel request under way hits whatever runs when it arrives: nothing new goes out until it is over.
        guard !isCancelling, !isLeaving, let connection, !pending.isEmpty || !statements.discarded.isEmpty else {
            return
        }
        guard deallocate(connection) else { return connectionLost(connection.errorMessage) }
        var isBatchOpen = false
        while inFlight < configuration.inFlightMax(role), let job = pending.popFirst() {
            if job.isFinished { continue }
            if let error = reasonNotToSend(job, nowMs) {
                complete(job, .failure(error))
                continue
            }
            if case .script(let sql) = job.kind {
                guard pipeline.isEmpty else {
                    pending.prepend(job)
                    break
                }
                return startScript(job, sql)
            }
            let isAlone = !job.isRead || job.isIsolated
            if isAlone, isBatchOpen {
                guard sync(nil, connection) else { return lost(job, connection) }
                isBatchOpen = false
            }
            enterFlight(job)
            guard send(job, connection) else { return lost(job, connection) }
            if isAlone {
                guard sync(job, connection) else { return connectionLost(connection.errorMessage) }
            } else {
                isBatchOpen = true
            }
        }
        if isBatchOpen, !sync(nil, connection) { return connectionLost(connection.errorMessage) }
        flush()
    }

    private func reasonNotToSend(_ job: Job, _ nowMs: Int) -> PostgresError? {
        if job.deadlineMs <= nowMs { return PostgresError(.timeout(outcomeUnknown: false), "not sent in time") }
        if let generation = job.generation, generation != counters.generation.load(ordering: .relaxed) {
            return PostgresError(.connectionLost(outcomeUnknown: false), "the session's connection was lost")
        }
        return nil
    }

    private func send(_ job: Job, _ connection: Connection) -> Bool {
        for (index, step) in job.steps.enumerated() {
            let isSent: Bool
            switch statements.use(step.statement, group: group) {
            case .named(let name):
                isSent = connection.sendNamed(name, step.parameters)
            case .unprepared:
                isSent = connection.sendUnprepared(step.statement.sql, step.parameters)
            case .prepareFirst(let name):
                // Directly before its step, not ahead of all: an earlier step may create what it names.
                guard connection.sendPrepare(name, step.statement.sql) else { return false }
                pipeline.append(.prepare(step.statement, name: name, job, step: index))
                counters.prepared.wrappingAdd(1, ordering: .relaxed)
                isSent = connection.sendNamed(name, step.parameters)
            }
            guard isSent else { return false }
            pipeline.append(.step(job, index: index))
        }
        return true
    }

    private func sync(_ job: Job?, _ connection: Connection) -> Bool {
        guard connection.sendSync() else { return false }
        pipeline.append(.sync(job))
        group += 1
        return true
    }

    /// In groups of their own, so that a failure touches nobody; on a session's connection only between sessions.
    private func deallocate(_ connection: Connection) -> Bool {
        guard !statements.discarded.isEmpty else { return true }
        if role == .session, !pipeline.isEmpty || !connection.isIdle { return true }
        for name in statements.takeDiscarded() {
            guard connection.sendUnprepared("DEALLOCATE \(name)", []) else { return false }
            pipeline.append(.deallocate)
            guard sync(nil, connection) else { return false }
        }
        return true
    }

    private func startScript(_ job: Job, _ sql: String) {
        guard let connection else { return }
        enterFlight(job)
        phase = .script(job, deadlineMs: job.deadlineMs)
        scriptError = nil
        guard connection.exitPipeline(), connection.sendScript(sql) else {
            return connectionLost(connection.errorMessage)
        }
        flush()
    }

    /// The job left the queue but may not stand in the pipeline yet, where `connectionLost` looks for it.
    private func lost(_ job: Job, _ connection: Connection) {
        let message = connection.errorMessage
        let stands = pipeline.contains {
            if case .step(let other, 0) = $0 { other === job } else { false }
        }
        if !stands {
            leaveFlight(job)
            pending.prepend(job)
        }
        connectionLost(message)
    }

    func flush() {
        guard let connection else { return }
        switch connection.flush() {
        case .all: mustFlush = false
        case .partly: mustFlush = true
        case .failed:
            // The server's last words may still be readable.
            mustFlush = false
            receive()
        }
    }
}
