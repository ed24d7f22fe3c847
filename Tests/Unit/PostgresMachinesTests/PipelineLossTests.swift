import Testing

@testable import Postgres

/// A lost connection: which jobs are repeated, and how the others end. Stopping, too.
@Suite struct PipelineLossTests {
    @Test func readsInFlightAreRepeatedOnce() {
        var pipeline = PipelineHarness { $0.inFlightMax = 2 }
        pipeline.reads("A", "B", "C")
        _ = pipeline.actions()
        pipeline.machine.connectionLost("gone")
        #expect(pipeline.actions() == ["disconnect: gone"])
        pipeline.machine.connected(generation: 2, commitsAlone: true)
        #expect(pipeline.actions() == ["A0 prepare s2", "B0 named s2", "sync", "flush"])
        pipeline.succeed(2)
        pipeline.machine.connectionLost("gone")
        #expect(pipeline.actions() == ["done A", "disconnect: gone", "fail B lost"])
        #expect(pipeline.machine.repeatedCount == 2 && pipeline.machine.hasWork, "C waits for the next connection")
    }

    @Test func resultsOfARepeatedReadAreVoid() {
        var pipeline = PipelineHarness()
        pipeline.reads("A")
        _ = pipeline.actions()
        pipeline.succeed()
        pipeline.result(.completed)
        pipeline.machine.connectionLost("gone")
        #expect(pipeline.actions() == ["disconnect: gone", "discard A"])
    }

    @Test func outcomeOfATransactionInFlightIsUnknown() {
        var pipeline = PipelineHarness(.write) { $0.inFlightMax = 2 }
        pipeline.transactions("A", "B", "C")
        _ = pipeline.actions()
        pipeline.succeed(2)
        pipeline.machine.connectionLost("gone")
        #expect(pipeline.actions() == ["disconnect: gone", "fail A lost?", "fail B lost?"])
        pipeline.machine.connected(generation: 2, commitsAlone: true)
        #expect(pipeline.actions() == ["C0 prepare s2", "sync", "flush"], "what was not sent is sent now")
    }

    @Test func serversErrorOrFarewellMakesTheOutcomeKnown() {
        var pipeline = PipelineHarness(.write)
        pipeline.transactions("A", "B", "C")
        _ = pipeline.actions()
        pipeline.succeed()
        pipeline.fail("23505")
        pipeline.sync()
        pipeline.fail("57P01", isFatal: true)
        pipeline.machine.connectionLost("gone")
        #expect(pipeline.actions() == ["fail A 23505", "disconnect: gone", "fail B lost", "fail C lost"])
    }

    @Test func errorBeforeTheLossIsTheCause() {
        var pipeline = PipelineHarness(.write)
        pipeline.submit("A", .transaction, ["q", "r"])
        _ = pipeline.actions()
        pipeline.succeed()
        pipeline.fail("23505")
        pipeline.machine.connectionLost("gone")
        #expect(pipeline.actions() == ["disconnect: gone", "fail A 23505"])
    }

    @Test func fatalErrorOfAReadIsRepeatedElsewhere() {
        var pipeline = PipelineHarness()
        pipeline.reads("A", "B")
        _ = pipeline.actions()
        pipeline.succeed()
        pipeline.fail("57P01", isFatal: true)
        // A broken connection ends every command without an answer.
        pipeline.end()
        #expect(pipeline.actions() == ["disconnect: broken"])
        pipeline.machine.connected(generation: 2, commitsAlone: true)
        #expect(pipeline.actions() == ["A0 prepare s2", "B0 named s2", "sync", "flush"])
    }

    @Test func fatalErrorAtTheSyncLeavesTheOutcomeUnknown() {
        var pipeline = PipelineHarness(.write)
        pipeline.transactions("A")
        _ = pipeline.actions()
        pipeline.succeed(2)
        pipeline.result(.failed(PipelineHarness.error("57P01", isFatal: true)))
        pipeline.machine.connectionLost("gone")
        #expect(pipeline.actions() == ["disconnect: gone", "fail A lost?"])
    }

    @Test func errorWithoutAStateIsALostConnection() {
        var pipeline = PipelineHarness(.write)
        pipeline.transactions("A")
        _ = pipeline.actions()
        pipeline.result(.failed(PostgresError(.connectionLost(outcomeUnknown: true), "reset by peer")))
        #expect(pipeline.actions() == ["disconnect: reset by peer", "fail A lost?"])
    }

