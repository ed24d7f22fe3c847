import Clocks
import Synchronization

/// The connections for one kind of work: some pipelined for many callers, others for longer statements, one at a time.
///
/// A pipelined connection answers in order, so a statement that takes long delays all behind it. One that has run for
/// `slowAfterMs` while others wait is cancelled and repeated on a slow connection. Statements with its text then start
/// there until they have been fast again for a while; those that still wait for their turn on a fast connection move,
/// too. Callers that know how long a job may take say so (`PostgresPool.RefreshCourse`).
///
/// Callers' own jobs are graded by what executions of their statements took (`StatementPace`). Where there are moderate
/// connections, only short statements are pipelined, as far as a connection is expected to answer all of them soon;
/// others run on the moderate connections, from which they move to the slow ones. Without, the longer ones share half
/// of the pipelined connections, another half for each source.
///
/// Moderate and slow connections are divided fairly among the sources of the statements (`FairQueue`), so statements
/// delay only their own sender.
final class StatementLane: Sendable {
    /// The connections of each tier; `moderate` and `slow` may be empty.
    struct Connections {
        var fast: [ConnectionHandle]
        var moderate: [ConnectionHandle] = []
        var slow: [ConnectionHandle]
    }

    /// The running time after which a short statement that others wait for leaves its fast connection.
    private static let shortSlowAfterMs = 50

    let fast: [ConnectionHandle]
    let moderate: [ConnectionHandle]
    /// The connections for slow statements. Without any, slow statements stay where they are.
    let slow: [ConnectionHandle]
    /// Jobs that wait for a moderate connection or, if their statement is short, for room on a fast one.
    private let moderateQueue: SlowStatementQueue
    private let queue: SlowStatementQueue
    private let choice: ConnectionChoice
    let pace: StatementPace
    private let slowAfterMs: Int

    /// - Parameters:
    ///   - choice: chooses among the fast connections.
    ///   - moderateQueue: has one slot for each moderate connection.
    ///   - queue: has one slot for each slow connection.
    ///   - slowAfterMs: the running time on a moderate connection after which a job is slow.
    init(
        _ connections: Connections, choice: ConnectionChoice, pace: StatementPace, moderateQueue: SlowStatementQueue,
        queue: SlowStatementQueue, slowAfterMs: Int
    ) {
        fast = connections.fast
        moderate = connections.moderate
        slow = connections.slow
        self.choice = choice
        self.pace = pace
        self.moderateQueue = moderateQueue
        self.queue = queue
        self.slowAfterMs = slowAfterMs
    }

    var connections: [ConnectionHandle] { fast + moderate + slow }

    var counts: SlowStatementCounts { queue.counts }
    var moderateCounts: SlowStatementCounts { moderateQueue.counts }

    var hasModerate: Bool { !moderate.isEmpty }
    var isModerateAwaited: Bool { moderateQueue.hasWaiting }

    /// - Parameters:
    ///   - timeoutMs: applied separately to queueing and execution.
    ///   - source: charged for the job when it is slow.
    ///   - isGraded: whether it is a caller's own.
    func job(
        _ kind: JobKind, _ steps: [PostgresStep], timeoutMs: Int, slowAfterMs: Int, source: Caller,
        isGraded: Bool = false
    ) -> Job {
        let job = Job(kind, steps, timeoutMs: timeoutMs)
        job.runTimeoutMs = timeoutMs
        if !slow.isEmpty {
            job.slowAfterMs = slowAfterMs
            job.lane = (self, source)
            job.isGraded = isGraded
        }
        return job
    }

    func submit(_ job: Job) {
        if job.isGraded, hasModerate { job.slowAfterMs = slowAfterMs }
        if job.startsApart {
            if enqueue(job, mayTry: false) { return }
        } else if job.isMarkedSlow {
            if enqueue(job, mayTry: true) { return }
            job.isTrial = true
        }
        job.costUs = 0
        guard job.isGraded else { return submitToFast(job) }
        if hasModerate { submitGradedQuery(job) } else { submitGradedTransaction(job) }
    }

    private func submitToFast(_ job: Job) {
        fast[choice.best(of: fast.count, nowUs: MonotonicClock.nowUs) { fast[$0].counters.choiceLoad }].submit(job)
    }

    // MARK: graded jobs

    /// Whether a graded job may share a pipeline.
    func mayTakeFast(_ job: Job) -> Bool { !hasModerate || tier(job) == .fast }

