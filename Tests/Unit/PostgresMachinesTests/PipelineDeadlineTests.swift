import Testing

@testable import Postgres

/// Deadlines and cancellation.
@Suite struct PipelineDeadlineTests {
    @Test func waitingJobTimesOutWithACertainOutcome() {
        var pipeline = PipelineHarness(.write) { $0.inFlightMax = 1 }
        pipeline.transactions("A")
        pipeline.transactions("B", "C", timeoutMs: 100)
        pipeline.transactions("D")
        _ = pipeline.actions()
        #expect(pipeline.machine.wakeAtMs == 0)
        pipeline.nowMs = 100
        pipeline.machine.timeReached(100)
        #expect(pipeline.decisions() == ["fail B timeout", "fail C timeout"])
        #expect(pipeline.machine.wakeAtMs == 110)
        pipeline.succeed(2)
        pipeline.sync()
        #expect(pipeline.actions() == ["done A", "D0 named s1", "sync", "flush"])
    }

    @Test func aStatementThatWaitsForAConnectionFailsWithItsError() {
        var pipeline = PipelineHarness(isConnected: false)
        pipeline.reads("A")
        pipeline.machine.connectFailed(PostgresError(.connectionFailed, "refused"))
        pipeline.machine.timeReached(1000)
        #expect(pipeline.decisions() == ["fail A unconnected"])
    }

    /// The server is gone, and the first attempt to reach it again takes longer than the statement may wait.
    @Test func aStatementThatWaitsAfterALossFailsWithIt() {
        var pipeline = PipelineHarness()
        pipeline.machine.connectionLost("the server closed the connection")
        _ = pipeline.actions()
        pipeline.reads("A", timeoutMs: 100)
        pipeline.machine.timeReached(1000)
        #expect(pipeline.decisions() == ["fail A unconnected"])
    }

    @Test func overdueJobIsNotSent() {
        var pipeline = PipelineHarness(isConnected: false)
        pipeline.reads("A", timeoutMs: 10)
        pipeline.reads("B")
        pipeline.machine.connected(generation: 1, commitsAlone: true)
        pipeline.nowMs = 10
        #expect(pipeline.actions().sorted() == ["B0 prepare s1", "fail A timeout", "flush", "sync"])
    }

    @Test func slowReadTimesOutAndItsNeighbourIsRepeatedAfterTheCancelRequest() {
        var pipeline = PipelineHarness()
        pipeline.reads("A", timeoutMs: 100)
        _ = pipeline.actions()
        pipeline.reads("B")
        _ = pipeline.actions()
        pipeline.nowMs = 100
        pipeline.machine.timeReached(100)
        #expect(pipeline.decisions() == ["cancel request", "early A timeout"])
        pipeline.machine.cancelRequestStarted()
        pipeline.reads("C")
        #expect(pipeline.actions() == [], "a new job could be hit by the request")
        pipeline.succeed(2)
        pipeline.sync()
        // The request came too late for A and hit B.
        pipeline.fail("57014")
        pipeline.sync()
        #expect(pipeline.actions() == ["release A"])
        #expect(pipeline.machine.repeatedCount == 1)
        pipeline.machine.cancelRequestEnded(generation: 1)
        #expect(pipeline.actions() == ["B0 named s1", "C0 named s1", "sync", "flush"])
        #expect(pipeline.kept == [], "A's result has no reader")
    }

    @Test func cancelledStatementOfAnOverdueTransactionIsATimeout() {
        var pipeline = PipelineHarness(.write)
        pipeline.transactions("A", timeoutMs: 100)
        _ = pipeline.actions()
        pipeline.nowMs = 100
        pipeline.machine.timeReached(100)
        #expect(pipeline.decisions() == ["cancel request"])
        pipeline.machine.cancelRequestStarted()
        pipeline.succeed()
        pipeline.fail("57014")
        pipeline.sync()
        #expect(pipeline.decisions() == ["fail A timeout"])
    }

    @Test func transactionHitByANeighboursCancelRequestIsRepeated() {
        var pipeline = PipelineHarness(.write)
        pipeline.transactions("A", timeoutMs: 100)
        pipeline.transactions("B")
        _ = pipeline.actions()
        pipeline.nowMs = 100
        pipeline.machine.timeReached(100)
        _ = pipeline.decisions()
        pipeline.machine.cancelRequestStarted()
        pipeline.succeed(2)
        pipeline.sync()
        pipeline.fail("57014")
        pipeline.sync()
        pipeline.machine.cancelRequestEnded(generation: 1)
        #expect(pipeline.actions() == ["done A", "B0 named s1", "sync", "flush"])
    }

    @Test func aForeignCancellationIsReportedAsItIs() {
        var pipeline = PipelineHarness(.write)
        pipeline.transactions("A")
        _ = pipeline.actions()
        pipeline.succeed()
        pipeline.fail("57014")
        pipeline.sync()
        #expect(pipeline.decisions() == ["fail A 57014"])
    }

