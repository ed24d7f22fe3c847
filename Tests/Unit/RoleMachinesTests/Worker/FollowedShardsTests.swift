import LiveModel
import RoleMachines
import Sharding
import Streams
import Testing

/// Shards that nobody follows are marked, and serve nobody before the mark is gone.
@Suite struct FollowedShardsTests {
    private static let shard = ShardID(0)
    private static let unmarked = UnfollowedShards(areKnownToAll: true)
    private static let marked = UnfollowedShards(marked: [shard], areKnownToAll: true)

    /// A worker that serves an empty shard and makes no other calls.
    private func bench(afterMs: Int64 = 10_000) throws -> WorkerBench {
        var bench = try WorkerBench {
            $0.lease.ttlMs = 1_000_000
            $0.lease.renewMs = 1_000_000
            $0.eventsAgeMaxMs = 10_000_000
            $0.unfollowedAfterMs = afterMs
        }
        bench.serve()
        bench.list(unfollowed: Self.unmarked)
        bench.tick()
        bench.batchAppended()
        _ = bench.takeSent()
        return bench
    }

    private func markedBench() throws -> WorkerBench {
        var bench = try bench()
        bench.tick(afterMs: 10_000)
        bench.succeed()
        return bench
    }

    @Test func aShardWithoutLiveQueriesIsMarkedAfterAWhile() throws {
        var bench = try bench()
        bench.tick(afterMs: 9_999)
        #expect(bench.calls.isEmpty && bench.machine.unfollowedShardCount == 0)
        bench.tick(afterMs: 1)
        #expect(bench.calls == ["unfollowed:0 = yes"] && bench.machine.unfollowedShardCount == 1)
        bench.succeed()
        bench.tick(afterMs: 100_000)
        #expect(bench.calls.isEmpty)
    }

    @Test func aFollowedShardIsNotMarked() throws {
        var bench = try bench()
        bench.announce()
        #expect(bench.runs.count == 1)
        bench.tick(afterMs: 100_000)
        #expect(!bench.calls.contains { $0.hasPrefix("unfollowed") })
    }

    @Test(arguments: [0, 10_000] as [Int64])
    func noShardIsMarkedWhereThatIsOffOrAWorkerDoesNotKnowMarks(afterMs: Int64) throws {
        var bench = try bench(afterMs: afterMs)
        if afterMs > 0 { bench.list(unfollowed: UnfollowedShards()) }
        bench.tick(afterMs: 100_000)
        #expect(bench.calls.isEmpty)
    }

    @Test func nothingRunsBeforeTheMarkerIsAppendedAndTheMarkRemoved() throws {
        var bench = try markedBench()
        bench.announce()
        #expect(bench.calls == ["resync events 0"] && bench.runs.isEmpty)
        bench.announce(at: 2)
        #expect(bench.calls.count == 1)
        bench.succeed()
        #expect(bench.calls == ["unfollowed:0 = none"] && bench.runs.isEmpty)
        bench.succeed()
        #expect(bench.runs.map(\.items.count) == [1])
        bench.finishRun("now")
        #expect(bench.takeSent() == [["now"]])
        #expect(bench.machine.unfollowedShardCount == 0)
    }

    @Test func resultsFromBeforeRunAgain() throws {
        var bench = try bench()
        bench.readEvent(20)
        let known = KnownResult(
            digest: Digest(of: "old".utf8), position: Position(epoch: 6, run: 1, id: StreamID(ms: 20, sequence: 0)))
        bench.tick(afterMs: 10_000)
        while !bench.calls.isEmpty { bench.succeed() }
        bench.announce(known: known)
        bench.succeed()
        bench.succeed()
        #expect(bench.runs.map(\.items.count) == [1])
        bench.finishRun("old")
        #expect(bench.takeSent() == [["unchanged"]])
    }

    /// The next owner reads the marker among the last events.
    @Test(arguments: [true, false])
    func theMarkerEndsTrustInEarlierPositions(hasMarker: Bool) throws {
        var bench = try WorkerBench()
        bench.list()
        let marker = StreamEntry(
            id: StreamID(ms: 20, sequence: 0), fields: [(name: StreamField.resync, value: [UInt8]())])
        let last = hasMarker ? marker : StreamEntry(id: marker.id, fields: WorkerBench.unrelatedEvent(20).fields)
        while !bench.calls.isEmpty {
            switch bench.calls[0] {
            case "lastID events 0": bench.answer(.lastID(marker.id))
            case let call where call.hasPrefix("newest"):
                bench.answer(.entries([last, WorkerBench.unrelatedEvent(10)]))
            default: bench.succeed()
            }
        }
        bench.announce(
            known: KnownResult(
                digest: Digest(of: "old".utf8),
                position: Position(epoch: 1, run: 1, id: StreamID(ms: 10, sequence: 0))))
        bench.reachDeadline()
        #expect(bench.runs.count == (hasMarker ? 1 : 0))
    }

