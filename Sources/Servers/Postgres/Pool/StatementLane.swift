import Clocks
import Synchronization

/// The connections for one kind of work: some pipelined for many callers, others for slow statements, one at a time.
///
/// A pipelined connection answers in order, so a statement that takes seconds would delay all behind it. One that has
/// run for `slowAfterMs` while others wait is cancelled and repeated on a slow connection. Statements with its text
/// then start there until they have been fast again for a while; those that still wait for their turn on a fast
/// connection move, too. Callers that know how long a job may take say so (`PostgresPool.RefreshCourse`). Slow
/// connections are divided fairly among the sources of the statements (`FairQueue`), so slow statements delay only
/// their own sender.
final class StatementLane: Sendable {
    let fast: [ConnectionHandle]
    /// May be empty; slow statements then stay where they are.
    let slow: [ConnectionHandle]
    private let queue: SlowStatementQueue
    private let choice: ConnectionChoice

    /// - Parameters:
    ///   - choice: chooses among the fast connections.
    ///   - queue: has one slot for each slow connection.
    init(
        fast: [ConnectionHandle], slow: [ConnectionHandle], choice: ConnectionChoice, queue: SlowStatementQueue
    ) {
        self.fast = fast
        self.choice = choice
        self.slow = slow
        self.queue = queue
    }

    var connections: [ConnectionHandle] { fast + slow }

    var counts: SlowStatementCounts { queue.counts }

    /// - Parameters:
    ///   - timeoutMs: applied separately to queueing and execution.
    ///   - source: charged for the job when it is slow.
    func job(
        _ kind: JobKind, _ steps: [PostgresStep], timeoutMs: Int, slowAfterMs: Int, source: Caller
    ) -> Job {
        let job = Job(kind, steps, timeoutMs: timeoutMs)
        job.runTimeoutMs = timeoutMs
        if !slow.isEmpty {
            job.slowAfterMs = slowAfterMs
            job.lane = (self, source)
        }
        return job
    }

    func submit(_ job: Job) {
        if job.startsApart {
            if enqueue(job, mayTry: false) { return }
        } else if job.isKnownSlow {
            if enqueue(job, mayTry: true) { return }
            job.isTrial = true
        }
        let index = choice.best(of: fast.count, nowUs: MonotonicClock.nowUs) { fast[$0].counters.choiceLoad }
        fast[index].submit(job)
    }

    /// Queues a job that a connection handed back after cancelling it on the server.
    func reroute(_ job: Job) {
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
    func close() { queue.close() }
}

extension ConnectionCounters {
    fileprivate var choiceLoad: ConnectionChoice.Load {
        ConnectionChoice.Load(
            jobs: load.load(ordering: .relaxed), isConnected: isConnected.load(ordering: .relaxed),
            isHeldUp: isHeldUp.load(ordering: .relaxed), progressUs: progressUs.load(ordering: .relaxed),
            answerUs: answerUs.load(ordering: .relaxed))
    }
}
