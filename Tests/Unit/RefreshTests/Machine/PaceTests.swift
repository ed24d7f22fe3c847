import JSON
import LiveModel
import Refresh
import Testing

/// Announcements that only a later run answers, live queries at two shards, and runs at a pace.
@Suite struct PaceTests {
    private func onM() throws -> QueryRules { RefreshFixture.rules([try RefreshFixture.trigger(nil)]) }

    private func known(_ number: Int) -> KnownResult {
        KnownResult(digest: RefreshFixture.digest(number), position: nil)
    }
    private func query(_ number: Int) -> LiveQuery { RefreshFixture.query("Q", ["n": .int(Int64(number))]) }

    // MARK: Fresh announcements

    @Test func aFreshAnnouncementRunsAlthoughTheOwnerHasTheSame() throws {
        var bench = Bench.settled(try onM())
        #expect(bench.announce(from: "g2", known: known(1)).summary == ["g2:unchanged"])
        let asked = bench.announce(
            from: "g3", known: known(1), announcement: AnnouncementID(number: 4, requiresFreshRun: true))
        #expect(asked.sent.isEmpty)
        let runs = asked.runs + bench.advance(20).runs
        #expect(runs.count == 1)
        let finished = bench.finish(runs[0], .unchanged)
        #expect(finished.summary == ["g3:unchanged"])
        guard case .unchanged(_, _, _, _, _, 4)? = finished.sent.first?.message else { return #expect(Bool(false)) }
    }

    @Test func aRunInFlightDoesNotAnswerAFreshAnnouncement() throws {
        var bench = Bench.settled(try onM())
        _ = bench.advance(1_000)
        let run = bench.event().runs[0]
        #expect(
            bench.announce(from: "g2", known: known(5), announcement: AnnouncementID(number: 8, requiresFreshRun: true))
                .isNothing)
        // A plain announcement of the same gateway, repeated, takes nothing back.
        #expect(bench.announce(from: "g2", known: known(5), announcement: AnnouncementID(number: 9)).isNothing)
        let finished = bench.finish(run, RefreshFixture.result(2))
        #expect(finished.summary == [#"g:result {"v":2}"#], "g2 may hold something newer")
        let again = finished.runs + bench.advance(20).runs
        #expect(again.count == 1)
        #expect(
            bench.finish(again[0], RefreshFixture.result(3)).summary == [#"g:result {"v":3}"#, #"g2:result {"v":3}"#])
    }

    @Test func aFreshAnnouncementIsNotAnsweredByPosition() throws {
        var bench = Bench(["Q": try onM()], isOwner: false)
        bench.acquire(history: [
            EventEntry(id: RefreshFixture.id(90), event: RefreshFixture.event("Other")),
            EventEntry(id: RefreshFixture.id(100), event: RefreshFixture.event("Other")),
        ])
        let position = Position(epoch: 5, run: 1, id: RefreshFixture.id(95))
        let held = KnownResult(digest: RefreshFixture.digest(1), position: position)
        #expect(bench.announce(known: held).summary == ["g:unchanged"])
        #expect(
            bench.announce(query(1), known: held, announcement: AnnouncementID(number: 1, requiresFreshRun: true)).runs
                .count == 1)
    }

    // MARK: Two shards

    @Test func oneLiveQueryAtTwoShardsOfOneWorkerIsTwo() throws {
        var bench = Bench.settled(try onM(), gateway: "old")
        let other = ShardID(1)
        bench.machine.shardAcquired(
            other, epoch: 3, lastEventID: RefreshFixture.id(5), history: [], nowMs: bench.nowMs)
        func tell(_ message: ControlMessage) -> Asked {
            Asked(bench.machine.controlArrived(other, message, nowMs: bench.nowMs))
        }
        let asked = tell(
            .announce(
                gateway: NodeID("old"), query: RefreshFixture.query(), known: known(1),
                announcement: AnnouncementID(number: 2, requiresFreshRun: true)))
        #expect(asked.runs.count == 1 && bench.machine.liveQueryCount == 2)
        let answer = bench.finish(asked.runs[0], .unchanged)
        #expect(answer.positions.map(\.epoch) == [3])
        // The withdrawal at the former shard, which comes after, leaves the new one alone.
        _ = bench.tell(.withdraw(gateway: NodeID("old"), key: RefreshFixture.query().key))
        #expect(bench.machine.liveQueryCount == 1)
        _ = bench.advance(1_000)
        #expect(bench.event().runs.isEmpty, "the former shard's events concern nobody")
        let events = bench.machine.eventsArrived(
            other, [EventEntry(id: RefreshFixture.id(6), event: RefreshFixture.event())], nowMs: bench.nowMs)
        #expect(Asked(events).runs.count == 1)
    }

