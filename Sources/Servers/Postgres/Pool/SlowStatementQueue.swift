import Synchronization

/// The slow statements of a lane, current and in total.
package struct SlowStatementCounts: Sendable, Hashable {
    package var running = 0
    package var waiting = 0
    /// Statements cancelled and repeated on a slow connection since the start.
    package var rerouted = 0
    /// Slow statements refused since the start because too many waited.
    package var refused = 0
}

/// The slow statements of a lane that wait for one of its slow connections.
final class SlowStatementQueue: Sendable {
    private struct State {
        var queue: FairQueue<Job>
        var nextSweepMs = 0
        var rerouted = 0
        var refused = 0
        var isClosed = false
    }

    private let limits: FairQueue<Job>.Limits
    private let state: Mutex<State>
    private static let sweepIntervalMs = 10

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

    /// Queues the job or refuses it.
    func add(_ job: Job) {
        job.willWait()
        let error: PostgresError? = state.withLock { state in
            if state.isClosed { return .poolStopped }
            switch state.queue.add(job, of: job.source) {
            case nil: return nil
            case .full:
                state.refused += 1
                return PostgresError(.queueFull, "\(limits.waitingMax) slow statements wait")
            case .sourceFull:
                state.refused += 1
                return PostgresError(
                    .queueFull, "\(limits.waitingPerSourceMax) slow statements of the same caller wait")
            }
        }
        if let error { job.finish(.failure(error)) }
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
