import DequeModule

/// Decides what one connection sends, which job an answer belongs to, and what happens to a job whose answer is an
/// error, late or lost. A pure value: the driver reports facts and performs the actions.
///
/// In libpq's pipeline mode many jobs are sent before the first answer. `pipeline` records what was sent, in order, and
/// answers are matched from its front:
///
///     read   prepare s1 | step A | step B | step C | sync          a batch of jobs shares one sync
///     write  step A0 | prepare s2 | step A1 | sync(A) | step B0 | sync(B)
///
/// The server treats everything between two syncs (a group) as one implicit transaction: an error aborts the rest of
/// it. So a write connection syncs after each transaction and reports it at its sync, where it commits; a read
/// connection repeats the reads that a neighbour's error aborted, each with a separate sync.
///
/// This file contains the state, the jobs' arrival and departure, and the connection's life; it is long because each of
/// them is a few lines on the same state. Sending, answers, deadlines and loss are in `PipelineMachine+Send`,
/// `+Answers`, `+Deadlines` and `+Loss`.
struct PipelineMachine<Job: PipelineJob> {
    typealias Slot = JobTable<Job>.Slot

    struct Limits {
        /// Jobs sent and not yet answered.
        var inFlightMax: Int
        /// Groups of reads sent and not yet answered. One that holds up the others is in a group with few of them; more
        /// groups would not keep the server busier.
        var readGroupsMax = 4
        var preparedStatementsMax: Int
        var statementTimeoutMs: Int
        /// Time in which the server must confirm a cancellation; after it the connection is dropped.
        var cancelGraceMs: Int
        /// Time for which a stop waits for jobs in flight.
        var stopTimeoutMs: Int
        /// The number of times that one job is sent again after errors.
        var repeatsMax = 4
        /// The number of times that one read is sent again after a lost connection.
        var lossesMax = 1
        /// The interval of checking deadlines, which bounds how late a timeout or a slow statement is noticed.
        var scanIntervalMs = 10
        /// The time for which a job may be first in the pipeline before new jobs prefer other connections.
        var heldUpAfterMs = 20
        /// The pause between cancel requests for the same job, each of which is a connection to the server.
        var cancelIntervalMs = 100
    }

    enum Mode {
        /// Disconnected, or connected and not set up yet.
        case offline
        case pipeline
        /// The simple protocol, for one job.
        case script(Slot)
    }

    enum Expectation {
        case prepare(Statement, name: String, Slot, step: Int)
        case step(Slot, index: Int)
        case deallocate
        /// A sync whose answer shows that the server begins the job.
        case start(Slot)
        /// Nil closes a batch of reads.
        case sync(Slot?)
    }

    /// The state from which `nextAction` continues.
    enum Sending {
        case idle
        case step(Slot, index: Int)
        case sync(Slot)
    }

    struct Head {
        let id: JobID
        /// The time at which a scan first found the job there.
        let sinceMs: Int
        var nextCancelMs: Int
        /// Whether it has been there for `heldUpAfterMs`.
        var isLong = false
    }

    let role: ConnectionRole
    let limits: Limits

