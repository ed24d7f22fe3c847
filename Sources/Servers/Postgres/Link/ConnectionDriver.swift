import CLibpq
import DequeModule
import Glibc
import Logging
import Synchronization

/// One connection's part of its thread: connect, send, receive, watch deadlines, connect again.
///
/// libpq's pipeline mode lets many calls travel before the first answer. What travels is remembered in `pipeline`, in
/// order, and answers are matched from its front:
///
///     read   prepare s1 | step A | step B | step C | sync          a batch of callers shares one sync
///     write  step A0 | prepare s2 | step A1 | sync(A) | step B0 | sync(B)
///
/// What stands between two syncs is one implicit transaction to the server: an error aborts what follows it up to the
/// sync. So a write connection syncs after each transaction and reports it at its sync, where it commits; a read
/// connection sends the innocent neighbours of a failed query once more, each with a sync of its own.
///
/// Everything here runs on the one thread (`DriverThread`). The other halves are in `ConnectionDriver+Connect`, `+Send`, `+Receive` and
/// `+Deadlines`.
final class ConnectionDriver {
    enum Phase {
        /// Not connected; the next attempt begins at that time.
        case waiting(untilMs: Int)
        /// A thread of its own begins to connect, because that resolves the host's name.
        case opening(deadlineMs: Int)
        case connecting(PostgresPollingStatusType, deadlineMs: Int)
        /// Simple protocol: a caller's script, or (nil) the one that sets a new connection up.
        case script(Job?, deadlineMs: Int)
        case ready
    }

    enum Expectation {
        case prepare(Statement, name: String, Job, step: Int)
        case step(Job, index: Int)
        case deallocate
        /// nil closes a batch of reads.
        case sync(Job?)
    }

    /// Deadlines are looked at this often: a bound on how late a timeout is noticed.
    static let scanIntervalMs = 25
    /// How often one job is sent again, all reasons together.
    static let repeatsMax = 4

    let link: ConnectionHandle
    let configuration: PostgresConfiguration
    let role: ConnectionRole
    let logger: Logger

    var phase: Phase = .waiting(untilMs: 0)
    var connection: Connection?
    /// Not sent yet, in order.
    var pending = Deque<Job>()
    var pipeline = Deque<Expectation>()
    var inFlight = 0
    /// Reads of the current group that a neighbour's error aborted; sent again after its sync.
    var abortedReads: [Job] = []
    var statements: PreparedStatements
    /// Counts syncs sent: the group that is being put together.
    var group = 0
    var mustFlush = false
    var isCancelling = false
    var scriptError: PostgresError?
    /// The script under way asks for the timeline of a connection that is set up otherwise.
    var isAskingTimeline = false
    /// The first value that the set-up has answered last.
    var scriptValue: String?
    /// The server takes no writes any more: nothing new is sent, and when all is answered another one is looked for.
    var isLeaving = false
    var emptyAnswersAtSync = 0
    /// The command at the front of `pipeline` has had a result.
    var isHeadAnswered = false

    let hosts: ConnectionHosts
    /// Of the host to try next, or in use.
    var hostNumber = 0
    var connectAttempts = 0
    /// Numbers the threads that begin to connect; at most one at a time, an overdue one included.
    var openAttempt = 0
    var isOpenerOut = false
    var connectedSinceMs = 0
    var lastConnectError: PostgresError?
    var nextScanMs = 0
    var stopDeadlineMs: Int?
    private var messages: [ConnectionHandle.Message] = []

    init(_ link: ConnectionHandle) {
        self.link = link
        configuration = link.configuration
        role = link.role
        logger = link.logger
        hosts = ConnectionHosts(configuration.connectionString)
        statements = PreparedStatements(countMax: configuration.preparedStatementsMax)
    }

    var counters: ConnectionCounters { link.counters }
    var isStopping: Bool { stopDeadlineMs != nil }
    func isConnected(_ generation: Int) -> Bool {
        counters.isConnected.load(ordering: .relaxed) && counters.generation.load(ordering: .relaxed) == generation
    }
    var hasWork: Bool { inFlight > 0 || !pending.isEmpty }

    /// Does what is due now.
    /// - Returns: true when the link is stopped and everything answered: the last turn.
    func turn(_ nowMs: Int) -> Bool {
        takeMessages(nowMs)
        advance(nowMs)
        if hasWork, nowMs >= nextScanMs {
            nextScanMs = nowMs + Self.scanIntervalMs
            scanDeadlines(nowMs)
        }
        guard let stopDeadlineMs, inFlight == 0 || nowMs >= stopDeadlineMs else { return false }
        finishAll()
        return true
    }

    private func takeMessages(_ nowMs: Int) {
        link.takeMessages(into: &messages)
        for message in messages { handle(message, nowMs) }
        messages.removeAll(keepingCapacity: messages.capacity <= 4096)
    }