    @Test func cancelRequestThatCouldNotStartIsTriedAgain() {
        var pipeline = PipelineHarness(.write)
        pipeline.transactions("A", timeoutMs: 100)
        _ = pipeline.actions()
        for nowMs in [100, 110, 120] {
            pipeline.machine.timeReached(nowMs)
            #expect(pipeline.decisions() == ["cancel request"])
            pipeline.machine.timeReached(nowMs + 9)
            #expect(pipeline.decisions() == [])
        }
        pipeline.machine.cancelRequestStarted()
        pipeline.machine.timeReached(130)
        #expect(pipeline.decisions() == [])
    }

    /// The statement was answered meanwhile, and nothing else can be sent.
    @Test(arguments: [ConnectionRole.read, .write])
    func cancelRequestThatHangsEndsAnIdleConnection(_ role: ConnectionRole) {
        var pipeline = PipelineHarness(role) { $0.cancelGraceMs = 50 }
        if role == .read { pipeline.reads("A", timeoutMs: 100) } else { pipeline.transactions("A", timeoutMs: 100) }
        _ = pipeline.actions()
        pipeline.machine.timeReached(100)
        _ = pipeline.decisions()
        pipeline.machine.cancelRequestStarted()
        pipeline.succeed(2)
        pipeline.sync()
        _ = pipeline.decisions()
        pipeline.nowMs = 120
        if role == .read { pipeline.reads("B") } else { pipeline.transactions("B") }
        #expect(pipeline.actions() == [])
        #expect(pipeline.scan(atMs: 149) == [])
        #expect(pipeline.scan(atMs: 160) == ["disconnect: a cancel request has not ended after 50 ms"])
        pipeline.machine.connected(generation: 2, commitsAlone: true)
        #expect(pipeline.actions().first == "B0 prepare s2")
    }

    @Test func unconfirmedCancellationEndsTheConnection() {
        var pipeline = PipelineHarness(.write) { $0.cancelGraceMs = 50 }
        pipeline.transactions("A", timeoutMs: 100)
        pipeline.transactions("B")
        _ = pipeline.actions()
        pipeline.machine.timeReached(100)
        _ = pipeline.decisions()
        pipeline.machine.cancelRequestStarted()
        pipeline.machine.timeReached(149)
        #expect(pipeline.decisions() == [])
        pipeline.machine.timeReached(174)
        #expect(
            pipeline.decisions() == [
                "early A timeout?", "disconnect: no answer within 50 ms after a deadline", "release A", "fail B lost?",
            ])
        // A late end of the request is of the connection before.
        pipeline.machine.connected(generation: 2, commitsAlone: true)
        pipeline.machine.cancelRequestEnded(generation: 1)
        #expect(pipeline.actions() == [] && pipeline.machine.jobs.count == 0)
    }

    // MARK: callers that go

    @Test func queuedJobIsDroppedWhenItsCallerGoes() {
        var pipeline = PipelineHarness(.write) { $0.inFlightMax = 1 }
        pipeline.transactions("A", "B", "C")
        _ = pipeline.actions()
        pipeline.cancel("B")
        pipeline.cancel("B")
        #expect(pipeline.actions() == ["fail B cancelled"])
        pipeline.succeed(2)
        pipeline.sync()
        #expect(pipeline.actions() == ["done A", "C0 named s1", "sync", "flush"])
        #expect(pipeline.machine.jobs.count == 1)
    }

    @Test func readInFlightIsAnsweredAtOnceAndKeepsTheOrder() {
        var pipeline = PipelineHarness()
        pipeline.reads("A", "B")
        _ = pipeline.actions()
        pipeline.cancel("A")
        #expect(pipeline.actions() == ["early A cancelled"])
        #expect(pipeline.machine.inFlight == 2)
        pipeline.succeed(3)
        #expect(pipeline.actions() == ["release A", "done B"])
        #expect(pipeline.kept == ["B"])
    }

    @Test func transactionInFlightIsAnsweredWithItsOutcome() {
        var pipeline = PipelineHarness(.write)
        pipeline.transactions("A")
        _ = pipeline.actions()
        pipeline.cancel("A")
        pipeline.succeed(2)
        pipeline.sync()
        #expect(pipeline.actions() == ["done A"])
    }

    @Test func sessionsStatementIsCancelledOnTheServer() {
        var pipeline = PipelineHarness(.session)
        pipeline.submit("A", .session, ["q"], generation: 1)
        _ = pipeline.actions()
        pipeline.machine.timeReached(10)
        pipeline.nowMs = 11
        pipeline.cancel("A")
        #expect(pipeline.machine.wakeAtMs == 0)
        pipeline.machine.timeReached(11)
        #expect(pipeline.decisions() == ["cancel request"])
        pipeline.machine.cancelRequestStarted()
        pipeline.succeed()
        pipeline.fail("57014")
        pipeline.sync()
        #expect(pipeline.decisions() == ["fail A cancelled"])
    }

    @Test func callerThatWentBeforeItsJobCame() {
        var pipeline = PipelineHarness()
        pipeline.submit("A", .read, ["q"], isCancelled: true)
        #expect(pipeline.actions() == ["fail A cancelled"] && pipeline.machine.jobs.count == 0)
    }
}
