import Synchronization

/// The connections for one kind of work: some pipelined for many callers, some apart for slow statements, one at a
/// time.
///
/// A pipelined connection answers in order, so a statement that takes seconds would hold up all behind it. One that has
/// run for `slowAfterMs` while others wait is cancelled and repeated on a slow connection, and statements with its text
/// go there from the start until they have been fast again for a while. Slow connections are divided fairly among the
/// sources of the statements (`FairQueue`), so that who sends slow statements waits for their own.
final class StatementLane: Sendable {
    let fast: [ConnectionHandle]
    /// May be empty: slow statements then stay where they are.
    let slow: [ConnectionHandle]
    private let queue: SlowStatementQueue

    /// - Parameter queue: has as many places as there are slow connections.
    init(fast: [ConnectionHandle], slow: [ConnectionHandle], queue: SlowStatementQueue) {
        self.fast = fast
        self.slow = slow
        self.queue = queue
    }

    var connections: [ConnectionHandle] { fast + slow }

    var counts: SlowStatementCounts { queue.counts }

    /// - Parameters:
    ///   - timeoutMs: for waiting and, anew, for running.
    ///   - source: who is charged for the job when it is slow.
    func job(
        _ kind: JobKind, _ steps: [PostgresStep], timeoutMs: Int, slowAfterMs: Int, source: UInt64
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
        if job.lane != nil, job.judgedStatement?.isSlow == true {
            enqueue(job)
        } else {
            fast.leastLoaded.submit(job)
        }
    }

    /// A connection has handed the job back, cancelled on the server.
    func reroute(_ job: Job) {
        queue.countRerouted()
        enqueue(job)
    }

    private func enqueue(_ job: Job) {
        queue.add(job)
        startWaiting()
    }

    private func startWaiting() {
        while let (job, place) = queue.start() {
            job.startOnSlowConnection(place)
            slow[place].submit(job)
        }
    }

    /// A slow connection is done with its job.
    func left(_ job: Job, place: Int, isSlow: Bool) {
        if isSlow {
            job.judgedStatement?.isSlowAgain()
        } else if !job.hasFailed {
            job.judgedStatement?.wasFast()
        }
        queue.ended(job, place: place)
        startWaiting()
    }

    /// Refuses what waits; the connections are stopped by the pool.
    func close() { queue.close() }
}

extension [ConnectionHandle] {
    /// The connected one with the lowest load; among equals the first, so that few callers keep few connections busy.
    var leastLoaded: ConnectionHandle {
        var best = self[0]
        var bestRank = best.loadRank
        for connection in dropFirst() where bestRank > 0 {
            let rank = connection.loadRank
            if rank < bestRank { (best, bestRank) = (connection, rank) }
        }
        return best
    }
}

extension ConnectionHandle {
    /// Connections that are down rank last, then those that work on one statement for long.
    fileprivate var loadRank: Int {
        counters.load.load(ordering: .relaxed)
            + (counters.isHeldUp.load(ordering: .relaxed) ? 1 << 30 : 0)
            + (counters.isConnected.load(ordering: .relaxed) ? 0 : 1 << 40)
    }
}
