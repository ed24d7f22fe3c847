import CLibpq
import Clocks
import Glibc
import Logging
import Synchronization
import Threads

/// Drives one libpq connection: carries facts (messages, readiness, results, the time) to `ConnectMachine` and
/// `PipelineMachine` and performs the actions they return. It decides nothing itself.
///
/// Everything here runs on the connection's `DriverThread`, except `turnForCaller`, with which a caller sends its job
/// while that thread waits (`ConnectionHandle`). Connecting is in `ConnectionDriver+Connect`, reading
/// answers in `+Receive`, cancelling in `+Cancel`.
final class ConnectionDriver {
    typealias Connector = ConnectMachine<SystemRandomNumberGenerator>
    typealias Machine = PipelineMachine<Job>

    let handle: ConnectionHandle
    let configuration: PostgresConfiguration
    let role: ConnectionRole
    let logger: Logger
    let hosts: ConnectionHosts

    var connector: Connector
    var machine: Machine
    var connection: Connection?
    /// Whether libpq has output that the socket did not accept.
    var mustFlush = false
    private var messages: [ConnectionHandle.Message] = []
    /// Graded statements answered since the socket was last readable; at most as many as may be in flight.
    var answeredStatements: [Statement] = []
    /// The time at which a transaction last left the connection; microseconds.
    var transactionEndedUs = 0
    /// When the last set-up query was sent; microseconds.
    var setupSentUs = 0
    var busyTime = BusyTime()
    /// Whether what is being read is read late (`PipelineMachine.isLate`).
    var isLate = false

    init(_ handle: ConnectionHandle) {
        self.handle = handle
        configuration = handle.configuration
        role = handle.role
        logger = handle.logger
        hosts = ConnectionHosts(configuration.connectionString)
        machine = Machine(role: role, limits: configuration.pipelineLimits(role))
        connector = Connector(
            limits: configuration.connectLimits(hostCount: hosts.choices.count), random: SystemRandomNumberGenerator())
    }

    var counters: ConnectionCounters { handle.counters }

    /// Performs what is due now.
    /// - Returns: true in the last turn, when the connection is stopped and everything is answered.
    func turn(_ nowMs: Int) -> Bool {
        takeMessages(nowMs)
        machine.roundTripMs = handle.roundTrip.us / 1_000
        perform(connector.timeReached(nowMs))
        send(nowMs)
        machine.timeReached(nowMs)
        let isOver = machine.endStop(nowMs: nowMs)
        performDecided()
        handle.onTurn?(nowMs, machine.connectError)
        guard isOver else { return false }
        counters.isConnected.store(false, ordering: .relaxed)
        connection = nil
        return true
    }

    enum CallerTurn: Sendable {
        /// Everything is sent. The connection's thread has something to do at this time, if not before.
        case done(wakeAtMs: Int?)
        /// The connection's thread must take a turn now.
        case mustGoOn
    }

    /// Sends what has arrived, on a caller's thread.
    func turnForCaller(_ nowMs: Int) -> CallerTurn {
        guard connector.isConnected, !mustFlush else { return .mustGoOn }
        takeMessages(nowMs)
        send(nowMs)
        machine.timeReached(nowMs)
        performDecided()
        guard connector.isConnected, !mustFlush, !machine.isStopping else { return .mustGoOn }
        return .done(wakeAtMs: machine.wakeAtMs)
    }

    // MARK: facts

    private func takeMessages(_ nowMs: Int) {
        handle.takeMessages(into: &messages)
        for message in messages { take(message, nowMs) }
        messages.removeAll(keepingCapacity: messages.capacity <= 4096)
    }

    private func take(_ message: ConnectionHandle.Message, _ nowMs: Int) {
        switch message {
        case .submit(let job):
            job.id = machine.submitted(job, isCancelled: job.cancelRequested.load(ordering: .relaxed))
        case .cancel(let job):
            // A rerouted job has the id of another connection, and a job that has not arrived yet has none. In both
            // cases its mark is found later.
            if job.connection.withLock({ $0 }) === handle, let id = job.id { machine.cancelled(id, nowMs: nowMs) }
        case .cancelRequestEnded(let generation):
            machine.cancelRequestEnded(generation: generation)
        case .leave(let generation):
            machine.leaveRequested(generation: generation)
        case .reconnect(let generation):
            machine.resetFailed(generation: generation)
        case .opened(let attempt, let opened):
            connectionIsOpen(attempt, opened.connection, nowMs)
        case .stop:
            connector.stop()
            machine.stopRequested(nowMs: nowMs)
            for message in handle.close() { take(message, nowMs) }
        }
    }

    func socketIsReady(_ events: Int16) {
        switch connector.state {
        case .waiting, .opening:
            break
        case .handshaking:
            continueHandshake()
        case .settingUp, .askingServer, .connected:
            if mustFlush { flush() }
            if events & ~Int16(POLLOUT) != 0 { receive() }
        }
    }

    // MARK: actions

    /// Performs the decided actions, then sends what may be sent.
    func send(_ nowMs: Int) {
        let wasIdle = machine.inFlight == 0
        while let action = machine.nextAction(nowMs: nowMs, isIdle: connection?.isIdle ?? false) { perform(action) }
        if wasIdle, machine.inFlight > 0 {
            counters.progressUs.store(MonotonicClock.nowUs, ordering: .relaxed)
        }
        publishCounts()
    }

