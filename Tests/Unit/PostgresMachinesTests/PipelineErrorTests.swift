import Testing

@testable import Postgres

/// Errors of the server: which jobs fail and which are repeated.
@Suite struct PipelineErrorTests {
    private let staleRoutine = "RevalidateCachedQuery"

    @Test func readsAbortedByANeighbourAreRepeatedAlone() {
        var pipeline = PipelineHarness()
        pipeline.reads("A", "B", "C", "D")
        _ = pipeline.actions()
        pipeline.succeed(2)
        pipeline.fail("22012")
        pipeline.abort(2)
        #expect(pipeline.actions() == ["done A", "fail B 22012"])
        pipeline.sync()
        #expect(pipeline.machine.repeatedCount == 2)
        #expect(pipeline.actions() == ["C0 named s1", "sync", "D0 named s1", "sync", "flush"])
        // Alone now: only its own error can reach it.
        pipeline.fail("22012")
        pipeline.sync()
        pipeline.succeed()
        pipeline.sync()
        #expect(pipeline.actions() == ["fail C 22012", "done D"])
        #expect(pipeline.machine.jobs.count == 0)
    }

    @Test func failedPreparationIsForgotten() {
        var pipeline = PipelineHarness()
        pipeline.reads("A", "B")
        _ = pipeline.actions()
        pipeline.fail("42601")
        pipeline.abort(2)
        pipeline.sync()
        #expect(pipeline.actions() == ["fail A 42601", "B0 prepare s2", "sync", "flush"])
    }

    @Test func abortedReadGoesBeforeThoseQueuedLater() {
        var pipeline = PipelineHarness { $0.inFlightMax = 2 }
        pipeline.reads("A", "B", "C")
        _ = pipeline.actions()
        pipeline.succeed()
        pipeline.fail("22012")
        pipeline.abort()
        pipeline.sync()
        #expect(pipeline.decisions() == ["fail A 22012"])
        #expect(pipeline.actions() == ["B0 named s1", "sync", "C0 named s1", "sync", "flush"])
    }

    @Test func failedTransactionIsNotRepeatedAndItsNeighbourGoesOn() {
        var pipeline = PipelineHarness(.write)
        pipeline.submit("A", .transaction, ["q", "r"])
        pipeline.transactions("B")
        _ = pipeline.actions()
        pipeline.succeed()
        pipeline.fail("23505")
        pipeline.abort(2)
        pipeline.sync()
        pipeline.succeed()
        pipeline.sync()
        #expect(pipeline.actions() == ["fail A 23505", "done B"])
        #expect(pipeline.machine.repeatedCount == 0)
    }

    @Test func errorAtCommitIsTheTransactionsWithoutAStep() throws {
        var pipeline = PipelineHarness(.write)
        pipeline.transactions("A")
        _ = pipeline.actions()
        pipeline.succeed(2)
        pipeline.result(.failed(PipelineHarness.error("23503")))
        pipeline.end()
        pipeline.sync()
        guard case .fail(let job, let error)? = pipeline.machine.decidedAction() else {
            Issue.record("no failure")
            return
        }
        #expect(job.name == "A" && error.code == .server(sqlState: "23503") && error.stepIndex == nil)
    }

    @Test func stepOfTheErrorIsNamed() {
        var pipeline = PipelineHarness(.write)
        pipeline.submit("A", .transaction, ["q", "r", "s"])
        _ = pipeline.actions()
        pipeline.succeed(3)
        pipeline.fail("23505")
        pipeline.abort(2)
        pipeline.sync()
        guard case .fail(_, let error)? = pipeline.machine.decidedAction() else {
            Issue.record("no failure")
            return
        }
        #expect(error.stepIndex == 1)
    }

    @Test func stalePlanIsPreparedAgainWithinABound() {
        var pipeline = PipelineHarness(.write) { $0.repeatsMax = 2 }
        pipeline.submit("A", .transaction, ["q", "r"])
        _ = pipeline.actions()
        pipeline.succeed(2)
        pipeline.succeed()
        pipeline.fail("0A000", routine: staleRoutine)
        pipeline.sync()
        #expect(
            pipeline.actions() == [
                "discard A", "deallocate s2", "A0 named s1", "A1 prepare s3", "sync", "flush",
            ])
        pipeline.succeed()
        pipeline.sync()
        for name in ["s4", nil] {
            pipeline.succeed(2)
            pipeline.fail("0A000", routine: staleRoutine)
            pipeline.sync()
            let actions = pipeline.actions()
            if let name {
                #expect(actions.contains("A1 prepare \(name)"))
                pipeline.succeed()
                pipeline.sync()
            } else {
                #expect(actions.first == "fail A 0A000")
            }
        }
    }

    @Test func sessionsStatementIsNeverRepeated() {
        var pipeline = PipelineHarness(.session)
        pipeline.submit("A", .session, ["q"], generation: 1)
        _ = pipeline.actions()
        pipeline.succeed()
        pipeline.fail("0A000", routine: staleRoutine)
        pipeline.sync()
        #expect(pipeline.decisions() == ["fail A 0A000"])
    }

    @Test func scriptReportsItsFirstError() {
        var pipeline = PipelineHarness(.session)
        pipeline.submit("S", .script("a;b"), [], generation: 1)
        _ = pipeline.actions()
        pipeline.result(.completed)
        pipeline.result(.failed(PipelineHarness.error("42601")))
        pipeline.result(.failed(PipelineHarness.error("25P02")))
        pipeline.end()
        #expect(pipeline.actions() == ["fail S 42601", "pipeline"])
    }

    @Test func copyIsRefusedAndEndsTheConnection() {
        var pipeline = PipelineHarness(.write)
        pipeline.transactions("A", "B")
        _ = pipeline.actions()
        pipeline.succeed()
        pipeline.result(.copy)
        #expect(
            pipeline.actions() == [
                "early A unsupported", "disconnect: COPY is not supported", "release A", "fail B lost?",
            ])
    }

    @Test func writeConnectionLeavesAReadOnlyServerAndRepeatsThere() {
        var pipeline = PipelineHarness(.write)
        pipeline.transactions("A", "B")
        _ = pipeline.actions()
        pipeline.succeed()
        pipeline.fail("25006")
        pipeline.sync()
        pipeline.transactions("C")
        // Nothing is sent any more; what was sent is answered first.
        #expect(pipeline.actions() == ["read-only"])
        pipeline.succeed()
        pipeline.sync()
        #expect(pipeline.actions() == ["done B", "disconnect: the server no longer accepts writes"])
        pipeline.machine.connected(generation: 2, commitsAlone: true)
        #expect(pipeline.actions().first == "A0 prepare s2")
        #expect(pipeline.machine.inFlight == 2)
    }

    @Test(arguments: [true, false])
    func sessionLeavesOnlyAServerThatSaysItIsReadOnly(isReadOnly: Bool) {
        var pipeline = PipelineHarness(.session)
        pipeline.submit("A", .session, ["q"], generation: 1)
        _ = pipeline.actions()
        pipeline.succeed()
        pipeline.fail("25006")
        pipeline.sync()
        guard case .askIfReadOnly? = pipeline.machine.decidedAction() else {
            Issue.record("the server's settings were not asked for")
            return
        }
        pipeline.machine.serverReported(isReadOnly: isReadOnly)
        let expected =
            isReadOnly
            ? ["read-only", "fail A 25006", "disconnect: the server no longer accepts writes"] : ["fail A 25006"]
        #expect(pipeline.actions() == expected)
    }
}