    @Test func outcomeOfAScriptIsUnknownEvenAfterAFarewell() {
        var pipeline = PipelineHarness(.session)
        pipeline.submit("S", .script("a;b"), [], generation: 1)
        _ = pipeline.actions()
        pipeline.result(.completed)
        pipeline.result(.failed(PipelineHarness.error("57P01", isFatal: true)))
        #expect(pipeline.actions() == ["disconnect: no", "fail S lost?"])
    }

    @Test func sessionEndsWithItsConnection() {
        var pipeline = PipelineHarness(.session) { $0.inFlightMax = 1 }
        pipeline.submit("A", .session, ["q"], generation: 1)
        pipeline.submit("B", .session, ["q"], generation: 1)
        _ = pipeline.actions()
        pipeline.machine.connectionLost("gone")
        #expect(pipeline.actions() == ["disconnect: gone", "fail A lost?", "fail B lost"])
        pipeline.submit("C", .session, ["q"], generation: 1)
        pipeline.machine.connected(generation: 2, commitsAlone: true)
        pipeline.submit("D", .session, ["q"], generation: 1)
        pipeline.submit("E", .session, ["q"], generation: 2)
        #expect(pipeline.actions() == ["fail C lost", "fail D lost", "E0 prepare s2", "sync", "flush"])
    }

    @Test func readAnsweredEarlyIsNotRepeated() {
        var pipeline = PipelineHarness()
        pipeline.reads("A", "B")
        _ = pipeline.actions()
        pipeline.cancel("A")
        pipeline.machine.connectionLost("gone")
        #expect(pipeline.actions() == ["early A cancelled", "disconnect: gone", "release A"])
        pipeline.machine.connected(generation: 2, commitsAlone: true)
        #expect(pipeline.actions() == ["B0 prepare s2", "sync", "flush"])
    }

    @Test func jobWhoseFirstStepCouldNotBeSentWaitsForTheNextConnection() {
        var pipeline = PipelineHarness(.write)
        pipeline.transactions("A", "B")
        #expect(pipeline.machine.nextAction(nowMs: 0, isIdle: true).map(PipelineHarness.text) == "A0 prepare s1")
        pipeline.machine.sendFailed("no memory")
        #expect(pipeline.actions() == ["disconnect: no memory"])
        pipeline.machine.connected(generation: 2, commitsAlone: true)
        #expect(pipeline.actions() == ["A0 prepare s2", "sync", "B0 unprepared", "sync", "flush"])
    }

    @Test func outcomeIsUnknownOnceThePartsOfATransactionWentOut() {
        var pipeline = PipelineHarness(.write)
        pipeline.transactions("A")
        _ = pipeline.machine.nextAction(nowMs: 0, isIdle: true)
        #expect(pipeline.machine.nextAction(nowMs: 0, isIdle: true).map(PipelineHarness.text) == "sync")
        pipeline.machine.sendFailed("no memory")
        #expect(pipeline.actions() == ["disconnect: no memory", "fail A lost?"])
    }

    @Test func failedResetEndsOnlyItsOwnConnection() {
        var pipeline = PipelineHarness(.session)
        pipeline.machine.resetFailed(generation: 0)
        #expect(pipeline.actions() == [])
        pipeline.machine.resetFailed(generation: 1)
        #expect(pipeline.actions() == ["disconnect: a session could not be reset"])
    }

    // MARK: stopping

    @Test func stopRefusesTheQueueAndWaitsForWhatIsInFlight() {
        var pipeline = PipelineHarness(.write) { $0.inFlightMax = 1 }
        pipeline.transactions("A", "B")
        _ = pipeline.actions()
        pipeline.machine.stopRequested(nowMs: 10)
        pipeline.transactions("C")
        #expect(pipeline.actions() == ["fail B closed", "fail C closed"])
        #expect(pipeline.machine.endStop(nowMs: 11) == false)
        pipeline.succeed(2)
        pipeline.sync()
        #expect(pipeline.actions() == ["done A"])
        #expect(pipeline.machine.endStop(nowMs: 12) == true)
        #expect(pipeline.machine.jobs.count == 0)
    }

    @Test func stopGivesUpAfterItsTime() {
        var pipeline = PipelineHarness { $0.stopTimeoutMs = 100 }
        pipeline.reads("A")
        _ = pipeline.actions()
        pipeline.machine.stopRequested(nowMs: 10)
        pipeline.machine.timeReached(100)
        #expect(pipeline.machine.wakeAtMs == 110)
        #expect(pipeline.machine.endStop(nowMs: 109) == false)
        #expect(pipeline.machine.endStop(nowMs: 110) == true)
        #expect(pipeline.decisions() == ["disconnect", "fail A lost"])
    }
}
