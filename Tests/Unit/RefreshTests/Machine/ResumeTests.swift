import JSON
import LiveModel
import Refresh
import Testing

/// Results that a gateway or client already holds: no run if no relevant event happened since, a run at any doubt.
@Suite struct ResumeTests {
    private static let other = RefreshFixture.event("Other")

    private func onM() throws -> QueryRules {
        RefreshFixture.rules([try RefreshFixture.trigger(nil)], keys: [RefreshFixture.key("1")])
    }

    private func position(_ id: StreamID, epoch: UInt64 = 3, run: UInt64 = 4) -> Position {
        Position(epoch: epoch, run: run, id: id)
    }

    private func known(_ position: Position?) -> KnownResult {
        KnownResult(digest: RefreshFixture.digest(1), position: position)
    }

    /// A new owner that knows ids 90…100 of the stream.
    private func owner(
        _ events: [UInt64: MutationEvent] = [:], rules: QueryRules? = nil, settings: RefreshSettings = .init()
    ) throws -> Bench {
        var bench = Bench(["Q": try rules ?? onM()], settings: settings, isOwner: false)
        bench.acquire(
            history: (90...100).map { EventEntry(id: RefreshFixture.id($0), event: events[$0] ?? Self.other) })
        return bench
    }

    @Test func nothingRelevantSinceCostsNoRun() throws {
        for id: UInt64 in [90, 95, 100] {
            var bench = try owner([90: RefreshFixture.event("M")])
            let asked = bench.announce(known: known(position(RefreshFixture.id(id))))
            #expect(asked.runs.isEmpty && asked.summary == ["g:unchanged"], "id \(id)")
            // Ranks as what was read then, and is fresh up to now.
            #expect(asked.positions == [position(RefreshFixture.id(100))])
            #expect(bench.event(RefreshFixture.event("M")).runs[0].items[0].knownDigest == RefreshFixture.digest(1))
        }
    }

    @Test func nothingFromBeforeAnotherServerIsBelieved() throws {
        for (trusted, runs) in [
            (position(RefreshFixture.id(95)).epoch, 0), (position(RefreshFixture.id(95)).epoch + 1, 1),
        ] {
            var bench = try owner()
            bench.acquire(
                history: (90...100).map { EventEntry(id: RefreshFixture.id($0), event: Self.other) },
                trustedEpoch: trusted)
            #expect(bench.announce(known: known(position(RefreshFixture.id(95)))).runs.count == runs)
        }
    }

    @Test func somethingRelevantSinceRunsWithTheKnownDigest() throws {
        for event in [RefreshFixture.event("M"), RefreshFixture.event("Other", keys: [RefreshFixture.key("1")])] {
            var bench = try owner([96: event])
            let asked = bench.announce(known: known(position(RefreshFixture.id(95))))
            #expect(asked.runs.first?.items.first?.knownDigest == RefreshFixture.digest(1))
            #expect(bench.finish(asked.runs[0], .unchanged).summary == ["g:unchanged"])
        }
    }

    @Test func resultsInDoubtAreRunAgain() throws {
        let doubts: [(String, Position?)] = [
            ("content only", nil), ("after the stream's end", position(RefreshFixture.id(101))),
            ("a later epoch", position(RefreshFixture.id(95), epoch: 8)),
        ]
        for (why, position) in doubts {
            var bench = try owner()
            #expect(bench.announce(known: known(position)).runs.count == 1, "\(why)")
        }
    }

    /// A result that a former owner read later, of a commit whose event was yet to come, stays newer.
    @Test func aFreshAnswerDoesNotOutrankLaterReads() throws {
        var bench = try owner()
        let asked = bench.announce(known: known(position(RefreshFixture.id(95), run: 4)))
        #expect(asked.positions[0] < position(RefreshFixture.id(95), run: 5))
        // The same content, read later: a gateway that holds it gets no message about the earlier reading.
        let later = bench.announce(from: "h", known: known(position(RefreshFixture.id(95), run: 6)))
        #expect(later.positions == [position(RefreshFixture.id(100), run: 6)])
    }

    @Test func aForgedRankIsNotPassedOn() throws {
        var bench = try owner()
        let asked = bench.announce(known: known(position(RefreshFixture.id(95))))
        #expect(asked.summary == ["g:unchanged"])
        for forged in [
            position(RefreshFixture.id(95), epoch: .max),
            position(RefreshFixture.id(95), epoch: Bench.epoch, run: .max),
        ] {
            #expect(bench.announce(known: known(forged)).positions == asked.positions)
        }
        var other = try owner()
        let forged = position(RefreshFixture.id(95), epoch: Bench.epoch, run: .max)
        #expect(other.announce(known: known(forged)).runs.count == 1)
    }

