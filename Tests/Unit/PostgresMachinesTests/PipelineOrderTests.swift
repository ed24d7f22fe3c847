import Testing

@testable import Postgres

/// The order in which jobs are sent, and which answers are whose.
@Suite struct PipelineOrderTests {
    @Test func readsShareOneSyncAndOneFlush() {
        var pipeline = PipelineHarness()
        pipeline.reads("A", "B", "C")
        #expect(pipeline.actions() == ["A0 prepare s1", "B0 named s1", "C0 named s1", "sync", "flush"])
        #expect(pipeline.actions() == [])
        pipeline.succeed(2)
        #expect(pipeline.decisions() == ["done A"])
        pipeline.succeed(2)
        #expect(pipeline.decisions() == ["done B", "done C"])
        #expect(pipeline.machine.inFlight == 0 && pipeline.machine.expectsAnswer)
        pipeline.sync()
        #expect(!pipeline.machine.expectsAnswer && !pipeline.machine.hasWork)
        #expect(pipeline.kept == ["A", "B", "C"])
    }

    @Test func transactionIsDoneAtItsSync() {
        var pipeline = PipelineHarness(.write)
        pipeline.submit("A", .transaction, ["q", "r"])
        pipeline.transactions("B")
        #expect(
            pipeline.actions() == ["A0 prepare s1", "A1 prepare s2", "sync", "B0 unprepared", "sync", "flush"])
        pipeline.succeed(4)
        #expect(pipeline.decisions() == [])
        pipeline.sync()
        #expect(pipeline.decisions() == ["done A"])
        pipeline.succeed()
        pipeline.sync()
        #expect(pipeline.decisions() == ["done B"])
        #expect(pipeline.kept == ["A", "A", "B"])
    }

    @Test func noMoreThanTheBoundIsInFlight() {
        var pipeline = PipelineHarness { $0.inFlightMax = 2 }
        pipeline.reads("A", "B", "C")
        #expect(pipeline.actions() == ["A0 prepare s1", "B0 named s1", "sync", "flush"])
        pipeline.succeed(2)
        #expect(pipeline.actions() == ["done A", "C0 named s1", "sync", "flush"])
        #expect(pipeline.machine.inFlight == 2)
    }

    @Test func slotsAreReused() {
        var pipeline = PipelineHarness { $0.inFlightMax = 4 }
        for number in 0..<100 {
            pipeline.reads("A\(number)", "B\(number)")
            _ = pipeline.actions()
            pipeline.succeed(number == 0 ? 3 : 2)
            pipeline.sync()
            #expect(pipeline.decisions() == ["done A\(number)", "done B\(number)"])
            #expect(pipeline.machine.jobs.count == 0)
        }
        // An id of a job that is gone means nothing to the job that has its slot now.
        pipeline.reads("C")
        pipeline.cancel("A99")
        pipeline.cancel("B99")
        #expect(pipeline.actions() == ["C0 named s1", "sync", "flush"])
    }

    @Test func evictedStatementIsDeallocatedInItsOwnGroup() {
        var pipeline = PipelineHarness { $0.preparedStatementsMax = 1 }
        pipeline.submit("A", .read, ["q"])
        _ = pipeline.actions()
        pipeline.succeed(2)
        pipeline.sync()
        pipeline.submit("B", .read, ["r"])
        #expect(
            pipeline.actions() == ["done A", "B0 prepare s2", "sync", "deallocate s1", "flush"])
        pipeline.succeed(2)
        pipeline.sync()
        // Its error affects no other statement.
        pipeline.fail("26000")
        pipeline.sync()
        #expect(pipeline.actions() == ["done B"] && !pipeline.machine.expectsAnswer)
    }

    @Test func sessionDeallocatesOnlyWhileIdle() {
        var pipeline = PipelineHarness(.session) { ($0.preparedStatementsMax, $0.inFlightMax) = (1, 1) }
        for (name, sql) in [("A", "q"), ("B", "r")] as [(String, Statement)] {
            pipeline.submit(name, .session, [sql], generation: 1)
            _ = pipeline.actions(isIdle: false)
            pipeline.succeed(2)
            pipeline.sync()
            #expect(pipeline.actions(isIdle: false) == ["done \(name)"])
        }
        #expect(pipeline.actions() == ["deallocate s1", "flush"])
    }

    @Test func scriptWaitsForAnEmptyPipelineAndReturnsToIt() {
        var pipeline = PipelineHarness(.session)
        pipeline.submit("A", .session, ["q"], generation: 1)
        pipeline.submit("S", .script("a;b"), [], generation: 1)
        pipeline.submit("B", .session, ["q"], generation: 1)
        #expect(pipeline.actions() == ["A0 prepare s1", "sync", "flush"])
        pipeline.succeed(2)
        pipeline.sync()
        #expect(pipeline.actions() == ["done A", "script S a;b", "flush"])
        pipeline.result(.completed)
        pipeline.result(.completed)
        #expect(pipeline.actions() == [] && pipeline.machine.expectsAnswer)
        pipeline.end()
        #expect(pipeline.actions() == ["done S", "pipeline", "B0 named s1", "sync", "flush"])
    }

    @Test func nothingIsSentWithoutAConnection() {
        var pipeline = PipelineHarness(isConnected: false)
        pipeline.reads("A")
        #expect(pipeline.actions() == [])
        pipeline.machine.connected(generation: 1, commitsAlone: true)
        #expect(pipeline.actions() == ["A0 prepare s1", "sync", "flush"])
    }

    @Test func answerOutOfOrderEndsTheConnection() {
        var pipeline = PipelineHarness()
        pipeline.reads("A")
        _ = pipeline.actions()
        pipeline.sync()
        #expect(pipeline.actions() == ["disconnect: an answer out of order"])
        #expect(pipeline.machine.hasWork && !pipeline.machine.isConnected)
    }

    @Test func endlessEmptyAnswersAtASyncWaitForInput() {
        var pipeline = PipelineHarness()
        pipeline.reads("A")
        _ = pipeline.actions()
        pipeline.succeed(2)
        #expect((0..<3).map { _ in pipeline.end() } == [true, true, false])
        pipeline.sync()
        #expect(pipeline.actions() == ["done A"] && pipeline.machine.isConnected)
    }
}
