import CLibpq
import DequeModule
import Glibc
import Logging
import Pacing
import Threads
import Synchronization

extension ConnectionDriver {
    /// What is due without anything having arrived.
    func advance(_ nowMs: Int) {
        switch phase {
        case .waiting(let untilMs):
            if nowMs >= untilMs, !isStopping, !isOpenerOut { beginConnecting(nowMs) }
        case .opening(let deadlineMs):
            if nowMs >= deadlineMs {
                connectFailed("the host's name was not resolved within \(configuration.connectTimeoutMs) ms")
            }
        case .connecting(_, let deadlineMs):
            if nowMs >= deadlineMs { connectFailed("no answer within \(configuration.connectTimeoutMs) ms") }
        case .script(nil, let deadlineMs):
            if nowMs >= deadlineMs { connectFailed("no answer within \(configuration.connectTimeoutMs) ms") }
        case .script:
            break
        case .ready:
            sendPending(nowMs)
        }
    }

    func socketIsReady(_ events: Int16) {
        switch phase {
        case .waiting, .opening:
            break
        case .connecting(_, let deadlineMs):
            continueConnecting(deadlineMs)
        case .script, .ready:
            if mustFlush { flush() }
            if events & ~Int16(POLLOUT) != 0 { receive() }
        }
    }

    /// The timeline changes when a standby is promoted: what the former primary had not passed on is gone then.
    private static let timelineScript = """
        SELECT CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END
        """

    private func beginConnecting(_ nowMs: Int) {
        openAttempt += 1
        isOpenerOut = true
        phase = .opening(deadlineMs: nowMs + configuration.connectTimeoutMs)
        let (link, attempt, configuration, role, hosts, hostNumber) = (
            link, openAttempt, configuration, role, hosts, hostNumber
        )
        let isStarted = startThread(named: "postgres-dial") {
            let connection = Connection(configuration: configuration, role: role, hosts: hosts, hostNumber: hostNumber)
            link.post(.opened(attempt: attempt, OpenedConnection(connection)))
        }
        if !isStarted {
            isOpenerOut = false
            connectFailed("no thread to connect")
        }
    }

    /// An overdue attempt's connection is dropped.
    func connectionIsOpen(_ attempt: Int, _ opened: Connection?, _ nowMs: Int) {
        guard attempt == openAttempt else { return }
        isOpenerOut = false
        guard case .opening(let deadlineMs) = phase, !isStopping else { return }
        guard let opened else { return connectFailed("no memory for a connection") }
        connection = opened
        if opened.isBad { return connectFailed(opened.connectError) }
        // libpq: behave as if polling had said "writing" before the first call.
        phase = .connecting(PGRES_POLLING_WRITING, deadlineMs: deadlineMs)
    }

    private func continueConnecting(_ deadlineMs: Int) {
        guard let connection else { return }
        switch connection.continueConnecting() {
        case PGRES_POLLING_OK:
            connection.shortenMessages()
            guard connection.setNonblocking(), connection.sendScript(configuration.setupScript(role)) else {
                return connectFailed(connection.errorMessage)
            }
            scriptError = nil
            isAskingTimeline = false
            phase = .script(nil, deadlineMs: deadlineMs)
            flush()
        case PGRES_POLLING_FAILED:
            connectFailed(connection.connectError)
        case let status:
            phase = .connecting(status, deadlineMs: deadlineMs)
        }
    }

    /// The set-up script has been answered.
    func connectionIsSetUp() {
        guard let connection else { return }
        if !isAskingTimeline {
            if let scriptError { return connectFailed(scriptError.message) }
            // Apart from the rest, because a server may refuse to tell.
            isAskingTimeline = true
            scriptValue = nil
            guard connection.sendScript(Self.timelineScript) else { return connectFailed(connection.errorMessage) }
            return flush()
        }
        isAskingTimeline = false
        isLeaving = false
        if let timeline = scriptValue, !timeline.isEmpty { link.onServer(.timeline(timeline)) }
        guard connection.enterPipeline() else { return connectFailed(connection.errorMessage) }
        statements.removeAll()
        isCancelling = false
        connectedSinceMs = monotonicMs()
        phase = .ready
        let generation = counters.generation.wrappingAdd(1, ordering: .relaxed).newValue
        counters.isConnected.store(true, ordering: .relaxed)
        if generation > 1 {
            counters.reconnects.wrappingAdd(1, ordering: .relaxed)
            logger.info("postgres connection is back", metadata: ["role": "\(role.rawValue)"])
        }
        lastConnectError = nil
        link.onConnect(.success(()))
    }

