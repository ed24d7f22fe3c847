import Synchronization

/// The executor of an actor whose work is brought by threads of `startThread`: while it is idle, such a thread runs it at
/// once (`Task.immediate { await actor.… }`) instead of waking one of Swift's threads. On a machine with nothing else to do
/// a wake-up takes longer than most of what an actor does in one go.
///
/// One piece of work at a time is run there, so that a busy actor keeps no connection's thread: what came meanwhile, and
/// what any other thread brings, runs on Swift's threads. The thread must hold no lock. Like any actor's queue this one is
/// bounded by those who call the actor: for the worker one read, its statements and one flight at a time.
package final class CallerRunsExecutor: SerialExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        /// Somebody runs a job, or is about to.
        var isTaken = false
    }

    private let state = Mutex(State())

    package init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let mayCarry = isOwnThread
        let isFree = state.withLock { state in
            defer { state.isTaken = true }
            if state.isTaken || !mayCarry { state.jobs.append(job) }
            return !state.isTaken
        }
        guard isFree else { return }
        // The job may be the last that holds the actor, which holds this.
        let keeper = Unmanaged.passRetained(self)
        defer { keeper.release() }
        if mayCarry {
            job.runSynchronously(on: asUnownedSerialExecutor())
            guard !isIdle() else { return }
        }
        Task.detached { self.runAll() }
    }

    /// Gives the actor up when nothing is to be done.
    private func isIdle() -> Bool {
        state.withLock { state in
            if state.jobs.isEmpty { state.isTaken = false }
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
            if isIdle() { return }
        }
    }
}
