import DequeModule
import Testing

@testable import Postgres

/// Random jobs, errors, cancellations, deadlines and lost connections against a model of the server. Whatever happens,
/// every caller is answered once and truthfully.
@Suite struct PipelineRandomTests {
    @Test(arguments: [ConnectionRole.read, .write, .session])
    func everyJobIsAnsweredOnceAndTruthfully(role: ConnectionRole) {
        for seed in 0..<100 {
            var run = RandomRun(role, seed: UInt64(seed))
            run.run(steps: 400)
            #expect(run.problems == [], "\(role), seed \(seed)")
            if !run.problems.isEmpty { return }
        }
    }
}

private struct SplitMix: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}

/// Executes what it is sent, in order; what it has executed is not yet what the client has read.
private struct ModelServer {
    enum Item {
        case prepare(String)
        case step(TestJob, name: String?)
        case deallocate(String)
        case sync
        case script(TestJob)
    }

    enum Event {
        case result(PipelineMachine<TestJob>.Answer)
        case end
    }

    var items = Deque<Item>()
    var events = Deque<Event>()
    var prepared: Set<String> = []
    var isAborted = false
    var group: Set<String> = []
    /// How often a job's group was committed.
    var commits: [String: Int] = [:]
    var problems: [String] = []
    var failsPercent = 10

    mutating func disconnect() {
        items = []
        events = []
        prepared = []
        isAborted = false
        group = []
    }

    mutating func executeNext(_ random: inout SplitMix) {
        guard let item = items.popFirst() else { return }
        let fails = Int.random(in: 0..<100, using: &random) < failsPercent
        switch item {
        case .prepare(let name):
            let isDone = command(fails ? "42601" : nil)
            if isDone { prepared.insert(name) }
        case .step(let job, let name):
            if !isAborted, let name, !prepared.contains(name) { problems.append("\(name) is not prepared") }
            group.insert(job.name)
            _ = command(fails ? ["22012", "57014", "0A000", "25006"].randomElement(using: &random) : nil)
        case .deallocate(let name):
            if !prepared.contains(name) { problems.append("\(name) is deallocated, but not prepared") }
            if command(nil) { prepared.remove(name) }
        case .sync:
            if fails, !isAborted {
                events += [.result(.failed(PipelineHarness.error("23503"))), .end]
            } else if !isAborted {
                for job in group { commits[job, default: 0] += 1 }
            }
            events.append(.result(.sync))
            isAborted = false
            group = []
        case .script(let job):
            if fails { events.append(.result(.failed(PipelineHarness.error("42601")))) }
            if !fails { commits[job.name, default: 0] += 1 }
            events += [.result(.completed), .end]
        }
    }

    /// - Returns: true when it was executed.
    private mutating func command(_ sqlState: String?) -> Bool {
        let isSkipped = isAborted
        if isSkipped {
            events += [.result(.aborted), .end]
        } else if let sqlState {
            isAborted = true
            let error = PipelineHarness.error(sqlState, routine: sqlState == "0A000" ? "RevalidateCachedQuery" : nil)
            events += [.result(.failed(error)), .end]
        } else {
            events += [.result(.completed), .end]
        }
        return !isSkipped && sqlState == nil
    }
}

private struct RandomRun {
    var machine: PipelineMachine<TestJob>
    let role: ConnectionRole
    var random: SplitMix
    var server = ModelServer()
    var nowMs = 0
    let statements: [Statement] = ["a", "b", "c", "d", "e"]
    var jobs: [TestJob] = []
    var ids: [JobID] = []
    var answers: [String: Int] = [:]
    var departures: [String: Int] = [:]
    var results: [String: Int] = [:]
    /// Jobs that failed with nothing committed, as their callers heard.
    var certainFailures: Set<String> = []
    /// The generation that a cancel request under way belongs to.
    var cancelRequest: Int?
    var problems: [String] = []

    init(_ role: ConnectionRole, seed: UInt64) {
        self.role = role
        random = SplitMix(state: seed)
        var limits = PipelineMachine<TestJob>.Limits(
            inFlightMax: 256, preparedStatementsMax: 256, statementTimeoutMs: 30_000, cancelGraceMs: 2_000,
            stopTimeoutMs: 5_000)
        (limits.inFlightMax, limits.preparedStatementsMax) = (role == .session ? 1 : 5, 3)
        (limits.cancelGraceMs, limits.statementTimeoutMs) = (100, 200)
        machine = PipelineMachine(role: role, limits: limits)
    }

    mutating func run(steps: Int) {
        for _ in 0..<steps { step() }
        // Everything ends once the server behaves.
        server.failsPercent = 0
        for _ in 0..<10_000 where machine.hasWork || machine.expectsAnswer {
            if !machine.isConnected { machine.connected(generation: machine.generation + 1, commitsAlone: true) }
            if let generation = cancelRequest { machine.cancelRequestEnded(generation: generation) }
            act()
            server.executeNext(&random)
            deliver()
            act()
        }
        conclude()
    }

    private mutating func isLikely(_ percent: Int) -> Bool {
        Int.random(in: 0..<100, using: &random) < percent
    }

