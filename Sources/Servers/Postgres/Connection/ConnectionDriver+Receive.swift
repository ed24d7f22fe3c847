import CLibpq
import Clocks

/// The receiving part of the driver: reports libpq's results to the two machines.
extension ConnectionDriver {
    /// Reads what has arrived and answers callers, including what arrived before the connection broke.
    func receive() {
        guard let connection else { return }
        let nowMs = Int(MonotonicClock.nowMs())
        isLate = machine.isLate(nowMs)
        defer { isLate = false }
        let isOpen = connection.consumeInput()
        if connector.isConnected { readAnswers(connection, nowMs) } else { readSetupAnswers(connection, nowMs) }
        if !isOpen, self.connection === connection {
            if connector.isConnected {
                machine.connectionLost(connection.errorMessage)
            } else {
                perform(connector.failed(connection.errorMessage, nowMs))
            }
        }
        send(Int(MonotonicClock.nowMs()))
    }

    private func readAnswers(_ connection: Connection, _ nowMs: Int) {
        var answers = 0
        var syncs = 0
        defer { noteAnswers(answers, syncs) }
        while machine.expectsAnswer, !connection.isBusy {
            guard let pointer = connection.nextResult() else {
                let goesOn = machine.commandEnded(nowMs: nowMs, lossMessage: connection.errorMessage)
                performDecided()
                if goesOn { continue } else { return }
            }
            let answer = self.answer(pointer)
            if answer.isOfStatement { answers += 1 }
            if case .sync = answer { syncs += 1 }
            switch machine.answered(answer, nowMs: nowMs) {
            case .keep(let job):
                job.results.append(ResultSet(storage: ResultStorage(owning: pointer)))
                if role == .read, job.isOnFast { noteAnswered(job.measuredStatement) }
            case .discard: PQclear(pointer)
            }
            performDecided()
        }
    }

    private func noteAnswered(_ statement: Statement?) {
        guard let statement, answeredStatements.last != statement else { return }
        answeredStatements.append(statement)
    }

    /// Records answers just read. If one of several statements took long, all are measured again, apart from others.
    private func noteAnswers(_ count: Int, _ syncs: Int) {
        if count == 0, syncs == 0 { return }
        let roundTrip = handle.roundTrip
        let nowUs = MonotonicClock.nowUs
        let times = busyTime.answered(syncs: syncs, atUs: nowUs, roundTripUs: roundTrip.us)
        if count == 0 { return }
        if let times { roundTrip.isAtMost(us: times.underWayUs) }
        let busyUs = times?.busyUs ?? 0
        counters.answered(count, inUs: busyUs, atUs: nowUs)
        if answeredStatements.isEmpty { return }
        if !isLate, StatementPace.read.isStall(us: busyUs, answers: count) {
            for statement in answeredStatements { statement.doubt() }
        }
        answeredStatements.removeAll(keepingCapacity: true)
    }

    func started(_ job: Job) {
        let nowUs = MonotonicClock.nowUs
        job.startedUs = nowUs
        handle.roundTrip.measured(us: nowUs - job.announcedUs)
    }

    /// Records how long the server was busy with a graded job: a query since it began, a transaction since it was sent
    /// or the one before it ended. A long time measured late says nothing.
    func measure(_ job: Job) {
        let nowUs = MonotonicClock.nowUs
        defer { if role == .write { transactionEndedUs = nowUs } }
        guard job.isGraded, let startedUs = job.startedUs, let pace = job.lane?.lane.rules.pace else { return }
        let us =
            role == .write
            ? max(0, nowUs - max(startedUs, transactionEndedUs) - handle.roundTrip.us) : nowUs - startedUs
        job.startedUs = nil
        if us > pace.shortMaxUs ? !isLate : job.hasEnded { job.measuredStatement?.took(us: us, pace) }
    }

    private func answer(_ pointer: OpaquePointer) -> Machine.Answer {
        switch PQresultStatus(pointer) {
        case PGRES_FATAL_ERROR, PGRES_NONFATAL_ERROR, PGRES_BAD_RESPONSE: .failed(PostgresError(result: pointer))
        case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH: .copy
        case PGRES_PIPELINE_ABORTED: .aborted
        case PGRES_PIPELINE_SYNC: .sync
        default: .completed
        }
    }

    private func readSetupAnswers(_ connection: Connection, _ nowMs: Int) {
        while self.connection === connection, !connector.isConnected, !connection.isBusy {
            guard let pointer = connection.nextResult() else {
                perform(connector.setupEnded(nowMs))
                continue
            }
            let answer = setupAnswer(pointer)
            PQclear(pointer)
            perform(connector.setupAnswered(answer, nowMs))
        }
    }

    private func setupAnswer(_ pointer: OpaquePointer) -> Connector.SetupAnswer {
        switch PQresultStatus(pointer) {
        case PGRES_FATAL_ERROR, PGRES_NONFATAL_ERROR, PGRES_BAD_RESPONSE: .failed(PostgresError(result: pointer))
        case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH: .copy
        default: .value(PQntuples(pointer) > 0 ? PQgetvalue(pointer, 0, 0).map { String(cString: $0) } : nil)
        }
    }
}

extension PipelineMachine.Answer {
    /// Whether the server has executed or refused a statement.
    fileprivate var isOfStatement: Bool {
        switch self {
        case .completed, .failed, .copy: true
        case .aborted, .sync: false
        }
    }
}
