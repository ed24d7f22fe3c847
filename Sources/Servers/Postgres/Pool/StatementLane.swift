import Clocks
import Synchronization

/// The connections for one kind of work: some pipelined for many callers, others for longer statements, one at a time.
///
/// A pipelined connection answers in order, so a statement that takes long delays all behind it. One that has run for
/// `slowAfterMs` while others wait is cancelled and repeated on a slow connection. Statements with its text then start
/// there until they have been fast again for a while; those that still wait for their turn on a fast connection move,
/// too. Callers that know how long a job may take say so (`PostgresPool.RefreshMode`).
///
/// `LaneRules` decides where a job goes; the queues, whose turn it is; `ConnectionChoice`, which fast connection.
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

    struct Queues: Sendable {
        /// Jobs of short statements that wait for room on a fast connection; without slots. A free moderate connection
        /// takes them, too.
        var overflow: StatementQueue
        /// Jobs that wait for a moderate connection, with a slot for each.
        var moderate: StatementQueue
        /// Jobs that wait for a slow connection, with a slot for each.
        var slow: StatementQueue

        init(moderate moderateCount: Int, slow slowCount: Int, _ configuration: PostgresConfiguration) {
            // At most half of the room for one address.
            func queue(_ slots: Int, dividesByStatement: Bool) -> StatementQueue {
                StatementQueue(
                    connections: slots, waitingMax: configuration.queueMax,
                    waitingPerSourceMax: max(1, configuration.queueMax / 4), dividesByStatement: dividesByStatement)
            }
            overflow = queue(0, dividesByStatement: false)
            moderate = queue(moderateCount, dividesByStatement: true)
            slow = StatementQueue(
                connections: slowCount, waitingMax: configuration.slowQueueMax,
                waitingPerSourceMax: configuration.slowQueuePerSourceMax)
        }
    }

    let fast: [ConnectionHandle]
    let moderate: [ConnectionHandle]
    /// The connections for slow statements. Without any, slow statements stay where they are.
    let slow: [ConnectionHandle]
    private let queues: Queues
    private let choice: ConnectionChoice
    let rules: LaneRules

    /// - Parameters:
    ///   - choice: chooses among the fast connections.
    ///   - slowAfterMs: the running time on a moderate connection after which a job is slow.
    init(
        _ connections: Connections, _ queues: Queues, choice: ConnectionChoice, pace: StatementPace, slowAfterMs: Int
    ) {
        fast = connections.fast
        moderate = connections.moderate
        slow = connections.slow
        self.choice = choice
        self.queues = queues
        rules = LaneRules(pace: pace, hasModerate: !connections.moderate.isEmpty, slowAfterMs: slowAfterMs)
    }

    var connections: [ConnectionHandle] { fast + moderate + slow }

    var counts: SlowStatementCounts { queues.slow.counts }
    /// Includes short statements that wait.
    var moderateCounts: SlowStatementCounts {
        var counts = queues.moderate.counts
        let overflow = queues.overflow.counts
        counts.waiting += overflow.waiting
        counts.refused += overflow.refused
        return counts
    }

    var isFastAwaited: Bool { queues.overflow.hasWaiting }
    func isModerateSlotAwaited(of job: Job) -> Bool { queues.moderate.isSlotAwaited(of: job) }

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
        if rules.mayUseModerate(isGraded: job.isGraded) { job.slowAfterMs = rules.slowAfterMs }
        job.costUs = 0
        send(job, rules.route(job.facts))
    }

    /// - Parameter startsModerate: whether the caller leaves it to this function to start what waits for a moderate
    ///   connection.
    private func send(_ job: Job, _ route: LaneRules.Route, startsModerate: Bool = true) {
        switch route {
        case .fast: submitToFast(job)
        case .fastShare: submitToShare(job)
        case .short: submitShort(job)
        case .moderate:
            _ = queues.moderate.add(job, mayTry: false, nowMs: Int(MonotonicClock.nowMs()))
            if startsModerate { startModerate() }
        case .slow(let mayTry):
            if enqueue(job, mayTry: mayTry) { return }
            job.isTrial = true
            send(job, rules.route(job.facts), startsModerate: startsModerate)
        }
    }

    private func submitToFast(_ job: Job) {
        fast[choice.best(of: fast.count, nowUs: MonotonicClock.nowUs) { fast[$0].counters.choiceLoad }].submit(job)
    }

    // MARK: graded jobs

    private enum Place {
        case fast(Int)
        case moderate(slot: Int)
        /// The statement has proved not to be short.
        case elsewhere
    }

    private func submitShort(_ job: Job) {
        if !queues.overflow.hasWaiting, let place = placeOfShort(job) { return submit(job, to: place) }
        _ = queues.overflow.add(job, mayTry: false, nowMs: Int(MonotonicClock.nowMs()))
        startOverflow()
    }

    private func placeOfShort(_ job: Job) -> Place? {
        let load = { [fast] (index: Int) in fast[index].counters.choiceLoad }
        let index = choice.best(of: fast.count, nowUs: MonotonicClock.nowUs, load)
        if choice.hasRoom(load(index)) { return .fast(index) }
        return queues.moderate.startAtOnce(job) { Self.isUsable($0, of: moderate) }.map { .moderate(slot: $0) }
    }

    private func submit(_ job: Job, to place: Place) {
        switch place {
        case .fast(let index):
            job.slowAfterMs = min(rules.slowAfterMs, LaneRules.shortSlowAfterMs)
            job.costUs = rules.pace.costUs(job.measuredStatement?.average)
            fast[index].submit(job)
        case .moderate(let slot):
            job.startOnModerateConnection(slot, slowAfterMs: rules.slowAfterMs)
            moderate[slot].submit(job)
        case .elsewhere:
            send(job, rules.route(job.facts))
        }
    }

    /// A fast connection is done with a graded job, so that it may have room.
    func leftFast() { startOverflow() }

    private func startOverflow() {
        while true {
            // A thread that adds a job looks for room afterwards; one that makes room looks for jobs afterwards.
            atomicMemoryFence(ordering: .sequentiallyConsistent)
            guard queues.overflow.hasWaiting else { return }
            // It may have become known meanwhile that its statement is not short.
            guard let next = queues.overflow.take({ rules.route($0.facts) == .short ? placeOfShort($0) : .elsewhere })
            else { return }
            submit(next.job, to: next.place)
        }
    }

    private func startModerate() {
        while let (job, slot) = queues.moderate.start({ Self.isUsable($0, of: moderate) }) {
            // Its statement may have been measured meanwhile.
            let route = rules.route(job.facts)
            if route == .moderate {
                submit(job, to: .moderate(slot: slot))
            } else {
                queues.moderate.ended(job, slot: slot)
                // This loop starts what waits, so that many jobs that are tried do not nest.
                send(job, route, startsModerate: false)
            }
        }
    }

    /// Moves the waiting jobs whose statements have proved to be slow.
    func moveSlow() {
        for job in queues.moderate.remove(where: \.isMarkedSlow) { send(job, rules.route(job.facts)) }
    }

    /// A moderate connection is done with its job.
    func leftModerate(_ job: Job, slot: Int) {
        queues.moderate.ended(job, slot: slot)
        startModerate()
        startOverflow()
    }

    /// Whether a connection may get a job: it is up, or all of its tier are down, so that the job ends with the reason.
    private static func isUsable(_ slot: Int, of tier: [ConnectionHandle]) -> Bool {
        tier[slot].counters.isConnected.load(ordering: .relaxed)
            || !tier.contains { $0.counters.isConnected.load(ordering: .relaxed) }
    }

    private func submitToShare(_ job: Job) {
        job.costUs = rules.pace.costUs(job.measuredStatement?.average)
        let open = ConnectionChoice.share(of: fast.count, for: job.source)
        let best = choice.best(of: open.count, nowUs: MonotonicClock.nowUs) { fast[open[$0]].counters.choiceLoad }
        fast[open[best]].submit(job)
    }

    // MARK: slow jobs

    /// Queues a job that a connection handed back after cancelling it on the server.
    func reroute(_ job: Job) {
        let route = rules.rerouted(job.facts)
        job.reroute(nowMs: Int(MonotonicClock.nowMs()))
        if rules.mayUseModerate(isGraded: job.isGraded) { job.slowAfterMs = rules.slowAfterMs }
        (route == .moderate ? queues.moderate : queues.slow).countRerouted()
        send(job, route)
    }

    /// - Returns: false when the job is to be tried on another connection.
    private func enqueue(_ job: Job, mayTry: Bool) -> Bool {
        let isTaken = queues.slow.add(job, mayTry: mayTry, nowMs: Int(MonotonicClock.nowMs()))
        startWaiting()
        return isTaken
    }

    private func startWaiting() {
        while let (job, slot) = queues.slow.start({ Self.isUsable($0, of: slow) }) {
            job.startOnSlowConnection(slot)
            slow[slot].submit(job)
        }
    }

    func trialEnded(_ job: Job) { queues.slow.trialEnded(of: job.source) }

    /// A slow connection is done with its job.
    func left(_ job: Job, slot: Int, wasLong: Bool) {
        job.record(rules.leftSlow(job.facts, wasLong: wasLong, hasFailed: job.hasFailed))
        queues.slow.ended(job, slot: slot)
        startWaiting()
    }

    /// Refuses waiting jobs; the pool stops the connections.
    func close() {
        for queue in [queues.overflow, queues.moderate, queues.slow] { queue.close() }
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
