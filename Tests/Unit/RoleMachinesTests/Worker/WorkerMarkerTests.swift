import LiveModel
import RoleMachines
import Streams
import Testing

/// Markers reach a gateway's inbox after the results before them, or not at all.
@Suite struct WorkerMarkerTests {
    private static func marker(_ ms: UInt64) -> StreamEntry {
        let event = MutationEvent(markerDueAtMs: 10_000, id: "m", committedAtMs: 10_001)
        return StreamEntry(id: StreamID(ms: ms, sequence: 0), fields: [(name: "e", value: event.encoded)])
    }

    /// A worker that has sent the first result of one live query.
    private static func bench(_ change: (inout WorkerMachine.Settings) -> Void = { _ in }) throws -> WorkerBench {
        var bench = try WorkerBench {
            $0.unfollowedAfterMs = 0
            change(&$0)
        }
        bench.serve()
        if bench.appendCall != nil { bench.batchAppended() }
        bench.announce()
        bench.finishRun("first")
        bench.batchAppended()
        bench.nowMs += 1_000
        _ = bench.takeSent()
        return bench
    }

    private static func readMarker(_ bench: inout WorkerBench, _ ms: UInt64) {
        bench.read([StreamBatch(stream: bench.keys.events(shard: 0), entries: [marker(ms)])])
    }

    @Test func aMarkerFollowsTheResultInTheSameBatch() throws {
        var bench = try Self.bench()
        bench.readEvent(10)
        Self.readMarker(&bench, 11)
        #expect(bench.takeSent().isEmpty)
        bench.finishRun("second")
        #expect(bench.takeSent() == [["second", "marker 11-0"]])
    }

    @Test func aMarkerIsDroppedWhenAResultBeforeItWasNotAppended() throws {
        var bench = try Self.bench()
        bench.readEvent(10)
        bench.finishRun("second")
        #expect(bench.takeSent() == [["second"]])
        Self.readMarker(&bench, 11)
        bench.batchAppended(problem: "cut off")
        #expect(bench.takeSent().isEmpty, "the gateway may lack the result")
        Self.readMarker(&bench, 12)
        #expect(bench.takeSent().isEmpty)
        bench.reachDeadline()
        bench.finishRun("second")
        #expect(bench.takeSent() == [["second", "marker 12-0"]])
    }

    @Test func aMarkerIsHeldBackWhenAResultDidNotFit() throws {
        var bench = try Self.bench { $0.outgoingBytesMax = 2_000 }
        bench.readEvent(10)
        Self.readMarker(&bench, 11)
        bench.finishRun(String(repeating: "x", count: 3_000))
        #expect(bench.takeSent().isEmpty)
        bench.reachDeadline()
        bench.finishRun("small")
        #expect(bench.takeSent() == [["small", "marker 11-0"]])
    }

    @Test func withoutInterestNothingIsSent() throws {
        var bench = try WorkerBench { $0.unfollowedAfterMs = 0 }
        bench.serve()
        if bench.appendCall != nil { bench.batchAppended() }
        _ = bench.takeSent()
        Self.readMarker(&bench, 11)
        #expect(bench.takeSent().isEmpty)
    }
}
