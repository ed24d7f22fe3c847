import Clocks
import Synchronization

/// A caller's statements and the completion for their answer, called exactly once. `PipelineMachine` tracks the job's
/// progress.
///
/// Unchecked: prepared by the caller, and after its submission used by the thread that holds its connection's driver,
/// except `cancelRequested` and `connection`. A lane may move it from one connection to another, and between them it
/// belongs to a queue, under its lock.
final class Job: PipelineJob, @unchecked Sendable {
    typealias Completion = @Sendable (Result<[ResultSet], PostgresError>) -> Void

    let kind: JobKind
    let steps: [PostgresStep]
    let generation: Int?
    private(set) var deadlineMs: Int
    var runTimeoutMs: Int?
    var slowAfterMs: Int?
    let cancelRequested = Atomic<Bool>(false)
    /// The connection that a cancellation goes to; nil while the job is being submitted or waits for a slow connection.
    let connection = Mutex<ConnectionHandle?>(nil)
    /// The lane that reroutes the job when it is slow; nil: none.
    var lane: (lane: StatementLane, source: Caller)?
    /// Whether it goes to a slow connection although nothing is known of its statement.
    var startsApart = false
    /// Whether its connection depends on how long its statement takes (`StatementPace`).
    var isGraded = false
    /// Whether it is tried among faster ones although its statement is known to be slow (`SlowStatementAdmission`).
    var isTrial = false
    /// Answered with an error, so the time it took does not show that its statement is fast.
    private(set) var hasFailed = false
    /// Whether the server has executed it to its end, or refused it for a reason of its own.
    var hasEnded = false
    /// Whether it delayed others on a fast connection, or has been on a moderate one: it does not return to a fast one.
    private(set) var wasRerouted = false
    /// The share of its connection's time that it is expected to take.
    var costUs = 0
    /// When the server began a graded query, or was sent a graded transaction; microseconds. Nil: neither yet.
    var startedUs: Int?
    /// When the sync before it was sent; microseconds.
    var announcedUs = 0

    /// The job's place in its lane.
    private enum Place {
        case fast
        case moderate(slot: Int)
        /// It counts as slow there, too, after that time.
        case slow(slot: Int, slowAtMs: Int)
    }

    private var place = Place.fast

    private var completion: Completion?
    /// The size of SQL and parameters; known after `validate`.
    private(set) var bytes = 0
    /// The identifier that the machine assigns when the job reaches the connection's thread.
    var id: JobID?
    var results: [ResultSet] = []
    /// Whether the completion works on the connection's thread, which is busy until it returns.
    var completesOnThread = false

    init(
        _ kind: JobKind, _ steps: [PostgresStep], timeoutMs: Int, generation: Int? = nil,
        completion: Completion? = nil
    ) {
        self.kind = kind
        self.steps = steps
        self.generation = generation
        self.completion = completion
        deadlineMs = Int(MonotonicClock.nowMs()) + timeoutMs
    }

    /// The number of the step whose statement's speed is that of the job.
    var measuredStep = 0
    var measuredStatement: Statement? { steps.indices.contains(measuredStep) ? steps[measuredStep].statement : nil }

    /// The source to which the lane charges the job when it is slow.
    var source: Caller { lane?.source ?? .unknown }

    /// Whether it belongs to a slow connection because its statement was slow, and is on none yet.
    var isMarkedSlow: Bool {
        lane != nil && slowAfterMs != nil && !isTrial && measuredStatement?.isSlow == true
    }

    var facts: LaneRules.Facts {
        LaneRules.Facts(
            isGraded: isGraded, startsApart: startsApart, isMarkedSlow: isMarkedSlow, isTrial: isTrial,
            wasRerouted: wasRerouted, average: measuredStatement?.average)
    }

    /// Whether it belongs elsewhere than on its connection, or the one it is about to be submitted to.
    var isKnownSlow: Bool { isMarkedSlow || isOnFast && lane?.lane.rules.mayPipeline(facts) == false }

    /// Whether it is graded and shares a pipeline.
    var isOnFast: Bool {
        if isGraded, case .fast = place { true } else { false }
    }

    var isTimed: Bool {
        if case .moderate = place { true } else { false }
    }

    var isAwaited: Bool {
        switch place {
        case .fast: isGraded && lane?.lane.isFastAwaited == true
        case .moderate: lane?.lane.isModerateSlotAwaited(of: self) == true
        case .slow: false
        }
    }