    @Test func aStepThatFailsIsRepeated() throws {
        var bench = try markedBench()
        bench.announce()
        bench.fail()
        #expect(bench.calls.isEmpty)
        bench.tick(afterMs: 500)
        #expect(bench.calls == ["resync events 0"])
        bench.succeed()
        bench.fail()
        bench.tick(afterMs: 500)
        #expect(bench.calls == ["unfollowed:0 = none"] && bench.runs.isEmpty)
        bench.succeed()
        #expect(bench.runs.count == 1)
    }

    /// Removed before it arrives, the mark would stay.
    @Test(arguments: [true, false])
    func aMarkInFlightIsAwaited(arrives: Bool) throws {
        var bench = try bench()
        bench.tick(afterMs: 10_000)
        bench.announce()
        #expect(bench.calls == ["unfollowed:0 = yes"] && bench.runs.isEmpty)
        if arrives { bench.succeed() } else { bench.fail() }
        #expect(bench.calls == ["resync events 0"])
    }

    @Test func aMarkThatMayBeMissingIsSetAgain() throws {
        var bench = try bench()
        bench.tick(afterMs: 10_000)
        bench.fail()
        bench.tick(afterMs: 9_999)
        #expect(bench.calls.isEmpty)
        bench.tick(afterMs: 1)
        #expect(bench.calls == ["unfollowed:0 = yes"])
        bench.succeed()
        // Deleted with the broker's data.
        bench.list(unfollowed: Self.unmarked)
        bench.tick(afterMs: 10_000)
        #expect(bench.calls == ["unfollowed:0 = yes"])
    }

    @Test func theNextOwnerFindsTheMark() throws {
        var bench = try WorkerBench()
        bench.list()
        while !bench.calls.isEmpty {
            if bench.calls[0] == "unfollowedShards" { bench.answer(.unfollowed([Self.shard])) } else { bench.succeed() }
        }
        bench.announce()
        #expect(bench.calls == ["resync events 0"] && bench.runs.isEmpty)
    }

    @Test func aMarkOfAFollowedShardIsRemovedAndEverythingRunsAgain() throws {
        var bench = try bench()
        bench.announce()
        bench.finishRun("before")
        bench.list(unfollowed: Self.marked)
        #expect(bench.calls == ["unfollowed:0 = none"])
        bench.list(unfollowed: Self.marked)
        #expect(bench.calls.count == 1)
        bench.succeed()
        #expect(bench.calls == ["resync events 0"])
        bench.fail()
        bench.tick(afterMs: 500)
        #expect(bench.calls == ["resync events 0"])
        bench.succeed()
        bench.list(unfollowed: Self.unmarked)
        bench.tick(afterMs: 100_000)
        #expect(!bench.calls.contains { $0.hasPrefix("resync") || $0.hasPrefix("unfollowed") })
    }

    @Test func aMarkOfAnEmptyShardIsTakenOver() throws {
        var bench = try bench()
        bench.list(unfollowed: Self.marked)
        #expect(bench.calls.isEmpty && bench.machine.unfollowedShardCount == 1)
        bench.announce()
        #expect(bench.calls == ["resync events 0"])
    }

    @Test func marksAreRemovedWhenAWorkerThatDoesNotKnowThemJoins() throws {
        var bench = try markedBench()
        bench.list(unfollowed: UnfollowedShards(marked: [Self.shard], areKnownToAll: false))
        #expect(bench.calls == ["resync events 0"])
        bench.succeed()
        #expect(bench.calls == ["unfollowed:0 = none"])
    }

    @Test func pastTheBoundGatewaysAnnounceAgain() throws {
        var bench = try markedBench()
        for ms in 1...1_030 { bench.announce(at: UInt64(ms)) }
        bench.succeed()
        bench.succeed()
        let sent = bench.takeSent().flatMap { $0 }
        #expect(sent == ["announceAll 0 6"] && bench.runs.count == 1)
    }

    @Test func anotherOwnersAnswersChangeNothing() throws {
        var bench = try bench()
        bench.tick(afterMs: 10_000)
        let marking = bench.postpone()
        bench.drain()
        while !bench.calls.isEmpty { bench.succeed() }
        bench.answerLate(marking)
        #expect(bench.calls.isEmpty && bench.machine.unfollowedShardCount == 0)
    }
}