    // MARK: The pace

    /// An owner with `count` live queries that all know a result, under a small pace.
    private func storm(_ count: Int, perSecond: Int, statements: Int = 1) throws -> (bench: Bench, runs: [RunBatch]) {
        var settings = RefreshSettings()
        (settings.runsMax, settings.firstRunsMax) = (4, 4)
        settings.batchMax = 10
        settings.pacedRunsPerSecond = perSecond
        settings.pacedStatementsMax = statements
        var bench = Bench(["Q": try onM(), "Cold": try onM()], settings: settings)
        var runs: [RunBatch] = []
        for number in 0..<count { runs += bench.announce(query(number), known: known(7)).runs }
        return (bench, runs)
    }

    @Test func reRunsAfterATakeOverKeepTheirPaceAndComeToAnEnd() throws {
        var (bench, flying) = try storm(100, perSecond: 50)
        var done = 0
        var perSecond: [Int] = []
        for _ in 0..<4 {
            let before = done
            for _ in 0..<10 {
                #expect(flying.count <= 1, "one statement at a time")
                while !flying.isEmpty {
                    let batch = flying.removeFirst()
                    done += batch.items.count
                    flying += bench.finish(batch, .unchanged).runs
                }
                flying += bench.advance(100).runs
            }
            perSecond.append(done - before)
        }
        #expect(perSecond.allSatisfy { $0 <= 60 }, "\(perSecond)")
        #expect(done == 100)
        #expect(bench.machine.takeOver.rerun == 100 && bench.machine.takeOver.announced == 100)
        #expect(bench.machine.pacedCount == 0)
    }

    @Test func eventsAndNewcomersGoFirst() throws {
        var (bench, flying) = try storm(60, perSecond: 10)
        // The pace is used up and 50 wait; a newcomer and an event are served at once.
        #expect(bench.announce(query(1_000), from: "new").runs.count == 1)
        let event = bench.event()
        let waiting = event.runs.reduce(0) { $0 + $1.items.count }
        #expect(waiting > 0 && bench.machine.pacedCount == 0, "the event concerns all: none waits for the pace")
        flying += event.runs
        _ = flying
    }

    @Test func oneStatementIsAlwaysAllowedToThoseWithoutACause() throws {
        var (bench, paced) = try storm(30, perSecond: 1_000_000)
        #expect(paced.count == 1)
        var flying: [RunBatch] = []
        for number in 0..<200 { flying += bench.announce(query(5_000 + number), from: "new").runs }
        #expect(flying.count == 3, "with the paced one that makes four")
        // However many newcomers wait, the next statement after the paced one ended is paced again.
        let next = bench.finish(paced[0], .unchanged).runs
        #expect(next.count == 1 && next[0].items.allSatisfy { $0.knownDigest == RefreshFixture.digest(7) })
        paced = next
    }

    @Test func lostEventsRunEverythingAtAPace() throws {
        var settings = RefreshSettings()
        settings.batchMax = 4
        settings.pacedRunsPerSecond = 4
        var bench = Bench(["Q": try onM()], settings: settings)
        var flying: [RunBatch] = []
        for number in 0..<20 { flying += bench.announce(query(number)).runs }
        while !flying.isEmpty { flying += bench.finish(flying.removeFirst(), RefreshFixture.result(1)).runs }
        _ = bench.advance(1_000)
        let asked = Asked(bench.machine.eventsLost(Bench.shard, lastEventID: bench.lastID, nowMs: bench.nowMs))
        #expect(asked.runs.map(\.items.count) == [4])
        #expect(bench.machine.takeOver.losses == 1 && bench.machine.pacedCount == 16)
        #expect(bench.machine.nextDeadlineMs != nil)
        // All live queries are withdrawn: nothing is left behind.
        for number in 0..<20 { _ = bench.tell(.withdraw(gateway: NodeID("g"), key: query(number).key)) }
        #expect(bench.machine.liveQueryCount == 0 && bench.machine.pacedCount == 0)
        let status = bench.machine.shardStatuses[0]
        #expect(status.due == 0 && status.running == 0 && status.waiting == 0 && status.paced == 0)
    }
}
