import Testing

@testable import Postgres

/// Statements that hold up those behind them.
@Suite struct PipelineSlowTests {
    @Test func slowReadIsCancelledAndReroutedWhileOthersWait() {
        var pipeline = PipelineHarness()
        pipeline.laneReads("A", "B")
        _ = pipeline.actions()
        #expect(pipeline.scan(atMs: 0) == [])
        #expect(pipeline.scan(atMs: 49) == [])
        #expect(pipeline.scan(atMs: 60) == ["slow A", "cancel request"])
        pipeline.machine.cancelRequestStarted()
        pipeline.succeed()
        pipeline.fail("57014")
        pipeline.abort()
        pipeline.sync()
        pipeline.machine.cancelRequestEnded(generation: 1)
        #expect(pipeline.actions() == ["reroute A", "B0 named s1", "sync", "flush"])
        pipeline.succeed()
        pipeline.sync()
        #expect(pipeline.actions() == ["done B"])
        #expect(!pipeline.machine.hasWork)
    }

    @Test func slowReadStaysWhileNoStatementWaits() {
        var pipeline = PipelineHarness()
        pipeline.laneReads("A")
        _ = pipeline.actions()
        _ = pipeline.scan(atMs: 0)
        #expect(pipeline.scan(atMs: 500) == ["slow A"])
        #expect(pipeline.machine.isHeldUp)
        pipeline.laneReads("B")
        _ = pipeline.actions()
        #expect(pipeline.scan(atMs: 510) == ["cancel request"])
        // It ends before the request arrives.
        pipeline.machine.cancelRequestStarted()
        pipeline.succeed(2)
        #expect(pipeline.decisions() == ["done A"])
        #expect(pipeline.scan(atMs: 520) == [])
        #expect(!pipeline.machine.isHeldUp)
    }

    @Test func slowReadLeavesAConnectionForWhichOthersWaitElsewhere() {
        var pipeline = PipelineHarness()
        pipeline.submit("A", .read, ["q"], runTimeoutMs: 1000, slowAfterMs: 50, isAwaited: true)
        _ = pipeline.actions()
        _ = pipeline.scan(atMs: 0)
        #expect(pipeline.scan(atMs: 40) == [])
        #expect(pipeline.scan(atMs: 50) == ["slow A", "cancel request"])
        pipeline.machine.cancelRequestStarted()
        pipeline.succeed()
        pipeline.fail("57014")
        pipeline.sync()
        #expect(pipeline.decisions() == ["reroute A"])
    }

    @Test func slowReadThatWaitedLongForItsConnectionIsRerouted() {
        var pipeline = PipelineHarness()
        pipeline.submit("A", .read, ["q"], timeoutMs: 90, runTimeoutMs: 1000, slowAfterMs: 50, isAwaited: true)
        _ = pipeline.actions()
        _ = pipeline.scan(atMs: 0)
        #expect(pipeline.scan(atMs: 60) == ["slow A", "cancel request"])
    }

    @Test func timedReadStartsWhenTheServerHasAnsweredTheSyncBeforeIt() {
        var pipeline = PipelineHarness()
        pipeline.reads("A")
        pipeline.submit("B", .read, ["q"], isTimed: true)
        #expect(pipeline.actions() == ["A0 prepare s1", "sync", "announce B", "B0 unprepared", "sync", "flush"])
        pipeline.succeed(2)
        pipeline.sync()
        #expect(pipeline.decisions() == ["done A"])
        pipeline.sync()
        #expect(pipeline.decisions() == ["start B"])
        pipeline.succeed()
        pipeline.sync()
        #expect(pipeline.decisions() == ["done B"])
        #expect(!pipeline.machine.hasWork && !pipeline.machine.expectsAnswer)
    }

    @Test func timedReadIsAnnouncedAgainAfterALoss() {
        var pipeline = PipelineHarness()
        pipeline.submit("A", .read, ["q"], isTimed: true)
        _ = pipeline.actions()
        pipeline.sync()
        _ = pipeline.decisions()
        pipeline.machine.connectionLost("gone")
        _ = pipeline.decisions()
        pipeline.machine.connected(generation: 2, commitsAlone: true)
        #expect(pipeline.actions() == ["announce A", "A0 prepare s2", "sync", "flush"])
    }

    @Test func distantServersAnswersAreNotSlow() {
        var pipeline = PipelineHarness()
        pipeline.machine.roundTripMs = 60
        pipeline.laneReads("A", "B")
        _ = pipeline.actions()
        _ = pipeline.scan(atMs: 0)
        #expect(pipeline.scan(atMs: 79) == [] && !pipeline.machine.isHeldUp)
        #expect(pipeline.scan(atMs: 89) == [] && pipeline.machine.isHeldUp)
        #expect(pipeline.scan(atMs: 110) == ["slow A", "cancel request"])
    }

