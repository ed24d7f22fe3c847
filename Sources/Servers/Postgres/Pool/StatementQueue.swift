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

/// The statements of a lane that wait for one of its connections of a tier.
final class StatementQueue: Sendable {
    private struct State {
        var admission: SlowStatementAdmission<Job>
        var nextSweepMs = 0
        var rerouted = 0
        var isClosed = false
    }

    private let limits: FairQueue<Job>.Limits
    private let state: Mutex<State>
    private static let sweepIntervalMs = 10

    /// Whether jobs wait, readable without the lock.
    private let waitingFlag = Atomic<Bool>(false)
    var hasWaiting: Bool { waitingFlag.load(ordering: .relaxed) }

    /// Whether something waits that could start if the running job left.
    func isSlotAwaited(of job: Job) -> Bool {
        hasWaiting && state.withLock { $0.admission.queue.isSlotAwaited(of: source(of: job)) }
    }

    private let dividesByStatement: Bool

    /// - Parameter dividesByStatement: whether the statements of a source take turns, too, so that one that is run once
    ///   does not wait for all executions of another one. What runs is divided among addresses.
    init(connections: Int, waitingMax: Int, waitingPerSourceMax: Int, dividesByStatement: Bool = false) {
        self.dividesByStatement = dividesByStatement
        limits = .init(
            slots: connections, slotsPerSource: max(1, connections - 1), waitingMax: waitingMax,
            waitingPerSourceMax: waitingPerSourceMax)
        state = Mutex(State(admission: SlowStatementAdmission(limits: limits)))
    }

    private func source(of job: Job) -> Caller {
        let source = job.source
        guard dividesByStatement, let statement = job.measuredStatement else { return source }
        return Caller(
            source.number &+ UInt64(truncatingIfNeeded: statement.hashValue), address: source.address ?? source.number)
    }

    /// Call it with the lock held, after each change.
    private func publish(_ state: inout State) {
        waitingFlag.store(state.admission.queue.waitingCount > 0, ordering: .relaxed)
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
    /// - Returns: false when the job is to be tried on other connections (`StatementLane.submit`).
    func add(_ job: Job, mayTry: Bool, nowMs: Int) -> Bool {
        job.willWait()
        let decision: SlowStatementAdmission<Job>.Decision? = state.withLock { state in
            defer { publish(&state) }
            return state.isClosed
                ? nil : state.admission.add(job, of: source(of: job), mayTry: mayTry, nowMs: nowMs)
        }
        switch decision {
        case .queued: return true
        case .trial: return false
        case .refused(.full): refuse(job, "\(limits.waitingMax) statements wait")
        case .refused(.sourceFull):
            refuse(job, "\(limits.waitingPerSourceMax) statements of the same caller wait")
        case nil: finish(job, .poolStopped)
        }
        return true
    }

    private func refuse(_ job: Job, _ reason: String) { finish(job, PostgresError(.queueFull, reason)) }

    /// Answers a job that is on no connection.
    private func finish(_ job: Job, _ error: PostgresError) {
        job.endTrial()
        job.finish(.failure(error))
    }

    func trialEnded(of source: Caller) { state.withLock { $0.admission.trialEnded(of: source) } }

    /// - Parameter isUsable: whether the connection of a free slot may be used.
    func start(_ isUsable: @Sendable (Int) -> Bool) -> (element: Job, slot: Int)? {
        state.withLock { state in
            defer { publish(&state) }
            return state.admission.queue.start(isUsable)
        }
    }

    /// Returns the slot of a job that need not wait.
    func startAtOnce(_ job: Job, _ isUsable: @Sendable (Int) -> Bool) -> Int? {
        state.withLock { state in
            state.isClosed ? nil : state.admission.queue.startAtOnce(source(of: job), isUsable)
        }
    }

    /// Removes the next job, which needs no slot, if there is a place for it.
    func take<Place: Sendable>(_ place: @Sendable (Job) -> Place?) -> (job: Job, place: Place)? {
        state.withLock { state in
            defer { publish(&state) }
            var found: Place?
            let job = state.admission.queue.take { job in
                found = place(job)
                return found != nil
            }
            guard let job, let found else { return nil }
            return (job, found)
        }
    }

    func ended(_ job: Job, slot: Int) {
        state.withLock { state in
            defer { publish(&state) }
            state.admission.queue.ended(slot: slot, of: source(of: job))
        }
    }

    /// Answers the jobs that have waited too long or whose callers gave up. Called often while a connection is busy;
    /// nothing waits otherwise.
    /// - Parameter connectError: why the connection that calls it is down, if it is.
    func sweep(_ nowMs: Int, _ connectError: PostgresError?) {
        guard hasWaiting else { return }
        let removed = state.withLock { state in
            defer { publish(&state) }
            guard nowMs >= state.nextSweepMs else { return [Job]() }
            state.nextSweepMs = nowMs + Self.sweepIntervalMs
            return state.admission.queue.remove {
                $0.deadlineMs <= nowMs || $0.cancelRequested.load(ordering: .relaxed)
            }
        }
        for job in removed {
            let isCancelled = job.cancelRequested.load(ordering: .relaxed)
            finish(job, isCancelled ? .cancelledByCaller : .overdue(connectError))
        }
    }

    func remove(where isUnwanted: @Sendable (Job) -> Bool) -> [Job] {
        guard hasWaiting else { return [] }
        return state.withLock { state in
            defer { publish(&state) }
            return state.admission.queue.remove(where: isUnwanted)
        }
    }

    /// Refuses waiting jobs and all later ones.
    func close() {
        let removed = state.withLock { state in
            state.isClosed = true
            defer { publish(&state) }
            return state.admission.queue.remove { _ in true }
        }
        for job in removed { finish(job, .poolStopped) }
    }
}
