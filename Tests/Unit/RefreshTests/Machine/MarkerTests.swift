import JSON
import LiveModel
import Refresh
import Testing

/// A marker passes when no live query owes a result that an event before it changed.
@Suite struct MarkerTests {
    private static let marker = MutationEvent(markerDueAtMs: 10_000, id: "m", committedAtMs: 10_003)

    private static func bench(settings: RefreshSettings = .init()) throws -> Bench {
        var bench = try Bench.settled(RefreshFixture.rules([RefreshFixture.trigger(nil)]), settings: settings)
        bench.machine.gatewaysListed([NodeID("g"), NodeID("h"), NodeID("former")])
        return bench
    }

    /// Reads a marker.
    /// - Returns: the markers that passed.
    private func marker(_ bench: inout Bench) -> [String] {
        _ = bench.event(Self.marker)
        return passed(&bench)
    }

    private func passed(_ bench: inout Bench) -> [String] {
        Asked(bench.machine.markersDue(nowMs: bench.nowMs)).summary
    }

    @Test func aMarkerWithoutAnEventBeforePassesAtOnce() throws {
        var bench = try Self.bench()
        bench.nowMs = 1_002_500
        _ = bench.event(Self.marker)
        let actions = bench.machine.markersDue(nowMs: 1_002_600)
        guard case .send(let gateway, .marker(let shard, let epoch, let marker))? = actions.first else {
            return #expect(Bool(false), "\(actions)")
        }
        #expect(actions.count == 1 && gateway == NodeID("g") && shard == Bench.shard && epoch == Bench.epoch)
        let expected = LagMarker(
            dueMs: 10_000, committedAtMs: 10_003, entry: bench.lastID, readAtMs: 1_002_500, passedAtMs: 1_002_600)
        #expect(marker == expected && marker.appendedAtMs == Int64(bench.lastID.ms))
        #expect(passed(&bench).isEmpty, "it passes once")
    }

    @Test func aMarkerWaitsForTheRunThatAnEventBeforeItCaused() throws {
        var bench = try Self.bench()
        let caused = bench.event()
        #expect(marker(&bench).isEmpty)
        _ = bench.finish(caused.runs[0], RefreshFixture.result(2))
        #expect(passed(&bench) == ["g:marker 100-2"])
    }

    @Test func aMarkerDoesNotWaitForEventsAfterIt() throws {
        var bench = try Self.bench()
        let caused = bench.event()
        #expect(marker(&bench).isEmpty)
        _ = bench.event()
        _ = bench.finish(caused.runs[0], RefreshFixture.result(2))
        #expect(passed(&bench) == ["g:marker 100-2"], "the second run is for an event after the marker")
    }

