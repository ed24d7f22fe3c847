import Synchronization

/// The slow statements of a lane, current and in total.
package struct SlowStatementCounts: Sendable, Hashable {
    package var running = 0
    package var waiting = 0
    /// Statements cancelled and repeated on a slow connection since the start.
    package var rerouted = 0
    /// Slow statements refused since the start because too many waited.
    package var refused = 0

    package init() {}

    init(running: Int, waiting: Int, rerouted: Int, refused: Int) {
        (self.running, self.waiting, self.rerouted, self.refused) = (running, waiting, rerouted, refused)
    }
}

/// The slow statements of a lane that wait for one of its slow connections.
final class SlowStatementQueue: Sendable {
    private struct State {
        var admission: SlowStatementAdmission<Job>
        var nextSweepMs = 0
        var rerouted = 0
        var isClosed = false
    }

    private let limits: FairQueue<Job>.Limits
    private let state: Mutex<State>
    private static let sweepIntervalMs = 10

    init(connections: Int, _ configuration: PostgresConfiguration) {
        limits = .init(
            slots: connections, slotsPerSource: max(1, connections - 1), waitingMax: configuration.slowQueueMax,
            waitingPerSourceMax: configuration.slowQueuePerSourceMax)
        state = Mutex(State(admission: SlowStatementAdmission(limits: limits)))
    }

    var counts: SlowStatementCounts {
        state.withLock {
            SlowStatementCounts(
                running: $0.admission.queue.runningCount, waiting: $0.admission.queue.waitingCount,
                rerouted: $0.rerouted, refused: $0.admission.refusedCount)
        }
    }

    func countRerouted() { state.withLock { $0.rerouted += 1 } }

    /// Queues the job, or answers it when too many wait (`SlowStatementAdmission.add`).
    /// - Returns: false when the job is to be tried on a fast connection.
    func add(_ job: Job, mayTry: Bool, nowMs: Int) -> Bool {
        job.willWait()
        let decision: SlowStatementAdmission<Job>.Decision? = state.withLock { state in
            state.isClosed
                ? nil : state.admission.add(job, of: job.source, mayTry: mayTry, nowMs: nowMs)
        }
        switch decision {
        case .queued: return true
        case .trial: return false
        case .refused(.full): refuse(job, "\(limits.waitingMax) slow statements wait")
        case .refused(.sourceFull):
            refuse(job, "\(limits.waitingPerSourceMax) slow statements of the same caller wait")
        case nil: job.finish(.failure(.poolStopped))
        }
        return true
    }

    private func refuse(_ job: Job, _ reason: String) { job.finish(.failure(PostgresError(.queueFull, reason))) }

    func trialEnded(of source: Caller) { state.withLock { $0.admission.trialEnded(of: source) } }

    func start() -> (element: Job, slot: Int)? { state.withLock { $0.admission.start() } }

    func ended(_ job: Job, slot: Int) { state.withLock { $0.admission.ended(slot: slot, of: job.source) } }

    /// Answers the jobs that have waited too long or whose callers gave up. Called often while a slow statement runs;
    /// nothing waits otherwise.
    func sweep(_ nowMs: Int) {
        let removed = state.withLock { state in
            guard nowMs >= state.nextSweepMs else { return [Job]() }
            state.nextSweepMs = nowMs + Self.sweepIntervalMs
            return state.admission.remove { $0.deadlineMs <= nowMs || $0.cancelRequested.load(ordering: .relaxed) }
        }
        for job in removed {
            let isCancelled = job.cancelRequested.load(ordering: .relaxed)
            job.finish(.failure(isCancelled ? .cancelledByCaller : .notSentInTime))
        }
    }

    /// Refuses waiting jobs and all later ones.
    func close() {
        let removed = state.withLock { state in
            state.isClosed = true
            return state.admission.remove { _ in true }
        }
        for job in removed { job.finish(.failure(.poolStopped)) }
    }
}
