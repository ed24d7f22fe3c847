import DequeModule

/// Decides what one connection sends, which job an answer belongs to, and what becomes of a job whose answer is an
/// error, late or lost. A pure value: the driver reports facts and performs the actions.
///
/// libpq's pipeline mode lets many jobs travel before the first answer. What has been sent is remembered in `pipeline`,
/// in order, and answers are matched from its front:
///
///     read   prepare s1 | step A | step B | step C | sync          a batch of jobs shares one sync
///     write  step A0 | prepare s2 | step A1 | sync(A) | step B0 | sync(B)
///
/// To the server, whatever stands between two syncs (a group) is one implicit transaction: an error aborts the rest of
/// it. So a write connection syncs after each transaction and reports it at its sync, where it commits; a read
/// connection repeats the reads that a neighbour's error aborted, each with a sync of its own.
///
/// This file has the state, jobs coming and going, and the connection's life; sending, answers, deadlines and loss are
/// in `PipelineMachine+Send`, `+Answers`, `+Deadlines` and `+Loss`.
struct PipelineMachine<Job: PipelineJob> {
    typealias Slot = JobTable<Job>.Slot

    struct Limits {
        /// Jobs sent and not yet answered.
        var inFlightMax = 256
        var preparedStatementsMax = 256
        var statementTimeoutMs = 30_000
        /// How long the server may take to confirm a cancellation before the connection is given up.
        var cancelGraceMs = 2_000
        /// How long a stop waits for jobs in flight.
        var stopTimeoutMs = 5_000
        /// How often one job is sent again after errors.
        var repeatsMax = 4
        /// How often one read is sent again after a lost connection.
        var lossesMax = 1
        /// Deadlines are checked this often, which bounds how late a timeout or a slow statement is noticed.
        var scanIntervalMs = 10
        /// A job first in the pipeline for this long holds the connection up: others are better off elsewhere.
        var heldUpAfterMs = 20
        /// Pause between cancel requests for the same job, each of which is a connection to the server.
        var cancelIntervalMs = 100
    }

    enum Mode {
        /// Not connected, or not set up yet.
        case offline
        case pipeline
        /// Simple protocol, for one job.
        case script(Slot)
    }

    enum Expectation {
        case prepare(Statement, name: String, Slot, step: Int)
        case step(Slot, index: Int)
        case deallocate
        /// Nil closes a batch of reads.
        case sync(Slot?)
    }

    /// What `nextAction` goes on with.
    enum Sending {
        case idle
        case step(Slot, index: Int)
        case sync(Slot)
    }

    struct Head {
        let id: JobID
        /// When the scan first found it there.
        let sinceMs: Int
        var nextCancelMs: Int
        /// It has been there for `heldUpAfterMs`.
        var isLong = false
    }

    let role: ConnectionRole
    let limits: Limits

    var mode: Mode = .offline
    /// Counts connections; a session is bound to one.
    var generation = 0
    var jobs = JobTable<Job>()
    /// Not sent yet, in order; may contain jobs already answered.
    var pending = Deque<Slot>()
    /// Sent and not fully answered, in order. Bounded by `inFlightMax` jobs.
    var pipeline = Deque<Expectation>()
    /// Reads of the current group that a neighbour's error aborted, to be repeated after its sync.
    var abortedReads: [Slot] = []
    var statements: PreparedStatements
    private(set) var inFlight = 0
    /// Counts syncs sent, and so numbers the group being sent.
    var group = 0
    var sending: Sending = .idle
    var isBatchOpen = false
    var needsFlush = false
    /// The job whose first step was the last thing sent: if that failed, nothing of the job has gone out.
    var justBegun: Slot?
    /// A cancel request is under way. It hits whatever runs when it arrives, so nothing is sent meanwhile.
    var isCancelling = false
    var cancelStartedMs = 0
    /// The server takes no writes any more: nothing is sent, and once everything is answered the connection is given
    /// up.
    var isLeaving = false
    var scriptError: PostgresError?
    var emptyAnswersAtSync = 0
    /// The command at the front of `pipeline` has had a result.
    var isHeadAnswered = false
    /// Why the last attempt to connect failed; nil while connected.
    private(set) var connectError: PostgresError?
    var nextScanMs = 0
    /// The job first in the pipeline, as of the last scan.
    var head: Head?
    private(set) var stopDeadlineMs: Int?
    private var outbox = Deque<Action>()

