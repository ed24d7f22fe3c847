import LiveModel
import Refresh
import RoleMachines
import Sharding
import Streams
import Testing

/// A worker and the shards that it serves: its work on them, and how it gives them up.
@Suite struct WorkerMachineTests {
    private static let nine = StreamID(ms: 9, sequence: 0)

    // MARK: Checkpoints and trimming

    @Test func onlyWhatIsNotRecordedIsRecorded() throws {
        var bench = try WorkerBench(Self.keepingLeases)
        bench.serve(lastEvent: Self.nine)
        bench.tick()
        #expect(bench.calls == ["checkpoint events 0 9-0 by 6"])
        bench.tick(afterMs: 1_000)
        #expect(bench.calls.count == 1, "one round at a time")
        bench.answer(.done(true))
        bench.tick(afterMs: 1_000)
        #expect(bench.calls.isEmpty)
        bench.readEvent(12)
        bench.tick(afterMs: 1_000)
        #expect(bench.calls == ["checkpoint events 0 12-0 by 6"])
        bench.answer(.done(false))
        bench.tick(afterMs: 1_000)
        #expect(bench.calls == ["checkpoint events 0 12-0 by 6"], "it was not done")
    }

    /// Ticks come more often than checkpoints.
    @Test func checkpointsKeepTheirInterval() throws {
        var bench = try WorkerBench {
            Self.keepingLeases(&$0)
            $0.checkpointMs = 700
        }
        bench.serve(lastEvent: Self.nine)
        var storedAtMs: [Int64] = []
        let startMs = bench.nowMs
        for event in 10..<40 {
            bench.readEvent(UInt64(event))
            bench.tick(afterMs: 100)
            guard !bench.calls.isEmpty else { continue }
            storedAtMs.append(bench.nowMs - startMs)
            bench.answer(.done(true))
        }
        #expect(storedAtMs == [100, 800, 1_500, 2_200, 2_900])
    }

    /// No renewals in between.
    private static func keepingLeases(_ settings: inout WorkerMachine.Settings) {
        settings.lease.ttlMs = 1_000_000
        settings.lease.renewMs = 1_000_000
        settings.eventsAgeMaxMs = 10_000_000
    }

    @Test func beforeAnyEventThereIsNothingToRecord() throws {
        var bench = try WorkerBench()
        bench.serve()
        bench.tick()
        #expect(bench.calls.isEmpty)
    }

    @Test func oldEntriesAreTrimmedNowAndThenUnderTheLease() throws {
        var bench = try WorkerBench {
            Self.keepingLeases(&$0)
            $0.eventsAgeMaxMs = 400_000
        }
        bench.serve()
        bench.tick()
        #expect(bench.calls == ["trim events 0 below 600000-0 by 6"], "one call at a time")
        bench.succeed()
        #expect(bench.calls == ["trim control 0 below 600000-0 by 6"])
        bench.succeed()
        bench.tick(afterMs: 29_999)
        #expect(bench.calls.isEmpty)
        bench.tick(afterMs: 1)
        #expect(bench.calls == ["trim events 0 below 630000-0 by 6"])
        bench.fail()
        #expect(bench.calls == ["trim control 0 below 630000-0 by 6"])
    }