    func performDecided() {
        while let action = machine.decidedAction() { perform(action) }
    }

    private func perform(_ action: Machine.Action) {
        switch action {
        case .send(let job, let index, let use):
            let step = job.steps[index]
            if index == 0, job.isGraded, role == .write { job.startedUs = MonotonicClock.nowUs }
            report(connection?.send(step.statement, step.parameters, use))
        case .sync:
            busyTime.sent(atUs: MonotonicClock.nowUs)
            report(connection?.sendSync())
        case .announce(let job):
            job.startedUs = nil
            job.announcedUs = MonotonicClock.nowUs
            busyTime.sent(atUs: job.announcedUs)
            report(connection?.sendSync())
        case .reportStart(let job):
            started(job)
        case .deallocate(let name):
            report(connection?.sendDeallocate(name))
        case .flush:
            flush()
        case .runScript(_, let sql):
            report(connection?.sendScriptOutsidePipeline(sql))
        case .enterPipeline:
            report(connection?.enterPipeline())
        case .complete(let job):
            counters.completed.wrappingAdd(1, ordering: .relaxed)
            job.hasEnded = true
            measure(job)
            answer(job, .success(job.results))
        case .fail(let job, let error):
            count(error)
            job.failed(error)
            measure(job)
            answer(job, .failure(error))
        case .failEarly(let job, let error):
            count(error)
            job.failed(error)
            job.finish(.failure(error))
        case .release(let job):
            measure(job)
            publishCounts()
            counters.vacate(job)
        case .reportSlow(let job):
            job.provedSlow(nowMs: Int(MonotonicClock.nowMs()))
        case .reroute(let job):
            measure(job)
            publishCounts()
            counters.vacate(job)
            guard let lane = job.lane else { preconditionFailure("a \(job.kind) that belongs to no lane") }
            lane.lane.reroute(job)
        case .divert(let job):
            publishCounts()
            counters.vacate(job)
            guard let lane = job.lane else { preconditionFailure("a \(job.kind) that belongs to no lane") }
            lane.lane.submit(job)
        case .discardResults(let job):
            job.results = []
        case .requestCancel:
            if startCancelRequest() { machine.cancelRequestStarted() }
        case .askIfReadOnly:
            machine.serverReported(isReadOnly: connection?.isServerReadOnly == true)
        case .reportReadOnly:
            logger.warning("postgres no longer accepts writes", metadata: ["role": "\(role.rawValue)"])
            handle.onServerChange(.readOnly)
        case .disconnect(let reason, let isExpected):
            disconnect(reason, isExpected)
        }
    }

    /// Gives the connection up after a failed send.
    private func report(_ isSent: Bool?) {
        guard isSent != true else { return }
        machine.sendFailed(connection?.errorMessage ?? "no connection")
    }

    /// Answers a job. The job leaves the load before its caller learns of the answer, so that a caller who continues at
    /// once finds its slot free. If the completion works on this thread, it leaves afterwards, because the connection
    /// is busy until then.
    private func answer(_ job: Job, _ result: Result<[ResultSet], PostgresError>) {
        publishCounts()
        if !job.completesOnThread { counters.vacate(job) }
        job.finish(result)
        if job.completesOnThread { counters.vacate(job) }
    }

    private func count(_ error: PostgresError) {
        counters.failed.wrappingAdd(1, ordering: .relaxed)
        if case .timeout = error.code { counters.timeouts.wrappingAdd(1, ordering: .relaxed) }
    }

    private func publishCounts() {
        counters.inFlight.store(machine.inFlight, ordering: .relaxed)
        counters.isHeldUp.store(machine.isHeldUp, ordering: .relaxed)
        counters.repeated.store(machine.repeatedCount, ordering: .relaxed)
        counters.prepared.store(machine.preparedCount, ordering: .relaxed)
    }

    private func disconnect(_ reason: String, _ isExpected: Bool) {
        connection = nil
        busyTime.connectionLost()
        mustFlush = false
        counters.isConnected.store(false, ordering: .relaxed)
        connector.lost(Int(MonotonicClock.nowMs()))
        if isExpected { return }
        logger.warning("postgres connection lost", metadata: ["role": "\(role.rawValue)", "reason": "\(reason)"])
    }

    func flush() {
        guard let connection else { return }
        switch connection.flush() {
        case .all: mustFlush = false
        case .partly: mustFlush = true
        case .failed:
            // The server's last message may still be readable.
            mustFlush = false
            receive()
        }
    }

    // MARK: waiting

    /// The descriptor and events to poll for.
    var descriptor: pollfd { pollfd(fd: connection?.socket ?? -1, events: interest, revents: 0) }

    private var interest: Int16 {
        switch connector.state {
        case .waiting, .opening: 0
        case .handshaking(let wantsWrite, _): Int16(wantsWrite ? POLLOUT : POLLIN)
        case .settingUp, .askingServer, .connected: Int16(mustFlush ? POLLIN | POLLOUT : POLLIN)
        }
    }

    /// The time to poll; -1 when nothing is due until something arrives.
    func timeoutMs(_ nowMs: Int) -> Int32 {
        let untilMs = min(connector.wakeAtMs ?? .max, machine.wakeAtMs ?? .max)
        return untilMs == .max ? -1 : Int32(clamping: max(0, untilMs - nowMs))
    }
}