    @Test func liveQueriesWithAnIntervalRunAtOnce() throws {
        var bench = try owner(rules: RefreshFixture.rules(everyMs: 60_000))
        #expect(bench.announce(known: known(position(RefreshFixture.id(99)))).runs.count == 1)
    }

    @Test func theHistoryIsBounded() throws {
        var settings = RefreshSettings()
        settings.historyMax = 4
        var bench = try owner(settings: settings)
        func announce(_ number: Int, at id: UInt64) -> [String] {
            bench.announce(
                RefreshFixture.query("Q", ["n": .int(Int64(number))]), known: known(position(RefreshFixture.id(id)))
            ).summary
        }
        // Events 97 to 100 tell of everything after 96.
        #expect(announce(1, at: 97) == ["g:unchanged"] && announce(2, at: 96) == ["g:unchanged"])
        #expect(announce(3, at: 95).isEmpty)
        for _ in 0..<4 { _ = bench.event(Self.other) }
        #expect(announce(4, at: 99).isEmpty && announce(5, at: 100) == ["g:unchanged"])
        #expect(bench.machine.historyCountMax == 4)
    }

    @Test func anUnreadableEventRunsEverythingAndEndsTheHistory() throws {
        var bench = try owner()
        _ = bench.announce(known: known(position(RefreshFixture.id(95))))
        #expect(bench.event(nil).runs.count == 1)
        let late = bench.announce(RefreshFixture.query("Q", ["n": 1]), known: known(position(RefreshFixture.id(95))))
        #expect(late.sent.isEmpty && bench.machine.pacedCount == 1, "nobody knows what the unreadable event meant")
        let fresh = bench.announce(
            RefreshFixture.query("Q", ["n": 2]), known: known(position(bench.lastID, epoch: Bench.epoch, run: 1)))
        #expect(fresh.summary == ["g:unchanged"])
    }

    @Test func lostEventsRunEverythingAndEndTheHistory() throws {
        var bench = try owner()
        _ = bench.announce(known: known(position(RefreshFixture.id(95))))
        let asked = Asked(
            bench.machine.eventsLost(Bench.shard, lastEventID: RefreshFixture.id(100), nowMs: bench.nowMs))
        #expect(asked.runs.count == 1)
        // Read before the loss: at 100, what was lost came after.
        let late = bench.announce(RefreshFixture.query("Q", ["n": 1]), known: known(position(RefreshFixture.id(100))))
        #expect(late.sent.isEmpty && bench.machine.pacedCount == 1, "it runs after the other first run")
    }

    @Test func aStreamThatStartsOverEndsTheHistory() throws {
        var bench = try owner()
        _ = bench.machine.eventsLost(Bench.shard, lastEventID: .zero, nowMs: bench.nowMs)
        bench.lastID = RefreshFixture.id(200)
        _ = bench.event(Self.other)
        let asked = bench.announce(RefreshFixture.query("Q", ["n": 1]), known: known(position(RefreshFixture.id(99))))
        #expect(asked.runs.count == 1)
    }

    @Test func anEmptyStreamJudgesNothingBeforeItsFirstEvent() throws {
        var bench = Bench(["Q": try onM()], isOwner: false)
        bench.lastID = .zero
        bench.acquire()
        bench.lastID = RefreshFixture.id(200)
        _ = bench.event(Self.other)
        #expect(bench.announce(known: known(position(RefreshFixture.id(99)))).runs.count == 1)
        let here = position(bench.lastID, epoch: Bench.epoch, run: 1)
        #expect(bench.announce(RefreshFixture.query("Q", ["n": 1]), known: known(here)).summary == ["g:unchanged"])
    }

    @Test func entriesSeenBeforeAreSkipped() throws {
        var bench = Bench.settled(try onM())
        let old = bench.machine.eventsArrived(
            Bench.shard, [99, 100].map { EventEntry(id: RefreshFixture.id($0), event: RefreshFixture.event()) },
            nowMs: bench.nowMs)
        #expect(Asked(old).isNothing)
        #expect(bench.machine.lastEventID(of: Bench.shard) == RefreshFixture.id(100))
    }
}