    func connectFailed(_ message: String) { connectFailed(PostgresError(.connectionFailed, message)) }

    private func connectFailed(_ error: PostgresError) {
        connection = nil
        mustFlush = false
        counters.connectFailures.wrappingAdd(1, ordering: .relaxed)
        // One line when it begins, not one for each attempt of each connection.
        logger.log(
            level: lastConnectError == nil ? .warning : .debug, "postgres connection failed",
            metadata: ["role": "\(role.rawValue)", "reason": "\(error.message)"])
        lastConnectError = error
        // The next host at once, a pause when all have been tried.
        hostNumber = (hostNumber + 1) % hosts.choices.count
        if hostNumber == 0 { connectAttempts += 1 }
        phase = .waiting(untilMs: monotonicMs() + (hostNumber == 0 ? backoffMs() : 0))
        link.onConnect(.failure(error))
    }

    /// None before the first attempt, then doubling, each jittered between half and whole.
    private func backoffMs() -> Int {
        guard connectAttempts > 0 else { return 0 }
        let backoff = Backoff(
            minMs: Int64(max(1, configuration.reconnectBackoffMinMs)),
            maxMs: Int64(max(1, configuration.reconnectBackoffMaxMs)))
        let wholeMs = Int(backoff.delayMs(after: connectAttempts - 1))
        return Int.random(in: (wholeMs / 2)...wholeMs)
    }

    /// Sorts what was sent into what may be sent again and what must be answered, then starts over.
    ///
    /// Reads go to the front of the queue once; what writes is answered. Its outcome is known (nothing committed) if
    /// the server's error for it, or its farewell before reaching it, had arrived; otherwise it is in doubt.
    func connectionLost(_ message: String) {
        let nowMs = monotonicMs()
        connection = nil
        mustFlush = false
        isCancelling = false
        isLeaving = false
        emptyAnswersAtSync = 0
        isHeadAnswered = false
        counters.isConnected.store(false, ordering: .relaxed)
        statements.removeAll()

        var sent = abortedReads
        abortedReads = []
        for job in jobsInFlight() where !sent.contains(where: { $0 === job }) { sent.append(job) }
        pipeline.removeAll()

        var again: [Job] = []
        var saidFarewell = false
        for job in sent {
            leaveFlight(job)
            if job.isFinished { continue }
            if job.error?.isFatal == true { saidFarewell = true }
            if job.isRead, job.connectionLosses == 0, !isStopping {
                job.connectionLosses += 1
                job.forgetAnswers()
                again.append(job)
            } else {
                complete(job, .failure(lossError(job, saidFarewell: saidFarewell, message)))
            }
        }
        for job in pending where job.generation != nil {
            complete(job, .failure(PostgresError(.connectionLost(outcomeUnknown: false), message)))
        }
        pending.prepend(contentsOf: again)
        counters.repeated.wrappingAdd(again.count, ordering: .relaxed)

        if !isStopping {
            logger.warning(
                "postgres connection lost", metadata: ["role": "\(role.rawValue)", "reason": "\(message)"])
        }
        // A connection that lasted earns an immediate attempt; one that dies young is approached more and more slowly.
        connectAttempts = nowMs - connectedSinceMs > configuration.reconnectBackoffMaxMs ? 0 : connectAttempts + 1
        phase = .waiting(untilMs: nowMs + backoffMs())
    }

    private func lossError(_ job: Job, saidFarewell: Bool, _ message: String) -> PostgresError {
        if let error = job.error, !error.isFatal, error.sqlState != nil { return error }
        var error = job.error ?? PostgresError(.connectionLost(outcomeUnknown: true), message)
        // A script can have committed earlier parts of itself.
        if case .script = job.kind {
            error.code = .connectionLost(outcomeUnknown: true)
        } else {
            error.code = .connectionLost(outcomeUnknown: !job.isRead && !saidFarewell)
        }
        return error
    }
}
