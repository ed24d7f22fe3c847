import CLibpq
import DequeModule
import Glibc
import Logging
import Threads
import Synchronization

extension ConnectionDriver {
    /// Times out what waits unsent, asks the server to cancel what it works on for too long, and gives the connection
    /// up when even that is not answered.
    func scanDeadlines(_ nowMs: Int) {
        if pending.contains(where: { $0.isFinished || $0.deadlineMs <= nowMs }) {
            for job in pending where !job.isFinished && job.deadlineMs <= nowMs {
                complete(job, .failure(overdueUnsent()))
            }
            pending.removeAll { $0.isFinished }
        }

        var isHead = true
        for job in jobsInFlight() {
            if nowMs >= job.deadlineMs + configuration.cancelGraceMs {
                return giveUp(nowMs)
            }
            if nowMs >= job.deadlineMs {
                if isHead, !isCancelling { requestCancel() }
                if job.isRead { complete(job, .failure(timedOut(outcomeUnknown: false))) }
            }
            isHead = false
        }
    }

    /// The caller no longer waits. A transaction that was sent is answered all the same: it may commit.
    func cancel(_ job: Job, _ nowMs: Int) {
        guard job.occupiesSlot, !job.isFinished else { return }
        let cancelled = PostgresError(.cancelled, "the caller was cancelled")
        guard job.isInFlight else { return complete(job, .failure(cancelled)) }
        switch job.kind {
        case .read:
            complete(job, .failure(cancelled))
        case .transaction:
            break
        case .session, .script:
            // Alone on its connection, so a cancel request can hit nobody else.
            job.deadlineMs = min(job.deadlineMs, nowMs)
            nextScanMs = 0
        }
    }

    /// What has been sent and not fully answered, in order.
    func jobsInFlight() -> [Job] {
        if case .script(let job?, _) = phase { return [job] }
        var jobs: [Job] = []
        for expectation in pipeline {
            switch expectation {
            case .step(let job, _), .sync(let job?):
                if jobs.last !== job { jobs.append(job) }
            case .prepare, .deallocate, .sync(nil):
                break
            }
        }
        return jobs
    }

    private func overdueUnsent() -> PostgresError {
        if let lastConnectError, connection == nil || !counters.isConnected.load(ordering: .relaxed) {
            return PostgresError(.connectionFailed, lastConnectError.message)
        }
        return timedOut(outcomeUnknown: false)
    }

    private func timedOut(outcomeUnknown: Bool) -> PostgresError {
        PostgresError(.timeout(outcomeUnknown: outcomeUnknown), "no answer in time")
    }

    /// Neither an answer nor a cancellation: the server or the way to it hangs.
    private func giveUp(_ nowMs: Int) {
        for job in jobsInFlight() where nowMs >= job.deadlineMs && !job.isFinished {
            let isCancelled = job.isRead && job.cancelRequested.load(ordering: .relaxed)
            let error = timedOut(outcomeUnknown: !job.isRead)
            leaveFlight(job)
            complete(job, .failure(isCancelled ? PostgresError(.cancelled, "the caller was cancelled") : error))
        }
        connectionLost("no answer within \(configuration.cancelGraceMs) ms after a deadline")
    }

    /// `PQcancel` makes a connection of its own and blocks, so it gets a thread of its own.
    private func requestCancel() {
        guard let connection, let handle = connection.cancelHandle() else { return }
        guard counters.cancelThreads.load(ordering: .relaxed) < ConnectionCounters.cancelThreadsMax else {
            PQfreeCancel(handle)
            return
        }
        for job in jobsInFlight() { job.isExposedToCancel = true }
        isCancelling = true
        counters.cancelRequests.wrappingAdd(1, ordering: .relaxed)
        counters.cancelThreads.wrappingAdd(1, ordering: .relaxed)
        let generation = counters.generation.load(ordering: .relaxed)
        // The handle is the thread's from here on: it was made for it and is freed there.
        nonisolated(unsafe) let owned = handle
        let link = link
        let isStarted = startThread(named: "postgres-cancel") {
            _ = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { PQcancel(owned, $0.baseAddress, 256) }
            PQfreeCancel(owned)
            link.counters.cancelThreads.wrappingSubtract(1, ordering: .relaxed)
            link.post(.cancelRequestEnded(generation: generation))
        }
        if !isStarted {
            PQfreeCancel(handle)
            isCancelling = false
            counters.cancelThreads.wrappingSubtract(1, ordering: .relaxed)
        }
    }
}