    var mode: Mode = .offline
    /// The number of connections made so far; a session is bound to one.
    var generation = 0
    /// Whether the server's commits wait for no standby. A cancel request that reaches such a wait ends it, and the
    /// commit counts as confirmed.
    private(set) var commitsAlone = false
    var jobs = JobTable<Job>()
    /// Jobs not sent yet, in order; may include jobs already answered.
    var pending = Deque<Slot>()
    /// Commands sent and not fully answered, in order. Bounded by `inFlightMax` jobs.
    var pipeline = Deque<Expectation>()
    /// Reads of the current group that a neighbour's error aborted, to be repeated after its sync.
    var abortedReads: [Slot] = []
    /// Whether that error was a cancellation: the neighbour left, so the reads need no separate syncs.
    var isGroupCancelled = false
    var statements: PreparedStatements
    private(set) var inFlight = 0
    /// The number of syncs sent, which is also the number of the group being sent.
    var group = 0
    /// The syncs in `pipeline`.
    var groupsInFlight = 0
    var sending: Sending = .idle
    var isBatchOpen = false
    var needsFlush = false
    /// The job whose first step was sent last: if that send failed, the server has nothing of the job.
    var justBegun: Slot?
    /// Whether a cancel request is in progress. It hits whichever statement runs when it arrives, so nothing is sent
    /// meanwhile.
    var isCancelling = false
    var cancelStartedMs = 0
    /// The server no longer accepts writes: nothing is sent, and once everything is answered the connection is given
    /// up.
    var isLeaving = false
    var scriptError: PostgresError?
    var emptyAnswersAtSync = 0
    /// Whether the command at the front of `pipeline` has had a result.
    var isHeadAnswered = false
    /// The reason that there is no connection: the last attempt failed, or the connection was lost; nil while
    /// connected, and before the first attempt has failed.
    var connectError: PostgresError?
    var nextScanMs = 0
    /// The part of every answer's time that the network takes.
    var roundTripMs = 0
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
    /// Whether one job holds the connection up, as of the last scan.
    var isHeldUp: Bool { inFlight > 0 && head?.isLong == true }
    /// Whether the job that the server works on now has been there for a while: more would only wait behind it, where
    /// they can no longer be taken back.
    var isHeadLong: Bool {
        guard let head, head.isLong, let slot = pipeline.first?.slot else { return false }
        return jobs.id(of: slot) == head.id
    }
    var hasWork: Bool { inFlight > 0 || !pending.isEmpty }

