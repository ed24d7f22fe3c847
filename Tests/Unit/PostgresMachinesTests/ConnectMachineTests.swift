import Testing

@testable import Postgres

/// Attempts, hosts, time limits and pauses.
@Suite struct ConnectMachineTests {
    /// Always the longest pause.
    private struct Longest: RandomNumberGenerator {
        mutating func next() -> UInt64 { .max }
    }

    private typealias Machine = ConnectMachine<Longest>

    private func machine(_ change: (inout Machine.Limits) -> Void = { _ in }) -> Machine {
        var limits = Machine.Limits(connectTimeoutMs: 1000, backoffMinMs: 50, backoffMaxMs: 400)
        change(&limits)
        return Machine(limits: limits, random: Longest())
    }

    private func connect(_ machine: inout Machine, attempt: Int, nowMs: Int) {
        #expect(machine.opened(attempt: attempt, error: nil, nowMs) == .adopt)
        #expect(machine.handshaked(.done, nowMs) == .sendSetup)
        #expect(machine.setupEnded(nowMs) == .askServer)
        #expect(machine.setupEnded(nowMs) == .connected(.init(answer: nil)))
    }

    @Test func aConnectionPassesThroughItsStages() {
        var machine = machine()
        #expect(machine.timeReached(5) == .open(attempt: 1, host: 0))
        #expect(machine.timeReached(6) == nil && machine.wakeAtMs == 1005)
        #expect(machine.opened(attempt: 1, error: nil, 10) == .adopt)
        #expect(machine.state == .handshaking(wantsWrite: true, deadlineMs: 1005))
        #expect(machine.handshaked(.wantsRead, 11) == nil)
        #expect(machine.state == .handshaking(wantsWrite: false, deadlineMs: 1005))
        #expect(machine.handshaked(.done, 12) == .sendSetup)
        #expect(machine.setupAnswered(.value("UTC"), 13) == nil)
        #expect(machine.setupEnded(14) == .askServer)
        #expect(machine.setupAnswered(.value("00000002 alone"), 15) == nil)
        #expect(machine.setupEnded(16) == .connected(.init(answer: "00000002 alone")))
        #expect(machine.isConnected && machine.wakeAtMs == nil)
    }

    @Test func refusedTimelineDoesNotMatter() {
        var machine = machine()
        _ = machine.timeReached(0)
        _ = machine.opened(attempt: 1, error: nil, 0)
        _ = machine.handshaked(.done, 0)
        _ = machine.setupEnded(0)
        #expect(machine.setupAnswered(.failed(PipelineHarness.error("42501")), 0) == nil)
        #expect(machine.setupEnded(0) == .connected(.init(answer: nil)))
    }

    @Test func failedSetupIsAFailedAttempt() {
        var machine = machine()
        _ = machine.timeReached(0)
        _ = machine.opened(attempt: 1, error: nil, 0)
        _ = machine.handshaked(.done, 0)
        #expect(machine.setupAnswered(.failed(PipelineHarness.error("22023")), 0) == nil)
        #expect(machine.setupEnded(0) == .fail(PostgresError(.connectionFailed, "no"), isFirst: true))
        #expect(machine.state == .waiting(untilMs: 50))
    }

    @Test func pausesDoubleUpToTheMaximum() {
        var machine = machine()
        var nowMs = 0
        var pauses: [Int] = []
        for attempt in 1...6 {
            #expect(machine.timeReached(nowMs) == .open(attempt: attempt, host: 0))
            let error = PostgresError(.connectionFailed, "refused")
            #expect(
                machine.opened(attempt: attempt, error: error, nowMs) == .fail(error, isFirst: attempt == 1))
            pauses.append((machine.wakeAtMs ?? nowMs) - nowMs)
            nowMs = machine.wakeAtMs ?? nowMs
        }
        #expect(pauses == [50, 100, 200, 400, 400, 400])
    }

    @Test func nextHostAtOnceAndAPauseAfterTheLast() {
        var machine = machine { $0.hostCount = 3 }
        var hosts: [Int] = []
        for attempt in 1...4 {
            let nowMs = machine.wakeAtMs ?? 0
            guard case .open(_, let host)? = machine.timeReached(nowMs) else { break }
            hosts.append(host)
            #expect(nowMs == (attempt < 4 ? 0 : 50))
            _ = machine.opened(attempt: attempt, error: PostgresError(.connectionFailed, "no"), nowMs)
        }
        #expect(hosts == [0, 1, 2, 0])
    }

    @Test func overdueAttemptIsDroppedAndOnlyThenTheNextBegins() {
        var machine = machine()
        _ = machine.timeReached(0)
        guard case .fail? = machine.timeReached(1000) else {
            Issue.record("no failure")
            return
        }
        #expect(machine.wakeAtMs == nil, "its thread is still out")
        #expect(machine.timeReached(5000) == nil)
        #expect(machine.opened(attempt: 1, error: nil, 6000) == nil)
        #expect(machine.timeReached(6000) == .open(attempt: 2, host: 0))
    }

    @Test func handshakeAndSetupShareTheTimeLimit() {
        var machine = machine()
        _ = machine.timeReached(0)
        _ = machine.opened(attempt: 1, error: nil, 900)
        _ = machine.handshaked(.done, 950)
        #expect(machine.timeReached(999) == nil)
        #expect(
            machine.timeReached(1000)
                == .fail(PostgresError(.connectionFailed, "no answer within 1000 ms"), isFirst: true))
    }

    @Test func connectionThatLastedIsReplacedAtOnceAndYoungOnesMoreAndMoreSlowly() {
        var machine = machine()
        _ = machine.timeReached(0)
        connect(&machine, attempt: 1, nowMs: 0)
        machine.lost(401)
        #expect(machine.timeReached(401) == .open(attempt: 2, host: 0))
        connect(&machine, attempt: 2, nowMs: 401)
        machine.lost(402)
        #expect(machine.wakeAtMs == 452)
        _ = machine.timeReached(452)
        connect(&machine, attempt: 3, nowMs: 452)
        machine.lost(453)
        #expect(machine.wakeAtMs == 553)
    }

    @Test func failureAfterASuccessIsAFirstOneAgain() {
        var machine = machine()
        _ = machine.timeReached(0)
        connect(&machine, attempt: 1, nowMs: 0)
        machine.lost(1000)
        _ = machine.timeReached(1000)
        #expect(
            machine.openFailed(1000) == .fail(PostgresError(.connectionFailed, "no thread to connect"), isFirst: true))
    }

    @Test func stoppedMachineMakesNoAttempt() {
        var machine = machine()
        machine.stop()
        #expect(machine.timeReached(10) == nil)
    }

    @Test func serversReportTimelineAndWaitsForStandbys() {
        typealias Server = Machine.Server
        #expect(
            Server(answer: "00000002 alone").timeline == "00000002" && Server(answer: "00000002 alone").commitsAlone)
        #expect(Server(answer: "00000002").timeline == "00000002" && !Server(answer: "00000002").commitsAlone)
        #expect(Server(answer: " alone").timeline == nil && Server(answer: " alone").commitsAlone, "a standby")
        #expect(Server(answer: nil).timeline == nil && !Server(answer: nil).commitsAlone, "a server that refuses")
    }
}