    private mutating func step() {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<25: submit()
        case 25..<30:
            if let id = ids.randomElement(using: &random) { machine.cancelled(id, nowMs: nowMs) }
        case 30..<40:
            nowMs += Int.random(in: 0..<40, using: &random)
            machine.timeReached(nowMs)
            if isLikely(10) { statements.randomElement(using: &random)?.isSlowAgain() }
            for _ in 0..<4 { statements.randomElement(using: &random)?.wasFast() }
        case 40..<42:
            // The server may still execute what the client gets no answer to.
            for _ in 0..<Int.random(in: 0..<6, using: &random) { server.executeNext(&random) }
            if machine.isConnected { machine.connectionLost("gone") }
        case 42..<50:
            if !machine.isConnected { machine.connected(generation: machine.generation + 1, commitsAlone: true) }
        case 50..<55:
            if let generation = cancelRequest { machine.cancelRequestEnded(generation: generation) }
            cancelRequest = nil
        case 55..<75: server.executeNext(&random)
        default: deliver()
        }
        act()
    }

    private mutating func submit() {
        let name = "J\(jobs.count)"
        let count = role == .read ? 1 : Int.random(in: 1...3, using: &random)
        var steps = (0..<count).map { _ in (statements[Int.random(in: 0..<5, using: &random)], [Parameter]()) }
        var kind: JobKind
        switch role {
        case .read: kind = .read
        case .write: kind = .transaction
        case .session: kind = .session
        }
        if role == .session, isLikely(20) { (kind, steps) = (.script("x"), []) }
        let isLane = role != .session && isLikely(50)
        let job = TestJob(
            name: name, kind: kind, steps: steps, deadlineMs: nowMs + Int.random(in: 20..<400, using: &random),
            runTimeoutMs: isLane ? Int.random(in: 20..<400, using: &random) : nil,
            slowAfterMs: isLane && isLikely(70) ? 30 : nil,
            generation: role == .session ? machine.generation : nil, isTimed: role == .read && isLikely(20))
        jobs.append(job)
        if let id = machine.submitted(job, isCancelled: isLikely(2)) { ids.append(id) }
    }

    private mutating func deliver() {
        guard machine.expectsAnswer, let event = server.events.popFirst() else { return }
        switch event {
        case .result(let answer):
            if case .keep(let job) = machine.answered(answer, nowMs: nowMs) { results[job.name, default: 0] += 1 }
        case .end:
            _ = machine.commandEnded(nowMs: nowMs, lossMessage: "broken")
        }
    }

    private mutating func act() {
        while let action = machine.nextAction(nowMs: nowMs, isIdle: true) {
            switch action {
            case .send(let job, _, .prepareFirst(let name)):
                server.items += [.prepare(name), .step(job, name: name)]
            case .send(let job, _, .named(let name)): server.items.append(.step(job, name: name))
            case .send(let job, _, .unprepared): server.items.append(.step(job, name: nil))
            case .sync, .announce: server.items.append(.sync)
            case .reportStart: break
            case .deallocate(let name): server.items += [.deallocate(name), .sync]
            case .runScript(let job, _): server.items.append(.script(job))
            case .flush, .enterPipeline, .reportReadOnly: break
            case .complete(let job): completed(job)
            case .fail(let job, let error):
                failed(job, error)
                departures[job.name, default: 0] += 1
            case .failEarly(let job, let error): failed(job, error)
            case .release(let job): departures[job.name, default: 0] += 1
            case .reportSlow: break
            case .reroute(let job), .divert(let job):
                // Submitted elsewhere, where it is answered.
                answers[job.name, default: 0] += 1
                departures[job.name, default: 0] += 1
                certainFailures.insert(job.name)
            case .discardResults(let job): results[job.name] = nil
            case .requestCancel:
                guard cancelRequest == nil, isLikely(50) else { break }
                cancelRequest = machine.generation
                machine.cancelRequestStarted()
            case .askIfReadOnly: machine.serverReported(isReadOnly: isLikely(50))
            case .disconnect: server.disconnect()
            }
            if machine.inFlight > machine.limits.inFlightMax { problems.append("\(machine.inFlight) in flight") }
        }
    }

    private mutating func completed(_ job: TestJob) {
        answers[job.name, default: 0] += 1
        departures[job.name, default: 0] += 1
        if results[job.name, default: 0] != job.steps.count { problems.append("\(job.name) lacks results") }
        if !job.kind.isRead, server.commits[job.name] != 1 {
            problems.append("\(job.name) succeeded with \(server.commits[job.name, default: 0]) commits")
        }
    }

    private mutating func failed(_ job: TestJob, _ error: PostgresError) {
        answers[job.name, default: 0] += 1
        if !error.isOutcomeUnknown { certainFailures.insert(job.name) }
    }

    private mutating func conclude() {
        problems += server.problems
        for job in jobs {
            if answers[job.name] != 1 { problems.append("\(job.name): \(answers[job.name, default: 0]) answers") }
            if departures[job.name] != 1 {
                problems.append("\(job.name): \(departures[job.name, default: 0]) departures")
            }
            if job.kind.isRead { continue }
            let commits = server.commits[job.name, default: 0]
            if commits > 1 { problems.append("\(job.name) was committed \(commits) times") }
            if commits > 0, certainFailures.contains(job.name) {
                problems.append("\(job.name) failed for certain, but was committed")
            }
        }
        if machine.hasWork || machine.jobs.count > 0 { problems.append("\(machine.jobs.count) jobs left") }
    }
}