    @Test func lateThreadIsNoticed() {
        var pipeline = PipelineHarness()
        pipeline.laneReads("A")
        _ = pipeline.actions()
        _ = pipeline.scan(atMs: 100)
        #expect(!pipeline.machine.isLate(112) && pipeline.machine.isLate(120))
    }

    @Test func slowTransactionIsReroutedOnlyAfterItsRollback() {
        var pipeline = PipelineHarness(.write)
        pipeline.submit("A", .transaction, ["q", "r"], runTimeoutMs: 1000, slowAfterMs: 50)
        pipeline.transactions("B")
        _ = pipeline.actions()
        _ = pipeline.scan(atMs: 0)
        #expect(pipeline.scan(atMs: 50) == ["slow A", "cancel request"])
        pipeline.machine.cancelRequestStarted()
        pipeline.succeed(2)
        pipeline.succeed()
        pipeline.fail("57014")
        #expect(pipeline.decisions() == [])
        pipeline.sync()
        #expect(pipeline.decisions() == ["discard A", "reroute A"])
    }

    /// A cancel request would end the commit's wait for the standby.
    @Test func slowTransactionStaysWhereCommitsWaitForStandbys() {
        var pipeline = PipelineHarness(.write, commitsAlone: false)
        pipeline.submit("A", .transaction, ["q"], runTimeoutMs: 1000, slowAfterMs: 50)
        pipeline.transactions("B")
        _ = pipeline.actions()
        _ = pipeline.scan(atMs: 0)
        #expect(pipeline.scan(atMs: 50) == ["slow A"])
        #expect(pipeline.scan(atMs: 500) == [])
    }

    @Test func slowCommitIsNotCancelled() {
        var pipeline = PipelineHarness(.write)
        pipeline.submit("A", .transaction, ["q"], runTimeoutMs: 1000, slowAfterMs: 50)
        pipeline.transactions("B")
        _ = pipeline.actions()
        _ = pipeline.scan(atMs: 0)
        pipeline.succeed(2)
        #expect(pipeline.scan(atMs: 50) == ["slow A"])
        #expect(pipeline.scan(atMs: 500) == [])
        pipeline.sync()
        #expect(pipeline.decisions() == ["done A"])
    }

    @Test func lossOfASlowTransactionLeavesItsOutcomeOpen() {
        var pipeline = PipelineHarness(.write)
        pipeline.submit("A", .transaction, ["q"], runTimeoutMs: 1000, slowAfterMs: 50)
        pipeline.transactions("B")
        _ = pipeline.actions()
        _ = pipeline.scan(atMs: 0)
        _ = pipeline.scan(atMs: 50)
        pipeline.machine.connectionLost("gone")
        #expect(pipeline.decisions() == ["disconnect: gone", "fail A lost?", "fail B lost?"])
    }

    @Test func lostConnectionReroutesASlowRead() {
        var pipeline = PipelineHarness()
        pipeline.laneReads("A", "B")
        _ = pipeline.actions()
        _ = pipeline.scan(atMs: 0)
        _ = pipeline.scan(atMs: 50)
        pipeline.machine.connectionLost("gone")
        #expect(pipeline.decisions() == ["disconnect: gone", "reroute A"])
        pipeline.machine.connected(generation: 2, commitsAlone: true)
        #expect(pipeline.actions() == ["B0 prepare s2", "sync", "flush"])
    }

    @Test func timeBeginsAtTheTurn() {
        var pipeline = PipelineHarness()
        pipeline.submit("A", .read, ["q"], timeoutMs: 1000)
        pipeline.submit("B", .read, ["q"], timeoutMs: 100, runTimeoutMs: 100)
        _ = pipeline.actions()
        _ = pipeline.scan(atMs: 0)
        #expect(pipeline.scan(atMs: 90) == [])
        pipeline.succeed(2)
        #expect(pipeline.decisions() == ["done A"])
        #expect(pipeline.scan(atMs: 100) == [], "B's turn has just come")
        #expect(pipeline.scan(atMs: 190) == [])
        #expect(pipeline.scan(atMs: 200) == ["cancel request", "early B timeout"])
    }

    @Test func waitingHasATimeoutOfItsOwn() {
        var pipeline = PipelineHarness()
        pipeline.submit("A", .read, ["q"], timeoutMs: 5000)
        pipeline.submit("B", .read, ["q"], timeoutMs: 100, runTimeoutMs: 100)
        _ = pipeline.actions()
        #expect(pipeline.scan(atMs: 100) == ["early B timeout"])
        // Nobody waits for B, but it does not cost A the connection.
        #expect(pipeline.scan(atMs: 3000) == [])
        pipeline.succeed(2)
        #expect(pipeline.scan(atMs: 3010) == ["done A", "cancel request"])
    }

    @Test func cancelRequestsForOneStatementArePaced() {
        var pipeline = PipelineHarness()
        pipeline.laneReads("A", "B")
        _ = pipeline.actions()
        _ = pipeline.scan(atMs: 0)
        #expect(pipeline.scan(atMs: 50) == ["slow A", "cancel request"])
        pipeline.machine.cancelRequestStarted()
        pipeline.machine.cancelRequestEnded(generation: 1)
        #expect(pipeline.scan(atMs: 60) == [])
        #expect(pipeline.scan(atMs: 150) == [])
        #expect(pipeline.scan(atMs: 160) == ["cancel request"])
    }