    /// The time at which `timeReached` has something to do; nil: not before another fact.
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
        /// Sends a sync whose answer shows when the server begins the job, which follows.
        case announce(Job)
        /// The server begins the job that was announced.
        case reportStart(Job)
        /// Drops a prepared statement on the server, in a separate group.
        case deallocate(name: String)
        case flush
        /// Leaves pipeline mode and sends the script.
        case runScript(Job, sql: String)
        case enterPipeline
        /// The job succeeded and leaves the connection.
        case complete(Job)
        /// The job failed and leaves the connection.
        indirect case fail(Job, PostgresError)
        /// Answers the caller while the server still works on the job, which stays in the load.
        indirect case failEarly(Job, PostgresError)
        /// The server has finished a job whose caller was answered before.
        case release(Job)
        /// The job is slow: it has been first in the pipeline for its `slowAfterMs`.
        case reportSlow(Job)
        /// The server cancelled a slow job, and nothing was committed. The job leaves the connection unanswered and is
        /// submitted to another one.
        case reroute(Job)
        /// The job was not sent, and its statement is known to be slow: it is submitted to the lane again.
        case divert(Job)
        /// The job is repeated: its results so far are void.
        case discardResults(Job)
        /// Requires confirmation by `cancelRequestStarted`; otherwise it is repeated at the next scan.
        case requestCancel
        /// Requires an answer by `serverReported(isReadOnly:)`.
        case askIfReadOnly
        /// The server no longer accepts writes.
        case reportReadOnly
        case disconnect(reason: String, isExpected: Bool)
    }

    /// Returns the next action that an earlier fact decided.
    mutating func decidedAction() -> Action? { outbox.popFirst() }

    mutating func decide(_ action: Action) { outbox.append(action) }

    /// Puts an action before all others decided so far.
    mutating func decideFirst(_ action: Action) { outbox.prepend(action) }

    // MARK: jobs

    /// Reports that a job was submitted.
    /// - Parameter isCancelled: its caller gave up before it arrived.
    /// - Returns: the id for `cancelled`; nil when the job was refused at once.
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

    /// Reports that the caller no longer waits. A transaction in flight is still answered, because it may commit.
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
            // It is alone on its connection, so a cancel request can hit no other job.
            jobs[slot].deadlineMs = min(jobs[slot].deadlineMs, nowMs)
            nextScanMs = 0
        }
    }

    /// Answers a job that is still in `pending`, where its slot stays until the queue reaches it.
    mutating func failQueued(_ slot: Slot, _ error: PostgresError) {
        jobs[slot].isAnswered = true
        decide(.fail(jobs[slot].job, error))
    }

    mutating func failEarly(_ slot: Slot, _ error: PostgresError) {
        guard !jobs[slot].isAnswered else { return }
        jobs[slot].isAnswered = true
        decide(.failEarly(jobs[slot].job, error))
    }

    /// Finishes a job that succeeded, or was answered before, and is neither queued nor in flight any more.
    mutating func finish(_ slot: Slot) {
        decide(jobs[slot].isAnswered ? .release(jobs[slot].job) : .complete(jobs[slot].job))
        jobs.remove(slot)
    }

    mutating func finish(_ slot: Slot, _ error: PostgresError) {
        decide(jobs[slot].isAnswered ? .release(jobs[slot].job) : .fail(jobs[slot].job, error))
        jobs.remove(slot)
    }

    /// Hands a slow job back, so that others no longer wait for it.
    mutating func reroute(_ slot: Slot) {
        let job = jobs[slot].job
        forgetAnswers(slot)
        decide(.reroute(job))
        jobs.remove(slot)
    }

    /// Hands a job back that was not sent.
    mutating func divert(_ slot: Slot) {
        decide(.divert(jobs[slot].job))
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

    /// Returns a job to the front of the queue as if it had never been sent.
    mutating func forgetAnswers(_ slot: Slot) {
        jobs.forgetError(of: slot)
        jobs[slot].isAborted = false
        jobs[slot].isExposedToCancel = false
        guard jobs[slot].hasResults else { return }
        jobs[slot].hasResults = false
        decide(.discardResults(jobs[slot].job))
    }

    // MARK: the connection

    /// Reports that a connection is set up and in pipeline mode.
    mutating func connected(generation: Int, commitsAlone: Bool) {
        precondition(!isConnected, "connected as \(generation) while \(mode) of \(self.generation)")
        self.generation = generation
        self.commitsAlone = commitsAlone
        mode = .pipeline
        connectError = nil
    }

    mutating func connectFailed(_ error: PostgresError) { connectError = error }

    /// Reports that a session could not be reset, so its connection is in an unknown state.
    mutating func resetFailed(generation: Int) {
        guard isConnected, generation == self.generation else { return }
        lose("a session could not be reset")
    }

    /// Reports that another connection to this server found that it no longer accepts writes.
    mutating func leaveRequested(generation: Int) {
        if isConnected, generation == self.generation { isLeaving = true }
    }

    // MARK: stopping

    /// Refuses queued jobs and gives those in flight `stopTimeoutMs` to finish.
    mutating func stopRequested(nowMs: Int) {
        guard !isStopping else { return }
        stopDeadlineMs = nowMs + limits.stopTimeoutMs
        failPending(.poolStopped)
    }

    /// - Returns: true when a requested stop is complete: everything has been answered.
    mutating func endStop(nowMs: Int) -> Bool {
        guard let stopDeadlineMs, inFlight == 0 || nowMs >= stopDeadlineMs else { return false }
        if inFlight > 0 { lose("the pool is stopped") }
        failPending(.poolStopped)
        return true
    }

    private mutating func failPending(_ error: PostgresError) {
        while let slot = pending.popFirst() { dropQueued(slot, error) }
    }

    /// Removes a job that has left `pending` from the table, and answers it unless it has been answered.
    mutating func dropQueued(_ slot: Slot, _ error: PostgresError) {
        if !jobs[slot].isAnswered { decide(.fail(jobs[slot].job, error)) }
        jobs.remove(slot)
    }
}