    private func handle(_ message: ConnectionHandle.Message, _ nowMs: Int) {
        switch message {
        case .submit(let job):
            job.occupiesSlot = true
            if job.cancelRequested.load(ordering: .relaxed) {
                complete(job, .failure(PostgresError(.cancelled, "the caller was cancelled")))
            } else if isStopping {
                complete(job, .failure(PostgresError(.closed, "the pool is stopped")))
            } else if let generation = job.generation, !isConnected(generation) {
                let message = "the session's connection was lost"
                complete(job, .failure(PostgresError(.connectionLost(outcomeUnknown: false), message)))
            } else {
                pending.append(job)
            }
        case .cancel(let job):
            cancel(job, nowMs)
        case .cancelRequestEnded(let generation):
            if generation == counters.generation.load(ordering: .relaxed) { isCancelling = false }
        case .leave(let generation):
            if isConnected(generation) { leave() }
        case .reconnect(let generation):
            if isConnected(generation) { connectionLost("a session could not be reset") }
        case .opened(let attempt, let opened):
            connectionIsOpen(attempt, opened.connection, nowMs)
        case .stop:
            beginStopping(nowMs)
        }
    }

    private func beginStopping(_ nowMs: Int) {
        guard !isStopping else { return }
        stopDeadlineMs = nowMs + configuration.stopTimeoutMs
        for message in link.close() { handle(message, nowMs) }
        for job in pending { complete(job, .failure(PostgresError(.closed, "the pool is stopped"))) }
        pending.removeAll()
    }

    private func finishAll() {
        if inFlight > 0 { connectionLost("the pool is stopped") }
        for job in pending { complete(job, .failure(PostgresError(.closed, "the pool is stopped"))) }
        pending.removeAll()
        counters.isConnected.store(false, ordering: .relaxed)
        connection = nil
    }

    /// Goes to another server as soon as everything sent is answered.
    func leave() {
        isLeaving = true
        leaveIfIdle()
    }

    func leaveIfIdle() {
        guard isLeaving, pipeline.isEmpty, case .ready = phase else { return }
        connectionLost("the server takes no writes any more")
    }

    // MARK: jobs

    /// Answers the caller. The job's slot stays taken while the server still works on it.
    func complete(_ job: Job, _ result: Result<[ResultSet], PostgresError>) {
        // First, so that a caller who goes on at once finds its slot free.
        if !job.isInFlight, !job.isWorkedOnHere { vacate(job) }
        if !job.isFinished {
            switch result {
            case .success:
                counters.completed.wrappingAdd(1, ordering: .relaxed)
            case .failure(let error):
                counters.failed.wrappingAdd(1, ordering: .relaxed)
                if case .timeout = error.code { counters.timeouts.wrappingAdd(1, ordering: .relaxed) }
            }
            job.finish(result)
            if !job.isInFlight { vacate(job) }
        }
    }

    func enterFlight(_ job: Job) {
        job.isInFlight = true
        inFlight += 1
        counters.inFlight.store(inFlight, ordering: .relaxed)
    }

    func leaveFlight(_ job: Job) {
        guard job.isInFlight else { return }
        job.isInFlight = false
        inFlight -= 1
        counters.inFlight.store(inFlight, ordering: .relaxed)
        if job.isFinished { vacate(job) }
    }

    private func vacate(_ job: Job) {
        guard job.occupiesSlot else { return }
        job.occupiesSlot = false
        counters.load.wrappingSubtract(1, ordering: .relaxed)
        counters.loadBytes.wrappingSubtract(job.bytes, ordering: .relaxed)
    }

    // MARK: waiting

    /// What to poll for.
    var descriptor: pollfd { pollfd(fd: connection?.socket ?? -1, events: interest, revents: 0) }

    private var interest: Int16 {
        switch phase {
        case .waiting, .opening: 0
        case .connecting(PGRES_POLLING_WRITING, _): Int16(POLLOUT)
        case .connecting: Int16(POLLIN)
        case .script, .ready: Int16(mustFlush ? POLLIN | POLLOUT : POLLIN)
        }
    }

    /// -1: nothing is due until something arrives.
    func timeoutMs(_ nowMs: Int) -> Int32 {
        var untilMs = Int.max
        switch phase {
        case .waiting(let next): if !isOpenerOut { untilMs = next }
        case .opening(let deadlineMs): untilMs = deadlineMs
        case .connecting(_, let deadlineMs), .script(nil, let deadlineMs): untilMs = deadlineMs
        case .script, .ready: break
        }
        if hasWork { untilMs = min(untilMs, nextScanMs) }
        if let stopDeadlineMs { untilMs = min(untilMs, stopDeadlineMs) }
        return untilMs == Int.max ? -1 : Int32(clamping: max(0, untilMs - nowMs))
    }
}