    @Test func callerThatHasGoneIsNotRerouted() {
        var pipeline = PipelineHarness()
        pipeline.laneReads("A", "B")
        _ = pipeline.actions()
        _ = pipeline.scan(atMs: 0)
        pipeline.cancel("A")
        #expect(pipeline.decisions() == ["early A cancelled"])
        #expect(pipeline.scan(atMs: 50) == ["slow A", "cancel request"])
        pipeline.machine.cancelRequestStarted()
        pipeline.succeed()
        pipeline.fail("57014")
        pipeline.abort()
        pipeline.sync()
        #expect(pipeline.decisions() == ["release A"])
    }

    @Test func readWithoutAReaderIsCancelled() {
        var pipeline = PipelineHarness()
        pipeline.laneReads("A")
        _ = pipeline.actions()
        _ = pipeline.scan(atMs: 0)
        pipeline.cancel("A")
        #expect(pipeline.decisions() == ["early A cancelled"])
        #expect(pipeline.scan(atMs: 10) == [])
        #expect(pipeline.scan(atMs: 20) == ["cancel request"])
    }

    @Test func unsentStatementsThatProvedSlowAreDiverted() {
        var pipeline = PipelineHarness()
        let slow: Statement = "slow"
        pipeline.laneReads("A", of: slow)
        _ = pipeline.actions()
        _ = pipeline.scan(atMs: 0)
        #expect(pipeline.scan(atMs: 20) == [])
        // Behind one that takes a while nothing more is sent, where it could not be taken back.
        pipeline.laneReads("B", of: slow)
        pipeline.laneReads("C")
        #expect(pipeline.actions() == [])
        #expect(pipeline.scan(atMs: 50) == ["slow A", "cancel request"])
        slow.isSlowAgain()
        pipeline.machine.cancelRequestStarted()
        pipeline.succeed()
        pipeline.fail("57014")
        pipeline.sync()
        pipeline.machine.cancelRequestEnded(generation: 1)
        #expect(pipeline.actions() == ["reroute A", "C0 prepare s2", "divert B", "sync", "flush"])
    }

    @Test func neighboursOfACancelledStatementAreDivertedOrSentTogether() {
        var pipeline = PipelineHarness()
        let slow: Statement = "slow"
        pipeline.laneReads("A", "B", of: slow)
        pipeline.laneReads("C", "D")
        _ = pipeline.actions()
        _ = pipeline.scan(atMs: 0)
        #expect(pipeline.scan(atMs: 50) == ["slow A", "cancel request"])
        slow.isSlowAgain()
        pipeline.machine.cancelRequestStarted()
        pipeline.succeed()
        pipeline.fail("57014")
        pipeline.abort(4)
        pipeline.sync()
        pipeline.machine.cancelRequestEnded(generation: 1)
        #expect(pipeline.actions() == ["reroute A", "C0 prepare s3", "divert B", "D0 named s3", "sync", "flush"])
    }

    @Test func sentStatementThatProvedSlowIsCancelledEarly() {
        var pipeline = PipelineHarness()
        let slow: Statement = "slow"
        pipeline.laneReads("A", of: slow)
        pipeline.laneReads("B")
        _ = pipeline.actions()
        _ = pipeline.scan(atMs: 0)
        slow.isSlowAgain()
        #expect(pipeline.scan(atMs: 10) == [])
        #expect(pipeline.scan(atMs: 20) == ["cancel request"])
    }

    @Test func fewGroupsOfReadsAreInFlight() {
        var pipeline = PipelineHarness { $0.readGroupsMax = 2 }
        pipeline.laneReads("A")
        _ = pipeline.actions()
        pipeline.laneReads("B")
        _ = pipeline.actions()
        pipeline.laneReads("C", "D")
        #expect(pipeline.actions() == [])
        pipeline.succeed(2)
        pipeline.sync()
        #expect(pipeline.actions() == ["done A", "C0 named s1", "D0 named s1", "sync", "flush"])
    }

    @Test func runBeyondItsLimitIsToldFromAWait() {
        var pipeline = PipelineHarness()
        pipeline.submit("A", .read, ["q"], timeoutMs: 1000, runTimeoutMs: 50)
        pipeline.submit("B", .read, ["q"], timeoutMs: 50, runTimeoutMs: 50)
        _ = pipeline.actions()
        pipeline.machine.timeReached(0)
        pipeline.machine.timeReached(50)
        var ranTooLong: [String: Bool] = [:]
        while let action = pipeline.machine.decidedAction() {
            if case .failEarly(let job, let error) = action { ranTooLong[job.name] = error.ranTooLong }
        }
        #expect(ranTooLong == ["A": true, "B": false])
    }
}
