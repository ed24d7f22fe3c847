import LiveModel
import Refresh
import RoleMachines
import Streams
import Testing

/// The start of a shard, from the grant of a lease to the first announcement, with everything that can go wrong.
@Suite struct ShardStartTests {
    private static let steps = WorkerBench.startCalls.count

    /// Granted and recorded; `count` steps of the start are answered.
    private static func starting(_ count: Int) throws -> WorkerBench {
        var bench = try WorkerBench()
        bench.list()
        for _ in 0..<(3 + count) { bench.succeed() }
        return bench
    }

    @Test func aShardIsServedAfterEveryStep() throws {
        var bench = try Self.starting(0)
        for call in WorkerBench.startCalls {
            #expect(bench.calls == [call] && bench.followed.isEmpty)
            bench.succeed()
        }
        #expect(bench.calls.isEmpty)
        #expect(bench.followed == [bench.keys.events(shard: 0): .zero, bench.keys.control(shard: 0): .zero])
        #expect(bench.takeSent() == [["announceAll 0 6"]])
        #expect(bench.log == ["shard taken"])
        #expect(bench.machine.refresh.epoch(of: WorkerBench.zero) == 6)
    }

    @Test func streamsAreFollowedFromWhereTheyWereReadTo() throws {
        var bench = try Self.starting(2)
        bench.answer(.lastID(StreamID(ms: 9, sequence: 0)))
        #expect(bench.calls == ["newest events 0 before 9-1 64"])
        bench.answer(.entries([WorkerBench.event(9), WorkerBench.event(8)]))
        bench.answer(.lastID(StreamID(ms: 7, sequence: 3)))
        bench.succeed()
        bench.succeed()
        #expect(
            bench.followed == [
                bench.keys.events(shard: 0): StreamID(ms: 9, sequence: 0),
                bench.keys.control(shard: 0): StreamID(ms: 7, sequence: 3),
            ])
        #expect(bench.machine.refresh.takeOver.replayed == 2)
    }

    @Test func historyIsReadPageByPage() throws {
        var bench = try Self.starting(2)
        bench.answer(.lastID(StreamID(ms: 150, sequence: 0)))
        #expect(bench.calls == ["newest events 0 before 150-1 64"])
        bench.answer(.entries((87...150).reversed().map { WorkerBench.event($0) }))
        #expect(bench.calls == ["newest events 0 before 87-0 64"])
        bench.answer(.entries((23...86).reversed().map { WorkerBench.event($0) }))
        #expect(bench.calls == ["newest events 0 before 23-0 64"])
        bench.answer(.entries((10...22).reversed().map { WorkerBench.event($0) }))
        #expect(bench.calls == ["lastID control 0"])
    }

    @Test(arguments: 0..<steps) func aStepThatFailsGivesTheShardBackForAWhile(step: Int) throws {
        var bench = try Self.starting(step)
        bench.fail()
        #expect(bench.calls == ["releaseLease 6"] && bench.followed.isEmpty && bench.batches.isEmpty)
        #expect(bench.log == ["shard could not be started"])
        bench.succeed()
        #expect(bench.calls == ["wakeWorkers"])
        bench.succeed()
        bench.tick()
        #expect(bench.calls.isEmpty, "it is left alone for a while")
        bench.reachDeadline()
        #expect(bench.calls == ["readEpochs 0"])
        bench.serve()
        #expect(bench.takeSent() == [["announceAll 0 7"]])
    }

    @Test func aPageThatCannotBeReadFailsTheStart() throws {
        var bench = try Self.starting(2)
        bench.answer(.lastID(StreamID(ms: 9, sequence: 0)))
        bench.fail()
        #expect(bench.calls == ["releaseLease 6"])
    }

    @Test(arguments: 0..<steps) func aLeaseLostMeanwhileEndsTheStart(step: Int) throws {
        var bench = try Self.starting(step)
        let late = bench.postpone()
        bench.tick(afterMs: 1_000)
        #expect(bench.calls == ["renewLease 6"])
        bench.answer(.done(false))
        #expect(bench.log == ["shard lost"])
        // No other worker can have served: the lease is requested again at once.
        #expect(bench.calls == ["readEpochs 0"])
        bench.answerLate(late)
        #expect(bench.calls == ["readEpochs 0"] && bench.followed.isEmpty && bench.batches.isEmpty)
    }

    @Test(arguments: 0..<steps) func aLateAnswerDoesNotTouchTheNextStart(step: Int) throws {
        var bench = try Self.starting(step)
        let late = bench.postpone()
        bench.tick(afterMs: 1_000)
        bench.answer(.done(false))
        for _ in 0..<3 { bench.succeed() }
        #expect(bench.calls == ["loadCatalogs"])
        bench.answerLate(late)
        #expect(bench.calls == ["loadCatalogs"])
        while !bench.calls.isEmpty { bench.succeed() }
        #expect(bench.takeSent() == [["announceAll 0 7"]])
    }

    @Test(arguments: 0..<steps) func aDrainEndsTheStart(step: Int) throws {
        var bench = try Self.starting(step)
        let late = bench.postpone()
        bench.drain()
        #expect(bench.calls == ["releaseLease 6"] && bench.drainsEnded == 0)
        bench.succeed()
        #expect(bench.calls == ["wakeWorkers"] && bench.drainsEnded == 0)
        bench.succeed()
        #expect(bench.drainsEnded == 1)
        bench.answerLate(late)
        #expect(bench.calls.isEmpty && bench.followed.isEmpty && bench.batches.isEmpty && bench.drainsEnded == 1)
    }

    @Test func aNewerEpochThatWasRecordedMeanwhileIsAnothers() throws {
        var bench = try Self.starting(1)
        bench.answer(.epochs(recorded: 7, clockMs: 7))
        #expect(bench.calls == ["releaseLease 6"] && bench.followed.isEmpty)
    }

    @Test func gatewaysThatCameBesideTheListAreAskedToo() throws {
        var bench = try Self.starting(5)
        bench.list(gateways: [NodeID("new")])
        let listed = NodeRecordPayload(
            id: NodeID("old"), roles: [.gateway], address: "", adminAddress: "", version: "", startedAtMs: 0,
            isDraining: false, load: 0)
        bench.answer(.nodes([NodeRecord(id: "old", payload: listed.payload, remainingMs: 1)]))
        #expect(bench.batches.map { $0.map(\.gateway.name) } == [["new", "old"]])
    }

    @Test func aShardThatMustRestIsStartedAfterwards() throws {
        var bench = try WorkerBench()
        bench.list()
        bench.succeed()
        bench.answer(.lease(.granted(WorkerBench.grant(6, knownForMs: 4_000))))
        bench.succeed()
        #expect(bench.calls.isEmpty && bench.machine.nextDeadlineMs == bench.nowMs + 1_000)
        bench.reachDeadline()
        #expect(bench.calls.contains("loadCatalogs"))
    }
}