    private func tier(_ job: Job) -> StatementPace.Tier {
        pace.tier(
            job.measuredStatement?.average, isSlow: job.isMarkedSlow, staysApart: job.wasRerouted || job.isTrial)
    }

    private func submitGradedQuery(_ job: Job) {
        if takeFast(job) { return }
        _ = moderateQueue.add(job, mayTry: false, nowMs: Int(MonotonicClock.nowMs()))
        startModerate()
    }

    /// - Returns: false when the job has to wait.
    private func takeFast(_ job: Job) -> Bool {
        guard mayTakeFast(job) else { return false }
        let load = { [fast] (index: Int) in fast[index].counters.choiceLoad }
        let index = choice.best(of: fast.count, nowUs: MonotonicClock.nowUs, load)
        guard choice.hasRoom(load(index)) else { return false }
        job.slowAfterMs = min(slowAfterMs, Self.shortSlowAfterMs)
        job.costUs = pace.costUs(job.measuredStatement?.average)
        fast[index].submit(job)
        return true
    }

    private func startModerate() {
        while let (job, slot) = moderateQueue.start() {
            // Its statement may have been measured meanwhile.
            if tier(job) == .slow {
                moderateQueue.ended(job, slot: slot)
                if enqueue(job, mayTry: true) { continue }
                job.isTrial = true
                _ = moderateQueue.add(job, mayTry: false, nowMs: Int(MonotonicClock.nowMs()))
            } else if takeFast(job) {
                moderateQueue.ended(job, slot: slot)
            } else {
                job.startOnModerateConnection(slot, slowAfterMs: slowAfterMs)
                moderate[slot].submit(job)
            }
        }
    }

    /// Records that a job has left its moderate connection, and starts the next one.
    /// - Parameter us: the time that the job spent there.
    func leftModerate(_ job: Job, slot: Int, us: Int) {
        if job.hasSucceeded || us > pace.shortMaxUs { job.measuredStatement?.took(us: us, pace) }
        moderateQueue.ended(job, slot: slot)
        startModerate()
    }

    private func submitGradedTransaction(_ job: Job) {
        let average = job.measuredStatement?.average
        if average?.isShort == true { return submitToFast(job) }
        job.costUs = pace.costUs(average)
        let open = ConnectionChoice.share(of: fast.count, for: job.source)
        let best = choice.best(of: open.count, nowUs: MonotonicClock.nowUs) { fast[open[$0]].counters.choiceLoad }
        fast[open[best]].submit(job)
    }

    // MARK: slow jobs

    /// Queues a job that a connection handed back after cancelling it on the server.
    func reroute(_ job: Job) {
        let wasRerouted = job.reroute()
        if job.isGraded, hasModerate, !wasRerouted {
            moderateQueue.countRerouted()
            return submitGradedQuery(job)
        }
        queue.countRerouted()
        _ = enqueue(job, mayTry: false)
    }

    /// - Returns: false when the job is to be tried on a fast connection.
    private func enqueue(_ job: Job, mayTry: Bool) -> Bool {
        let isTaken = queue.add(job, mayTry: mayTry, nowMs: Int(MonotonicClock.nowMs()))
        startWaiting()
        return isTaken
    }

    private func startWaiting() {
        while let (job, slot) = queue.start() {
            job.startOnSlowConnection(slot)
            slow[slot].submit(job)
        }
    }

    func trialEnded(_ job: Job) { queue.trialEnded(of: job.source) }

    /// A slow connection is done with its job.
    func left(_ job: Job, slot: Int, isSlow: Bool) {
        if job.startsApart {
            // It says nothing about others with its text.
        } else if isSlow {
            job.measuredStatement?.isSlowAgain()
        } else if !job.hasFailed {
            job.measuredStatement?.wasFast()
        }
        queue.ended(job, slot: slot)
        startWaiting()
    }

    /// Refuses waiting jobs; the pool stops the connections.
    func close() {
        moderateQueue.close()
        queue.close()
    }
}

extension ConnectionCounters {
    fileprivate var choiceLoad: ConnectionChoice.Load {
        ConnectionChoice.Load(
            jobs: load.load(ordering: .relaxed), isConnected: isConnected.load(ordering: .relaxed),
            isHeldUp: isHeldUp.load(ordering: .relaxed), progressUs: progressUs.load(ordering: .relaxed),
            answerUs: answerUs.load(ordering: .relaxed), costUs: costUs.load(ordering: .relaxed))
    }
}