    /// Totals for the metrics.
    var repeatedCount = 0
    var preparedCount = 0

    init(role: ConnectionRole, limits: Limits) {
        self.role = role
        self.limits = limits
        statements = PreparedStatements(countMax: limits.preparedStatementsMax)
    }

    var isConnected: Bool {
        if case .offline = mode { false } else { true }
    }
    var isStopping: Bool { stopDeadlineMs != nil }
    /// As of the last scan.
    var isHeldUp: Bool { inFlight > 0 && head?.isLong == true }
    var hasWork: Bool { inFlight > 0 || !pending.isEmpty }

    /// When `timeReached` has something to do; nil: not before another fact.
    var wakeAtMs: Int? {
        let scanMs = hasWork ? nextScanMs : nil
        guard let stopDeadlineMs else { return scanMs }
        return min(stopDeadlineMs, scanMs ?? .max)
    }

    // MARK: actions

    enum Action {
        /// Prepares the step's statement, if its use says so, and executes it.
        case send(Job, step: Int, PreparedStatements.Use)
        case sync
        /// Drops the prepared statement of that name on the server, in a group of its own.
        case deallocate(name: String)
        case flush
        /// Leaves pipeline mode and sends the script.
        case runScript(Job, sql: String)
        case enterPipeline
        /// The job succeeded and leaves the connection.
        case complete(Job)
        /// The job failed and leaves the connection.
        indirect case fail(Job, PostgresError)
        /// Answers the caller while the server still works on the job, which keeps its place in the load.
        indirect case failEarly(Job, PostgresError)
        /// The server is done with a job whose caller was answered before.
        case release(Job)
        /// The job is slow: it has been first in the pipeline for its `slowAfterMs`.
        case reportSlow(Job)
        /// The server cancelled a slow job, and nothing was committed. It leaves the connection unanswered, to be
        /// submitted to another one.
        case reroute(Job)
        /// The job is repeated: the results it has are void.
        case discardResults(Job)
        /// To be confirmed by `cancelRequestStarted`; otherwise it is repeated with the next scan.
        case requestCancel
        /// To be answered by `serverReported(isReadOnly:)`.
        case askIfReadOnly
        /// The server takes no writes any more.
        case reportReadOnly
        case disconnect(reason: String, isExpected: Bool)
    }

    /// The next action that a fact has decided.
    mutating func decidedAction() -> Action? { outbox.popFirst() }

    mutating func decide(_ action: Action) { outbox.append(action) }

    /// Before everything decided so far.
    mutating func decideFirst(_ action: Action) { outbox.prepend(action) }

    // MARK: jobs

    /// A job was submitted. Its id is for `cancelled`; nil when it was refused at once.
    /// - Parameter isCancelled: its caller has gone before it came.
    mutating func submitted(_ job: Job, isCancelled: Bool) -> JobID? {
        precondition(!job.steps.isEmpty || job.kind.isScript, "a \(job.kind) without steps")
        if isCancelled {
            decide(.fail(job, .cancelledByCaller))
        } else if isStopping {
            decide(.fail(job, .poolStopped))
        } else if let generation = job.generation, !isConnected || generation != self.generation {
            decide(.fail(job, .sessionLost))
        } else {
            let slot = jobs.insert(job)
            pending.append(slot)
            return jobs.id(of: slot)
        }
        return nil
    }

    /// The caller no longer waits. A transaction in flight is answered all the same: it may commit.
    mutating func cancelled(_ id: JobID, nowMs: Int) {
        guard let slot = jobs.slot(of: id) else { return }
        jobs[slot].isCancelRequested = true
        guard !jobs[slot].isAnswered else { return }
        guard jobs[slot].isInFlight else { return failQueued(slot, .cancelledByCaller) }
        switch jobs[slot].kind {
        case .read:
            failEarly(slot, .cancelledByCaller)
        case .transaction:
            break
        case .session, .script:
            // Alone on its connection, so a cancel request can hit nobody else.
            jobs[slot].deadlineMs = min(jobs[slot].deadlineMs, nowMs)
            nextScanMs = 0
        }
    }