    @Test func aShardGivenUpDuringARoundIsPassedOver() throws {
        var bench = try WorkerBench(shardCount: 2)
        bench.serve(lastEvent: Self.nine)
        bench.tick()
        #expect(bench.calls == ["checkpoint events 0 9-0 by 6"])
        let round = bench.postpone()
        bench.list(workers: [NodeID("other")])
        #expect(
            bench.calls == ["checkpoint events 0 9-0 by 6", "checkpoint events 1 9-0 by 6"],
            "for the next owner, before the lease goes back")
        bench.answerLate(round)
        #expect(bench.calls.count == 2)
    }

    // MARK: The end

    @Test func appliedEventsAreRecordedBeforeTheLeaseIsReleased() throws {
        var bench = try WorkerBench()
        bench.serve(lastEvent: Self.nine)
        bench.drain()
        #expect(bench.followed.isEmpty && bench.machine.refresh.ownedShards.isEmpty, "it is not served any more")
        #expect(bench.calls == ["checkpoint events 0 9-0 by 6"])
        bench.fail()
        #expect(bench.calls == ["releaseLease 6"])
        bench.fail()
        #expect(bench.calls == ["wakeWorkers"] && bench.drainsEnded == 0)
        bench.fail()
        #expect(bench.calls.isEmpty && bench.drainsEnded == 1)
    }

    @Test func aRecordedShardIsReleasedAtOnce() throws {
        var bench = try WorkerBench()
        bench.serve(lastEvent: Self.nine)
        bench.tick()
        bench.succeed()
        bench.drain()
        #expect(bench.calls == ["releaseLease 6"])
    }

    @Test func othersAreWokenOnceAllLeasesAreBack() throws {
        var bench = try WorkerBench(shardCount: 2)
        bench.serve()
        bench.drain()
        #expect(bench.calls == ["releaseLease 6", "releaseLease 6"])
        bench.succeed()
        #expect(bench.calls == ["releaseLease 6"])
        bench.succeed()
        #expect(bench.calls == ["wakeWorkers"])
    }

    @Test func aResultReadUnderALeaseThatIsOverIsNotUsed() throws {
        var bench = try WorkerBench()
        bench.serve()
        bench.announce()
        _ = bench.takeSent()
        bench.batchAppended()
        bench.nowMs += 4_500
        bench.finishRun("late")
        #expect(bench.takeSent().isEmpty && bench.followed.isEmpty && bench.log.last == "shard lost")
    }

    @Test func anAnswerThatComesTwiceCountsOnce() throws {
        var bench = try WorkerBench()
        bench.list()
        let call = bench.postpone()
        bench.answerLate(call)
        #expect(bench.calls == ["requestLease 6 on 1"])
        bench.answerLate(call)
        #expect(bench.calls == ["requestLease 6 on 1"])
    }

    // MARK: Streams and servers

    @Test func shardsWithLiveQueriesAreHandledFirst() throws {
        var bench = try WorkerBench(shardCount: 2)
        bench.serve()
        bench.announce(shard: 1)
        bench.finishRun("first")
        bench.batchAppended()
        bench.batchAppended()
        _ = bench.takeSent()
        let before = bench.log.count
        bench.nowMs += 1_000
        let events = [0, 1].map { shard in
            StreamBatch(stream: bench.keys.events(shard: shard), entries: [WorkerBench.event(50)])
        }
        let unreadable = StreamBatch(
            stream: bench.keys.control(shard: 0), entries: [StreamEntry(id: Self.nine, fields: [])])
        let urgent = StreamBatch(
            stream: bench.keys.control(shard: 1), signal: .serverChanged,
            entries: [StreamEntry(id: Self.nine, fields: [])])
        let doubt = StreamBatch(stream: bench.keys.events(shard: 0), signal: .serverChanged, entries: [])
        bench.read([doubt, unreadable] + events + [urgent])
        // First shard 1, which has a live query, then shard 0.
        #expect(
            bench.log[before...] == ["unreadable control messages", "events may be lost, the shard runs again"])
        #expect(bench.runs.count == 1)
        #expect(bench.machine.eventsRead == 2)
    }

    @Test func unreadableControlMessagesAreLoggedOnceInAnInterval() throws {
        var bench = try WorkerBench()
        bench.serve()
        let before = bench.log.count
        let junk = StreamBatch(
            stream: bench.keys.control(shard: 0),
            entries: Array(repeating: StreamEntry(id: Self.nine, fields: []), count: 50))
        for _ in 0..<20 { bench.read([junk]) }
        #expect(bench.log[before...] == ["unreadable control messages"])
        bench.nowMs += 10_000
        for _ in 0..<20 { bench.read([junk]) }
        #expect(bench.log[before...].count == 2)
    }

    @Test func newsWantTheNodeList() throws {
        var bench = try WorkerBench()
        bench.read([StreamBatch(stream: bench.keys.wakeUps, entries: [])])
        #expect(bench.nodesWanted == 1)
    }

    @Test func streamsThatAreNotServedAreIgnored() throws {
        var bench = try WorkerBench()
        bench.readEvent(10)
        #expect(bench.machine.eventsRead == 0 && bench.calls.isEmpty)
    }

    @Test(arguments: [WorkerMachine.ServerChanges(broker: 1), WorkerMachine.ServerChanges(database: 1)])
    func anotherServerMakesEverythingRunAgainOnce(changes: WorkerMachine.ServerChanges) throws {
        var bench = try WorkerBench()
        bench.serve()
        bench.announce()
        bench.finishRun("first")
        bench.batchAppended()
        bench.batchAppended()
        _ = bench.takeSent()
        bench.tick(afterMs: 500, changes: changes)
        #expect(bench.runs.count == 1 && bench.takeSent() == [["announceAll 0 6"]])
        #expect(bench.log.last == "another redis or postgres server answers, all shards run again")
        bench.tick(afterMs: 400, changes: changes)
        #expect(bench.runs.count == 1 && bench.batches.isEmpty)
    }

    // MARK: Messages to gateways

    @Test func oneBatchAtATime() throws {
        var bench = try WorkerBench()
        bench.serve()
        #expect(bench.takeSent() == [["announceAll 0 6"]])
        bench.announce()
        bench.finishRun("first")
        #expect(bench.batches.isEmpty)
        bench.batchAppended()
        #expect(bench.takeSent() == [["first"]])
        bench.batchAppended()
        #expect(bench.batches.isEmpty && bench.machine.outgoingBytes == 0)
    }

    @Test func aSecondAnswerToABatchIsIgnored() throws {
        var bench = try WorkerBench()
        bench.serve()
        let first = try #require(bench.appendCall)
        bench.announce()
        bench.finishRun("first")
        bench.batchAppended()
        _ = bench.takeSent()
        #expect(bench.appendCall != first)
        // The batch under way is the next one: the late failure is not of that.
        bench.batchAppended(first, problem: "cut off")
        #expect(bench.batches.isEmpty && bench.machine.outgoingBytes > 0)
        bench.batchAppended()
        #expect(bench.machine.outgoingBytes == 0)
    }

    @Test func aSecondAnswerToARunIsIgnored() throws {
        var bench = try WorkerBench()
        bench.serve()
        bench.batchAppended()
        bench.announce()
        let call = try #require(bench.runCalls.first)
        bench.finishRun("first")
        bench.batchAppended()
        _ = bench.takeSent()
        bench.finishRun(call, [.failed(RequestError(.unavailable, "late"))])
        #expect(bench.takeSent().isEmpty && bench.machine.outgoingBytes == 0)
    }

    @Test func resultsThatWereNotAppendedAreSentAgain() throws {
        var bench = try WorkerBench()
        bench.serve()
        bench.batchAppended()
        bench.announce()
        bench.finishRun("first")
        _ = bench.takeSent()
        bench.batchAppended(problem: "cut off")
        #expect(bench.log.last == "results not sent")
        while bench.runs.isEmpty { bench.reachDeadline() }
        bench.finishRun("again")
        #expect(bench.takeSent() == [["again"]])
    }

    @Test func resultsThatDoNotFitAreSentAgain() throws {
        let body = String(repeating: "x", count: 1_000)
        var bench = try WorkerBench { $0.outgoingBytesMax = 1_100 }
        bench.serve()
        bench.announce()
        // Beside the announcement there is no room for it.
        bench.finishRun(body)
        bench.batchAppended()
        #expect(bench.takeSent() == [["announceAll 0 6"]] && bench.machine.outgoingBytes == 0)
        while bench.runs.isEmpty { bench.reachDeadline() }
        bench.finishRun("small")
        #expect(bench.takeSent() == [["small"]])
    }

    @Test func aResultThatIsTooLargeIsAnErrorOfItsLiveQuery() throws {
        var bench = try WorkerBench { $0.resultBytesMax = 10 }
        bench.serve()
        bench.batchAppended()
        _ = bench.takeSent()
        bench.announce()
        bench.finishRun("eleven bytes")
        #expect(bench.takeSent() == [[RequestError(.payloadTooLarge, "").code.rawValue]])
        #expect(bench.machine.resultsRead == 0)
    }
}
