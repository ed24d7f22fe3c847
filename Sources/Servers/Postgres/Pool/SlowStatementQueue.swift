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
        var queue: FairQueue<Job>
        var nextSweepMs = 0
        var rerouted = 0
        var refused = 0
        var isClosed = false
        /// The sources of slow jobs that were refused. At most `waitingMax`.
        var refusedUntilMs: [UInt64: Int] = [:]
    }

    private let limits: FairQueue<Job>.Limits
    private let state: Mutex<State>
    private static let sweepIntervalMs = 10
    private static let refusalMs = 10_000

    init(connections: Int, _ configuration: PostgresConfiguration) {
        limits = .init(
            places: connections, placesPerSource: max(1, connections - 1), waitingMax: configuration.slowQueueMax,
            waitingPerSourceMax: configuration.slowQueuePerSourceMax)
        state = Mutex(State(queue: FairQueue(limits: limits)))
    }

    var counts: SlowStatementCounts {
        state.withLock {
            SlowStatementCounts(
                running: $0.queue.runningCount, waiting: $0.queue.waitingCount, rerouted: $0.rerouted,
                refused: $0.refused)
        }
    }

    func countRerouted() { state.withLock { $0.rerouted += 1 } }

    /// Queues the job, or answers it when too many wait.
    /// - Parameter isRerouted: the job itself was slow. Otherwise its statement was, and the job may yet be fast: where
    ///   too many wait, it goes among the others, unless a slow job of its source was refused recently.
    /// - Returns: false when the job is to go among the others.
    func add(_ job: Job, isRerouted: Bool, nowMs: Int) -> Bool {
        job.willWait()
        enum Outcome {
            case queued, fast
            case refused(PostgresError)
        }
        let outcome: Outcome = state.withLock { state in
            if state.isClosed { return .refused(.poolStopped) }
            guard let refusal = state.queue.add(job, of: job.source) else { return .queued }
            if isRerouted {
                if state.refusedUntilMs.count >= limits.waitingMax { state.refusedUntilMs = [:] }
                state.refusedUntilMs[job.source] = nowMs + Self.refusalMs
            } else if nowMs >= state.refusedUntilMs[job.source, default: .min] {
                return .fast
            }
            state.refused += 1
            switch refusal {
            case .full: return .refused(PostgresError(.queueFull, "\(limits.waitingMax) slow statements wait"))
            case .sourceFull:
                let count = limits.waitingPerSourceMax
                return .refused(PostgresError(.queueFull, "\(count) slow statements of the same caller wait"))
            }
        }
        switch outcome {
        case .queued: return true
        case .fast: return false
        case .refused(let error):
            job.finish(.failure(error))
            return true
        }
    }

    func start() -> (element: Job, place: Int)? { state.withLock { $0.queue.start() } }

    func ended(_ job: Job, place: Int) { state.withLock { $0.queue.ended(place: place, of: job.source) } }

    /// Answers the jobs that have waited too long or whose callers gave up. Called often while a slow statement runs;
    /// nothing waits otherwise.
    func sweep(_ nowMs: Int) {
        let removed = state.withLock { state in
            guard nowMs >= state.nextSweepMs else { return [Job]() }
            state.nextSweepMs = nowMs + Self.sweepIntervalMs
            return state.queue.remove { $0.deadlineMs <= nowMs || $0.cancelRequested.load(ordering: .relaxed) }
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
            return state.queue.remove { _ in true }
        }
        for job in removed { job.finish(.failure(.poolStopped)) }
    }
}