    /// Answers a job that is still in `pending`, where its slot stays until the queue comes to it.
    mutating func failQueued(_ slot: Slot, _ error: PostgresError) {
        jobs[slot].isAnswered = true
        decide(.fail(jobs[slot].job, error))
    }

    mutating func failEarly(_ slot: Slot, _ error: PostgresError) {
        guard !jobs[slot].isAnswered else { return }
        jobs[slot].isAnswered = true
        decide(.failEarly(jobs[slot].job, error))
    }

    /// The job has succeeded or was answered before, and is neither queued nor in flight any more.
    mutating func finish(_ slot: Slot) {
        decide(jobs[slot].isAnswered ? .release(jobs[slot].job) : .complete(jobs[slot].job))
        jobs.remove(slot)
    }

    mutating func finish(_ slot: Slot, _ error: PostgresError) {
        decide(jobs[slot].isAnswered ? .release(jobs[slot].job) : .fail(jobs[slot].job, error))
        jobs.remove(slot)
    }

    /// Hands a slow job back, which others no longer wait for.
    mutating func reroute(_ slot: Slot) {
        let job = jobs[slot].job
        forgetAnswers(slot)
        decide(.reroute(job))
        jobs.remove(slot)
    }

    mutating func enterFlight(_ slot: Slot) {
        jobs[slot].isInFlight = true
        inFlight += 1
    }

    mutating func leaveFlight(_ slot: Slot) {
        precondition(jobs[slot].isInFlight, "slot \(slot) is not among the \(inFlight) jobs in flight")
        jobs[slot].isInFlight = false
        inFlight -= 1
    }

    /// Back to the front of the queue, as if it had never been sent.
    mutating func forgetAnswers(_ slot: Slot) {
        jobs.forgetError(of: slot)
        jobs[slot].isAborted = false
        jobs[slot].isExposedToCancel = false
        guard jobs[slot].hasResults else { return }
        jobs[slot].hasResults = false
        decide(.discardResults(jobs[slot].job))
    }

    // MARK: the connection

    /// A connection is set up and in pipeline mode.
    mutating func connected(generation: Int) {
        precondition(!isConnected, "connected as \(generation) while \(mode) of \(self.generation)")
        self.generation = generation
        mode = .pipeline
        connectError = nil
    }

    mutating func connectFailed(_ error: PostgresError) { connectError = error }

    /// A session could not be reset, so its connection is in an unknown state.
    mutating func resetFailed(generation: Int) {
        guard isConnected, generation == self.generation else { return }
        lose("a session could not be reset")
    }

    /// Another connection to this server found that it takes no writes any more.
    mutating func leaveRequested(generation: Int) {
        if isConnected, generation == self.generation { isLeaving = true }
    }

    // MARK: stopping

    /// Refuses what is queued; what is in flight has `stopTimeoutMs` to finish.
    mutating func stopRequested(nowMs: Int) {
        guard !isStopping else { return }
        stopDeadlineMs = nowMs + limits.stopTimeoutMs
        failPending(.poolStopped)
    }

    /// - Returns: true when a requested stop is over: everything has been answered.
    mutating func endStop(nowMs: Int) -> Bool {
        guard let stopDeadlineMs, inFlight == 0 || nowMs >= stopDeadlineMs else { return false }
        if inFlight > 0 { lose("the pool is stopped") }
        failPending(.poolStopped)
        return true
    }

    private mutating func failPending(_ error: PostgresError) {
        while let slot = pending.popFirst() { dropQueued(slot, error) }
    }

    /// Takes a job that has left `pending` out of the table; answers it unless that has happened.
    mutating func dropQueued(_ slot: Slot, _ error: PostgresError) {
        if !jobs[slot].isAnswered { decide(.fail(jobs[slot].job, error)) }
        jobs.remove(slot)
    }
}
