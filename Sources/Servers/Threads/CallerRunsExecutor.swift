import Synchronization

/// A serial executor for an actor that is mostly called from threads of `startThread`. While the actor is idle, such a
/// thread runs the job itself (`Task.immediate { await actor.… }`) instead of waking a thread of the cooperative pool,
/// which can take longer than the job.
///
/// At most one job runs inline. Jobs enqueued meanwhile, or from other threads, run on the cooperative pool, so a busy
/// actor never occupies an I/O thread for long. The calling thread may hold only locks for which the job
/// never waits. The queue is bounded by the actor's callers: for the worker one read, its statements and one batch of
/// appends at a time.
package final class CallerRunsExecutor: SerialExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        /// A job is running or about to run.
        var isBusy = false
    }

    private let state = Mutex(State())

    package init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let mayRunInline = isStartedThread
        let isFree = state.withLock { state in
            defer { state.isBusy = true }
            if state.isBusy || !mayRunInline { state.jobs.append(job) }
            return !state.isBusy
        }
        guard isFree else { return }
        // The job may hold the last reference to the actor, and with it to this executor.
        let keepAlive = Unmanaged.passRetained(self)
        defer { keepAlive.release() }
        if mayRunInline {
            job.runSynchronously(on: asUnownedSerialExecutor())
            guard !releaseIfIdle() else { return }
        }
        Task.detached { self.runAll() }
    }

    /// Releases the actor if no job is queued; returns whether it did.
    private func releaseIfIdle() -> Bool {
        state.withLock { state in
            if state.jobs.isEmpty { state.isBusy = false }
            return state.jobs.isEmpty
        }
    }

    private func runAll() {
        while true {
            let jobs = state.withLock { state in
                defer { state.jobs = [] }
                return state.jobs
            }
            for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
            if releaseIfIdle() { return }
        }
    }
}