    func failed(_ error: PostgresError) {
        hasFailed = true
        switch error.code {
        case .server: hasEnded = !error.isQueryCanceled
        // How long it would have taken is unknown.
        case .connectionLost: startedUs = nil
        default: break
        }
    }

    /// Records that the job has been slow on its connection.
    func provedSlow(nowMs: Int) {
        record(lane?.lane.rules.delayedOthers(isOnFast: isOnFast) ?? .slow, nowMs: nowMs)
        if isTimed, measuredStatement?.isSlow == true { lane?.lane.moveSlow() }
    }

    /// Records what an execution says about the job's statement.
    func record(_ finding: LaneRules.Finding?, nowMs: Int = 0) {
        switch finding {
        case .doubtful: measuredStatement?.doubt()
        case .slow: measuredStatement?.wasSlow(nowMs: nowMs)
        case .slowAgain: measuredStatement?.isSlowAgain()
        case .fastAgain: measuredStatement?.wasFast()
        case nil: break
        }
    }

    /// Records that the job was cancelled, so that others need not wait for it. It may wait for its next turn as long
    /// as for the first one.
    func reroute(nowMs: Int) {
        wasRerouted = true
        deadlineMs = max(deadlineMs, nowMs + (runTimeoutMs ?? 0))
    }

    /// Records that the job waits for a slow connection and is on none now.
    func willWait() {
        connection.withLock { $0 = nil }
        id = nil
    }

    /// Records that the job moves to the slow connection of that number, where it stays.
    func startOnSlowConnection(_ slot: Int) {
        place = .slow(slot: slot, slowAtMs: Int(MonotonicClock.nowMs()) + (slowAfterMs ?? 0) / 2)
        slowAfterMs = nil
    }

    /// Records that the job moves to the moderate connection of that number.
    func startOnModerateConnection(_ slot: Int, slowAfterMs: Int) {
        place = .moderate(slot: slot)
        self.slowAfterMs = slowAfterMs
        wasRerouted = true
    }

    /// Reports that the job no longer counts in its connection's load.
    func leftConnection() {
        endTrial()
        guard let lane else { return }
        let former = place
        place = .fast
        switch former {
        case .fast: if isGraded { lane.lane.leftFast() }
        case .moderate(let slot): lane.lane.leftModerate(self, slot: slot)
        case .slow(let slot, let slowAtMs):
            lane.lane.left(self, slot: slot, wasLong: Int(MonotonicClock.nowMs()) >= slowAtMs)
        }
    }

    /// Reports that the job is no longer tried, if it was.
    func endTrial() {
        guard isTrial else { return }
        isTrial = false
        lane?.lane.trialEnded(self)
    }

    /// Sets the completion. Call it before submitting the job.
    func onCompletion(_ completion: @escaping Completion) {
        self.completion = completion
    }

    func finish(_ result: Result<[ResultSet], PostgresError>) {
        guard let completion else { return }
        self.completion = nil
        results = []
        completion(result)
    }

    /// Rejects statements and parameters that libpq could not send faithfully.
    func validate(requestBytesMax: Int) throws(PostgresError) {
        var total = 0
        if case .script(let sql) = kind {
            total = sql.utf8.count
            if sql.utf8.contains(0) { throw PostgresError(.invalidParameter, "the script contains a NUL") }
        }
        for (index, step) in steps.enumerated() {
            var problem: String?
            if step.statement.containsNUL { problem = "the statement contains a NUL" }
            if step.parameters.count > 65_535 { problem = "more than 65535 parameters" }
            total += step.statement.sql.utf8.count
            for parameter in step.parameters {
                switch parameter {
                case .null: break
                case .text(let text):
                    total += text.utf8.count
                    if text.containsNUL { problem = "a text parameter contains a NUL" }
                case .binary(let bytes): total += bytes.count
                }
            }
            if let problem {
                var error = PostgresError(.invalidParameter, problem)
                error.stepIndex = index
                throw error
            }
        }
        // Postgres accepts no message above 1 GiB.
        let bytesMax = min(requestBytesMax, 1 << 30)
        if total > bytesMax { throw PostgresError(.invalidParameter, "the request has more than \(bytesMax) bytes") }
        bytes = total
    }
}
