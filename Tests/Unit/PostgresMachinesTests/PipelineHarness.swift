@testable import Postgres

struct TestJob: PipelineJob {
    let name: String
    let kind: JobKind
    let steps: [PostgresStep]
    let deadlineMs: Int
    var runTimeoutMs: Int?
    var slowAfterMs: Int?
    let generation: Int?
    var isTimed = false
    var isAwaited = false

    var isKnownSlow: Bool { slowAfterMs != nil && steps.contains { $0.statement.isSlow } }
}

/// A machine with names for jobs and the actions as text:
///
///     A0 prepare s1    send step 0 of A, preparing it as s1 first (also: A0 named s1, A0 unprepared)
///     done A           A succeeded
///     fail A timeout   A failed; a question mark after the code: outcome unknown
///     early A timeout  the same while the server still works on A; `release A` follows
///     slow A           A is reported as slow
///     reroute A        A goes to another connection
///     divert A         A was not sent and goes to another connection
///     announce A       send a sync before A
///     start A          the server has begun A
struct PipelineHarness {
    var machine: PipelineMachine<TestJob>
    var nowMs = 0
    private(set) var ids: [String: JobID] = [:]
    /// The jobs whose results the driver must keep, in order.
    private(set) var kept: [String] = []

    init(
        _ role: ConnectionRole = .read, isConnected: Bool = true, commitsAlone: Bool = true,
        _ change: (inout PipelineMachine<TestJob>.Limits) -> Void = { _ in }
    ) {
        var limits = PipelineMachine<TestJob>.Limits(
            inFlightMax: 256, preparedStatementsMax: 256, statementTimeoutMs: 30_000, cancelGraceMs: 2_000,
            stopTimeoutMs: 5_000)
        change(&limits)
        machine = PipelineMachine(role: role, limits: limits)
        if isConnected { machine.connected(generation: 1, commitsAlone: commitsAlone) }
    }

    // MARK: facts

    mutating func submit(
        _ name: String, _ kind: JobKind, _ sql: [Statement], timeoutMs: Int = 1000, runTimeoutMs: Int? = nil,
        slowAfterMs: Int? = nil, generation: Int? = nil, isTimed: Bool = false, isAwaited: Bool = false,
        isCancelled: Bool = false
    ) {
        let job = TestJob(
            name: name, kind: kind, steps: sql.map { ($0, []) }, deadlineMs: nowMs + timeoutMs,
            runTimeoutMs: runTimeoutMs, slowAfterMs: slowAfterMs, generation: generation, isTimed: isTimed,
            isAwaited: isAwaited)
        ids[name] = machine.submitted(job, isCancelled: isCancelled)
    }

    mutating func reads(_ names: String..., timeoutMs: Int = 1000) {
        for name in names { submit(name, .read, ["q"], timeoutMs: timeoutMs) }
    }

    /// Reads of a lane: timed from their turn, slow after 50 ms.
    mutating func laneReads(_ names: String..., of statement: Statement = "q", timeoutMs: Int = 1000) {
        for name in names {
            submit(name, .read, [statement], timeoutMs: timeoutMs, runTimeoutMs: timeoutMs, slowAfterMs: 50)
        }
    }

    mutating func scan(atMs: Int) -> [String] {
        nowMs = atMs
        machine.timeReached(atMs)
        return decisions()
    }

    mutating func transactions(_ names: String..., timeoutMs: Int = 1000) {
        for name in names { submit(name, .transaction, ["q"], timeoutMs: timeoutMs) }
    }

    mutating func cancel(_ name: String) {
        guard let id = ids[name] else { return }
        machine.cancelled(id, nowMs: nowMs)
    }

    /// Commands succeed, one after another.
    mutating func succeed(_ count: Int = 1) {
        for _ in 0..<count { command(.completed) }
    }

    mutating func abort(_ count: Int = 1) {
        for _ in 0..<count { command(.aborted) }
    }

    mutating func fail(_ sqlState: String, isFatal: Bool = false, routine: String? = nil) {
        command(.failed(Self.error(sqlState, isFatal: isFatal, routine: routine)))
    }

    mutating func sync() { result(.sync) }

    static func error(_ sqlState: String, isFatal: Bool = false, routine: String? = nil) -> PostgresError {
        var error = PostgresError(.server(sqlState: sqlState), "no")
        error.isFatal = isFatal
        error.routine = routine
        return error
    }

    private mutating func command(_ answer: PipelineMachine<TestJob>.Answer) {
        result(answer)
        if machine.expectsAnswer { end() }
    }

    mutating func result(_ answer: PipelineMachine<TestJob>.Answer) {
        switch machine.answered(answer, nowMs: nowMs) {
        case .keep(let job): kept.append(job.name)
        case .discard: break
        }
    }

    @discardableResult
    mutating func end() -> Bool { machine.commandEnded(nowMs: nowMs, lossMessage: "broken") }

    // MARK: actions

    /// The decided actions, and all those that may be sent.
    mutating func actions(isIdle: Bool = true) -> [String] {
        var texts: [String] = []
        while let action = machine.nextAction(nowMs: nowMs, isIdle: isIdle) { texts.append(Self.text(action)) }
        return texts
    }

    /// The decided actions, without sending.
    mutating func decisions() -> [String] {
        var texts: [String] = []
        while let action = machine.decidedAction() { texts.append(Self.text(action)) }
        return texts
    }

    static func text(_ action: PipelineMachine<TestJob>.Action) -> String {
        switch action {
        case .send(let job, let step, .named(let name)): "\(job.name)\(step) named \(name)"
        case .send(let job, let step, .prepareFirst(let name)): "\(job.name)\(step) prepare \(name)"
        case .send(let job, let step, .unprepared): "\(job.name)\(step) unprepared"
        case .sync: "sync"
        case .announce(let job): "announce \(job.name)"
        case .reportStart(let job): "start \(job.name)"
        case .deallocate(let name): "deallocate \(name)"
        case .flush: "flush"
        case .runScript(let job, let sql): "script \(job.name) \(sql)"
        case .enterPipeline: "pipeline"
        case .complete(let job): "done \(job.name)"
        case .fail(let job, let error): "fail \(job.name) \(text(error.code))"
        case .failEarly(let job, let error): "early \(job.name) \(text(error.code))"
        case .release(let job): "release \(job.name)"
        case .reportSlow(let job): "slow \(job.name)"
        case .reroute(let job): "reroute \(job.name)"
        case .divert(let job): "divert \(job.name)"
        case .discardResults(let job): "discard \(job.name)"
        case .requestCancel: "cancel request"
        case .askIfReadOnly: "ask"
        case .reportReadOnly: "read-only"
        case .disconnect(let reason, let isExpected): isExpected ? "disconnect" : "disconnect: \(reason)"
        }
    }

    private static func text(_ code: PostgresError.Code) -> String {
        switch code {
        case .connectionFailed: "unconnected"
        case .connectionLost(let isUnknown): isUnknown ? "lost?" : "lost"
        case .server(let state): state
        case .timeout(let isUnknown): isUnknown ? "timeout?" : "timeout"
        case .queueFull: "full"
        case .closed: "closed"
        case .cancelled: "cancelled"
        case .invalidParameter: "invalid"
        case .unsupported: "unsupported"
        }
    }
}
