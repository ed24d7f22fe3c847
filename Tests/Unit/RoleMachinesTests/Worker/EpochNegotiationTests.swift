import LiveModel
import RoleMachines
import Streams
import Testing

/// The way to an epoch that is granted by the broker and recorded by the database.
@Suite struct EpochNegotiationTests {
    @Test func anEpochIsAboveAllAndRecorded() throws {
        var bench = try WorkerBench()
        bench.list()
        #expect(bench.calls == ["readEpochs 0"])
        bench.answer(.epochs(recorded: 5, clockMs: 80))
        #expect(bench.calls == ["requestLease 81 on 1"])
        bench.answer(.lease(.granted(WorkerBench.grant(81))))
        #expect(bench.calls == ["recordEpoch 81 of 0"])
        bench.answer(.recorded(true))
        #expect(bench.calls == ["loadCatalogs"])
    }

    @Test func theNewestRecordedEpochCountsIfTheClockIsBehindIt() throws {
        var bench = try WorkerBench()
        bench.list()
        bench.answer(.epochs(recorded: 90, clockMs: 80))
        #expect(bench.calls == ["requestLease 91 on 1"])
    }

    @Test func theBrokerKnowsANewerEpoch() throws {
        var bench = try WorkerBench()
        bench.list()
        bench.succeed()
        bench.answer(.lease(.outdated(newest: 9)))
        #expect(bench.calls == ["requestLease 10 on 1"])
        bench.succeed()
        #expect(bench.calls == ["recordEpoch 10 of 0"])
    }

    @Test func theSecondAskNamesTheNewestTimeline() throws {
        var bench = try WorkerBench(shardCount: 2)
        bench.list()
        bench.succeed()
        bench.timeline = "2"
        // The failover is known with an answer about the other shard.
        bench.succeed()
        #expect(bench.calls == ["requestLease 6 on 1", "requestLease 6 on 2"])
        bench.answer(.lease(.outdated(newest: 9)))
        #expect(bench.calls == ["requestLease 6 on 2", "requestLease 10 on 2"])
    }

    @Test func anotherWorkerRecordedANewerEpoch() throws {
        var bench = try WorkerBench()
        bench.list()
        bench.succeed()
        bench.succeed()
        bench.answer(.recorded(false))
        #expect(bench.calls == ["readEpochs 0"])
        bench.answer(.epochs(recorded: 8, clockMs: 8))
        #expect(bench.calls == ["requestLease 9 on 1"])
    }

    @Test func anEpochGrantedIsNotAskedForAgain() throws {
        var bench = try WorkerBench()
        bench.list()
        bench.succeed()
        bench.succeed()
        bench.answer(.recorded(false))
        // The row that was in the way is lost.
        bench.answer(.epochs(recorded: 2, clockMs: 2))
        #expect(bench.calls == ["requestLease 7 on 1"])
    }

    @Test func aGrantOnAnotherTimelineDoesNotCount() throws {
        var bench = try WorkerBench()
        bench.list()
        bench.succeed()
        #expect(bench.calls == ["requestLease 6 on 1"])
        bench.succeed()
        bench.timeline = "2"
        bench.succeed()
        #expect(bench.calls == ["readEpochs 0"])
        bench.succeed()
        #expect(bench.calls == ["requestLease 7 on 2"])
        bench.succeed()
        bench.succeed()
        #expect(bench.calls == ["loadCatalogs"])
    }

    @Test func afterTwoOutdatedGrantsTheNextTickNegotiatesAgain() throws {
        var bench = try WorkerBench()
        bench.list()
        bench.succeed()
        bench.answer(.lease(.outdated(newest: 9)))
        bench.answer(.lease(.outdated(newest: 12)))
        #expect(bench.calls.isEmpty && bench.log == ["shard not taken: its epoch could not be recorded in Postgres"])
        bench.tick()
        #expect(bench.calls == ["readEpochs 0"])
        bench.succeed()
        bench.succeed()
        bench.answer(.recorded(false))
        bench.succeed()
        bench.succeed()
        bench.answer(.recorded(false))
        #expect(bench.calls.isEmpty && bench.log.count == 1, "one problem is logged once")
    }

    @Test(arguments: 0..<3) func aStepThatFailsEndsTheTry(step: Int) throws {
        var bench = try WorkerBench()
        bench.list()
        for _ in 0..<step { bench.succeed() }
        bench.fail()
        #expect(bench.calls.isEmpty, "what was granted and not recorded is not given back")
        // The broker's problems are logged elsewhere.
        #expect(bench.log == (step == 1 ? [] : ["shard not taken: its epoch could not be recorded in Postgres"]))
        bench.tick()
        #expect(bench.calls == ["readEpochs 0"])
    }

    @Test func aLeaseThatIsHeldIsAskedForWhenItIsFree() throws {
        var bench = try WorkerBench()
        bench.list()
        bench.succeed()
        bench.answer(.lease(.held(forMs: 700)))
        #expect(bench.calls.isEmpty && bench.machine.nextDeadlineMs == bench.nowMs + 701)
        bench.reachDeadline()
        #expect(bench.calls == ["readEpochs 0"])
    }

    @Test func aRequestThatTookTooLongGivesWayToTheNext() throws {
        var bench = try WorkerBench()
        bench.list()
        let late = bench.postpone()
        bench.tick(afterMs: 5_000)
        bench.tick()
        #expect(bench.calls == ["readEpochs 0"])
        let current = bench.postpone()
        bench.answerLate(late)
        #expect(bench.calls.isEmpty, "two requests for one shard would fence each other off")
        bench.answerLate(current)
        #expect(bench.calls == ["requestLease 6 on 1"])
    }

    @Test(arguments: 0..<3) func aDrainWaitsForWhatMayBeGranted(step: Int) throws {
        var bench = try WorkerBench()
        bench.list()
        for _ in 0..<step { bench.succeed() }
        bench.drain()
        #expect(bench.drainsEnded == 0)
        if step == 0 {
            bench.succeed()
        } else {
            while bench.calls != ["releaseLease 6"] { bench.succeed() }
            bench.succeed()
            bench.succeed()
        }
        #expect(bench.calls.isEmpty && bench.drainsEnded == 1 && bench.followed.isEmpty)
    }

    @Test func aDrainOfAWorkerWithoutShardsEndsAtOnce() throws {
        var bench = try WorkerBench()
        bench.drain()
        #expect(bench.drainsEnded == 1)
        bench.list()
        bench.tick(afterMs: 500)
        #expect(bench.calls.isEmpty && bench.drainsEnded == 1 && bench.machine.nextDeadlineMs == nil)
    }
}