    @Test func anEventDuringARunNeedsTheNextRun() throws {
        var bench = try Self.bench()
        let first = bench.event()
        _ = bench.event()
        #expect(marker(&bench).isEmpty)
        _ = bench.finish(first.runs[0], RefreshFixture.result(2))
        #expect(passed(&bench).isEmpty, "the run began before the second event")
        let second = bench.advance(1_000)
        _ = bench.finish(try #require(second.runs.first), .unchanged)
        #expect(passed(&bench) == ["g:marker 100-3"])
    }

    @Test func eachMarkerWaitsForItsOwnEvents() throws {
        var bench = try Self.bench()
        let first = bench.event()
        _ = marker(&bench)
        _ = bench.event()
        _ = marker(&bench)
        _ = bench.finish(first.runs[0], RefreshFixture.result(2))
        #expect(passed(&bench) == ["g:marker 100-2"])
        _ = bench.finish(try #require(bench.advance(1_000).runs.first), RefreshFixture.result(3))
        #expect(passed(&bench) == ["g:marker 100-4"])
    }

    @Test func timersDoNotDelayAMarker() throws {
        var bench = Bench(["Q": RefreshFixture.rules(everyMs: 10_000)])
        bench.machine.gatewaysListed([NodeID("g")])
        _ = bench.finish(bench.announce().runs[0], RefreshFixture.result(1))
        let timer = bench.advance(10_000)
        #expect(timer.runs.count == 1)
        #expect(marker(&bench).count == 1)
    }

    @Test func aFirstRunDoesNotDelayAMarker() throws {
        var bench = try Self.bench()
        #expect(bench.announce(RefreshFixture.query("Q", ["a": 1])).runs.count == 1)
        #expect(marker(&bench).count == 1)
    }

    @Test func aRunThatIsRepeatedIsWaitedFor() throws {
        var bench = try Self.bench()
        let caused = bench.event()
        _ = marker(&bench)
        _ = bench.finish(caused.runs[0], .failed(RequestError(.unavailable, "away")))
        #expect(passed(&bench).isEmpty)
        let again = bench.advance(60_000)
        _ = bench.finish(try #require(again.runs.first), RefreshFixture.result(2))
        #expect(passed(&bench).count == 1)
    }

    @Test func aTransientErrorInAnswerToAnAnnouncementIsNoResult() throws {
        var bench = try Self.bench()
        let query = RefreshFixture.query("Q", ["a": 1])
        let known = KnownResult(digest: RefreshFixture.digest(1), position: nil)
        let announced = bench.announce(query, known: known)
        let answer = bench.finish(announced.runs[0], .failed(RequestError(.unavailable, "away")))
        #expect(answer.summary.count == 1)
        #expect(marker(&bench).isEmpty, "the gateway may hold a result that an event changed")
        for batch in bench.advance(60_000).runs { _ = bench.finish(batch, RefreshFixture.result(2)) }
        #expect(passed(&bench).count == 1)
    }

    @Test func anErrorThatLooksFinalIsAnAnswer() throws {
        var bench = try Self.bench()
        let caused = bench.event()
        _ = marker(&bench)
        let answer = bench.finish(caused.runs[0], .failed(RequestError(.badRequest, "no such table")))
        #expect(answer.summary.count == 1)
        #expect(passed(&bench).count == 1)
    }

    @Test func aLossOfEventsConcernsMarkersThatWait() throws {
        var bench = try Self.bench()
        let other = bench.announce(RefreshFixture.query("Q", ["a": 1]))
        _ = bench.finish(other.runs[0], RefreshFixture.result(1))
        _ = bench.advance(1_000)
        let caused = bench.event()
        _ = marker(&bench)
        let lost = Asked(bench.machine.eventsLost(Bench.shard, lastEventID: bench.lastID, nowMs: bench.nowMs))
        for batch in caused.runs + lost.runs { _ = bench.finish(batch, RefreshFixture.result(2)) }
        #expect(passed(&bench).isEmpty, "a lost event may be from before the marker")
        for _ in 0..<3 {
            for batch in bench.advance(1_000).runs { _ = bench.finish(batch, RefreshFixture.result(3)) }
        }
        #expect(passed(&bench).count == 1)
    }

    @Test func aResultThatWasNotSentIsOwed() throws {
        var bench = try Self.bench()
        let other = bench.announce(RefreshFixture.query("Q", ["a": 1]))
        _ = bench.finish(other.runs[0], RefreshFixture.result(1))
        _ = bench.advance(1_000)
        let caused = bench.event()
        _ = marker(&bench)
        let batches = caused.runs.flatMap(\.items).count
        #expect(batches == 2)
        for batch in caused.runs { _ = bench.finish(batch, RefreshFixture.result(2)) }
        bench.machine.sendFailed(NodeID("g"), [RefreshFixture.query().key], nowMs: bench.nowMs)
        #expect(passed(&bench).isEmpty)
        for batch in bench.advance(60_000).runs { _ = bench.finish(batch, RefreshFixture.result(2)) }
        #expect(passed(&bench).count == 1)
    }

    @Test func aLiveQueryThatEndsIsNotWaitedFor() throws {
        var bench = try Self.bench()
        _ = bench.announce(RefreshFixture.query("Q", ["a": 1]))
        _ = bench.event()
        _ = marker(&bench)
        _ = bench.tell(.withdraw(gateway: NodeID("g"), key: RefreshFixture.query().key))
        _ = bench.tell(.withdraw(gateway: NodeID("g"), key: RefreshFixture.query("Q", ["a": 1]).key))
        #expect(passed(&bench).isEmpty, "nobody is left to get it")
        _ = bench.announce()
        #expect(marker(&bench).count == 1)
    }

    /// Its interest may be forgotten here; it is asked for it when it is listed again.
    @Test func aGatewayThatIsNotListedGetsNone() throws {
        var bench = try Self.bench()
        bench.machine.gatewaysListed([NodeID("h")])
        #expect(marker(&bench).isEmpty)
        bench.machine.gatewaysListed([NodeID("g")])
        #expect(marker(&bench) == ["g:marker 100-2"])
    }

    @Test func onlyGatewaysThatTakeMarkersGetThem() throws {
        var bench = try Self.bench()
        _ = bench.announce(from: "former", announcement: AnnouncementID(takesMarkers: false))
        _ = bench.announce(from: "h")
        #expect(marker(&bench) == ["g:marker 100-1", "h:marker 100-1"])
        bench.machine.gatewayGone(NodeID("h"))
        #expect(marker(&bench) == ["g:marker 100-2"])
    }

    @Test func markersThatWaitAreBounded() throws {
        var bench = try Self.bench()
        let caused = bench.event()
        for _ in 0..<40 { _ = marker(&bench) }
        _ = bench.finish(caused.runs[0], RefreshFixture.result(2))
        let passed = passed(&bench)
        #expect(passed.count == 16 && passed.last == "g:marker 100-41", "the newest takes the place of the last")
    }

    @Test func markersAreNotRememberedAsEvents() throws {
        var bench = try Self.bench()
        _ = marker(&bench)
        #expect(bench.machine.historyCountMax == 0)
        #expect(bench.machine.shardReports.first?.events == 0)
        #expect(bench.machine.lastEventID(of: Bench.shard) == bench.lastID)
    }

    @Test func aLostShardPassesNone() throws {
        var bench = try Self.bench()
        let caused = bench.event()
        _ = marker(&bench)
        bench.machine.shardLost(Bench.shard)
        _ = bench.finish(caused.runs[0], RefreshFixture.result(2))
        #expect(passed(&bench).isEmpty)
    }
}
