import JSON
import LiveModel
import Refresh
import SeededRandom
import Testing

/// Results that a gateway holds from before the remembered events are judged by the events that the stream still has.
@Suite struct ReplayTests {
    private static let names = (0..<8).map { "Q\($0)" }
    private static let other = RefreshFixture.event("Other")

    private static func touching(_ number: Int) -> MutationEvent {
        RefreshFixture.event("Other", keys: [RefreshFixture.key("\(number)")])
    }

    /// A new owner that remembers ids 90…100; `Qn` looks up the row `n`.
    private static func owner(_ change: (inout RefreshSettings) -> Void = { _ in }) -> Bench {
        var settings = RefreshSettings()
        settings.replayPageMax = 4
        (settings.runsMax, settings.pacedStatementsMax) = (100, 100)
        change(&settings)
        let rules = names.enumerated().map { ($1, RefreshFixture.rules(keys: [RefreshFixture.key("\($0)")])) }
        var bench = Bench(Dictionary(uniqueKeysWithValues: rules), settings: settings, isOwner: false)
        bench.acquire(history: (90...100).map { EventEntry(id: RefreshFixture.id($0), event: other) })
        return bench
    }

    private static func known(_ id: UInt64, run: UInt64 = 4) -> KnownResult {
        KnownResult(
            digest: RefreshFixture.digest(1), position: Position(epoch: 3, run: run, id: RefreshFixture.id(id)))
    }

    private static func announce(_ number: Int, at id: UInt64, from gateway: String = "g", to bench: inout Bench)
        -> Asked
    {
        bench.announce(RefreshFixture.query(names[number]), from: gateway, known: known(id))
    }

    /// The entries of the page in a stream that has the ids `first...`, those of `events` and others.
    private static func read(
        _ page: ReplayPage, first: UInt64, events: [UInt64: MutationEvent?] = [:]
    ) -> [EventEntry] {
        (first...100).reversed().lazy.filter { RefreshFixture.id($0) < page.before }.prefix(page.limit).map {
            EventEntry(id: RefreshFixture.id($0), event: events[$0] ?? other)
        }
    }

    /// Answers pages until none is asked for.
    private static func judge(
        _ bench: inout Bench, first: UInt64, events: [UInt64: MutationEvent?] = [:]
    ) -> (sent: [String], runs: [RunBatch], pages: Int) {
        var (sent, runs, pages): ([String], [RunBatch], Int) = ([], [], 0)
        var asked = bench.advance(RefreshSettings().replayGatherMs)
        while true {
            sent += asked.summary
            runs += asked.runs
            guard let page = asked.pages.first else { return (sent, runs, pages) }
            #expect(asked.pages.count == 1)
            pages += 1
            asked = Asked(bench.machine.replayRead(page, read(page, first: first, events: events), nowMs: bench.nowMs))
        }
    }

    private static func operations(_ runs: [RunBatch]) -> [String] { runs.map(\.operation.operation).sorted() }

    @Test func untouchedQueriesAreKeptAndTheOthersRun() {
        var bench = Self.owner()
        for (number, id): (Int, UInt64) in [(0, 80), (1, 85), (2, 70), (3, 95)] {
            let asked = Self.announce(number, at: id, to: &bench)
            #expect(asked.summary == (id == 95 ? ["g:unchanged"] : []) && asked.runs.isEmpty)
        }
        let judged = Self.judge(
            &bench, first: 50, events: [84: Self.touching(0), 85: Self.touching(1), 71: Self.touching(1)])
        #expect(judged.sent == ["g:unchanged", "g:unchanged"] && Self.operations(judged.runs) == ["Q0"])
        // 90 to 70, four at a time.
        #expect(judged.pages == 6)
        let counts = bench.machine.takeOver
        #expect(counts.announced == 4 && counts.kept == 3 && counts.rerun == 1 && counts.replayed == 11 + 24)
    }

    @Test func keptResultsKeepTheirRankAndAreFresh() {
        var bench = Self.owner()
        for number in 0..<3 { _ = Self.announce(number, at: 88, to: &bench) }
        let page = bench.advance(50).pages[0]
        let kept = Asked(bench.machine.replayRead(page, Self.read(page, first: 1), nowMs: bench.nowMs))
        #expect(kept.positions == Array(repeating: Position(epoch: 3, run: 4, id: RefreshFixture.id(100)), count: 3))
        #expect(bench.event(Self.touching(1)).runs.map(\.operation.operation) == ["Q1"])
    }

    @Test func pastTheBeginningOfTheStreamEverythingRuns() {
        var bench = Self.owner()
        for (number, id): (Int, UInt64) in [(0, 80), (1, 85), (2, 79)] { _ = Self.announce(number, at: id, to: &bench) }
        // The entry of the position itself must be there still.
        let judged = Self.judge(&bench, first: 80)
        #expect(judged.sent.count == 2 && Self.operations(judged.runs) == ["Q2"])
    }

    @Test func noMoreIsReadThanThatManyRunsCost() {
        var bench = Self.owner {
            $0.replayPerRun = 5
            $0.replayMax = 12
        }
        for (number, id): (Int, UInt64) in [(0, 87), (1, 60), (2, 61)] { _ = Self.announce(number, at: id, to: &bench) }
        let judged = Self.judge(&bench, first: 1)
        #expect(judged.pages == 3 && judged.sent.count == 1 && Self.operations(judged.runs) == ["Q1", "Q2"])
        var few = Self.owner { $0.replayPerRun = 3 }
        _ = Self.announce(0, at: 87, to: &few)
        let alone = Self.judge(&few, first: 1)
        #expect(alone.pages == 0 && Self.operations(alone.runs) == ["Q0"], "a run is cheaper than a page")
    }

    @Test func queriesRunIfTheReplayCannotBeRead() {
        for isPageLost in [true, false] {
            var bench = Self.owner()
            for (number, id): (Int, UInt64) in [(0, 88), (1, 80)] { _ = Self.announce(number, at: id, to: &bench) }
            let page = bench.advance(50).pages[0]
            let entries = isPageLost ? nil : Self.read(page, first: 1, events: [88: MutationEvent?.none])
            let asked = Asked(bench.machine.replayRead(page, entries, nowMs: bench.nowMs))
            #expect(asked.pages.isEmpty)
            #expect(Self.operations(asked.runs) == (isPageLost ? ["Q0", "Q1"] : ["Q1"]))
        }
    }

    @Test func anEventMeanwhileRunsItOnce() {
        var bench = Self.owner()
        for number in 0..<2 { _ = Self.announce(number, at: 85, to: &bench) }
        let page = bench.advance(50).pages[0]
        #expect(Self.operations(bench.event(Self.touching(0)).runs) == ["Q0"])
        let asked = Asked(
            bench.machine.replayRead(
                page, Self.read(page, first: 1, events: [89: Self.touching(0)]), nowMs: bench.nowMs))
        #expect(asked.runs.isEmpty && asked.pages.count == 1)
        let rest = Asked(
            bench.machine.replayRead(asked.pages[0], Self.read(asked.pages[0], first: 1), nowMs: bench.nowMs))
        #expect(rest.summary == ["g:unchanged"] && rest.runs.isEmpty)
    }

    @Test func announcementsDuringAReplayWaitForTheNext() {
        var bench = Self.owner()
        _ = Self.announce(0, at: 85, to: &bench)
        let page = bench.advance(50).pages[0]
        #expect(Self.announce(1, at: 89, to: &bench).isNothing)
        #expect(bench.advance(50).isNothing)
        var asked = Asked(bench.machine.replayRead(page, Self.read(page, first: 1), nowMs: bench.nowMs))
        asked = Asked(
            bench.machine.replayRead(asked.pages[0], Self.read(asked.pages[0], first: 1), nowMs: bench.nowMs))
        #expect(asked.summary == ["g:unchanged"], "of the first")
        // From the end again: what stands between 89 and the history was not looked at for the second.
        let again = asked.pages[0]
        #expect(again.before > RefreshFixture.id(90))
        let last = Asked(
            bench.machine.replayRead(
                again, Self.read(again, first: 1, events: [90: Self.touching(1)]), nowMs: bench.nowMs))
        #expect(Self.operations(last.runs) == ["Q1"] && last.pages.isEmpty)
    }

    @Test func anotherGatewayWithTheSameIsAnsweredToo() {
        var bench = Self.owner()
        _ = Self.announce(0, at: 85, to: &bench)
        let later = KnownResult(
            digest: RefreshFixture.digest(1), position: Position(epoch: 3, run: 9, id: RefreshFixture.id(86)))
        #expect(bench.announce(RefreshFixture.query(Self.names[0]), from: "h", known: later).isNothing)
        let page = bench.advance(50).pages[0]
        let asked = Asked(bench.machine.replayRead(page, Self.read(page, first: 1), nowMs: bench.nowMs))
        let rest = Asked(
            bench.machine.replayRead(asked.pages[0], Self.read(asked.pages[0], first: 1), nowMs: bench.nowMs))
        #expect(rest.summary == ["g:unchanged", "h:unchanged"])
        #expect(
            rest.positions.allSatisfy { $0.run == 9 }, "a gateway with the later reading does not get the earlier one")
    }

    @Test func anotherGatewayWithoutItMakesItRun() {
        var bench = Self.owner()
        _ = Self.announce(0, at: 85, to: &bench)
        let asked = bench.announce(RefreshFixture.query(Self.names[0]), from: "h")
        #expect(asked.runs.count == 1)
        #expect(bench.finish(asked.runs[0], RefreshFixture.result(1)).summary == ["g:unchanged", #"h:result {"v":1}"#])
        #expect(Self.judge(&bench, first: 1).runs.isEmpty)
    }

    @Test func queriesRunIfEventsAreLostDuringAReplay() {
        var bench = Self.owner()
        for number in 0..<2 { _ = Self.announce(number, at: 85, to: &bench) }
        let page = bench.advance(50).pages[0]
        let lost = Asked(bench.machine.eventsLost(Bench.shard, lastEventID: RefreshFixture.id(100), nowMs: bench.nowMs))
        #expect(Self.operations(lost.runs) == ["Q0", "Q1"])
        #expect(Asked(bench.machine.replayRead(page, Self.read(page, first: 1), nowMs: bench.nowMs)).isNothing)
        // Nor is anything from before judged by the stream any more.
        #expect(Self.announce(2, at: 85, to: &bench).runs.count == 1)
    }

    @Test func aLiveQueryWithdrawnDuringTheReplayIsForgotten() {
        var bench = Self.owner()
        for number in 0..<2 { _ = Self.announce(number, at: 85, to: &bench) }
        let page = bench.advance(50).pages[0]
        _ = bench.tell(.withdraw(gateway: NodeID("g"), key: RefreshFixture.query(Self.names[0]).key))
        #expect(bench.machine.liveQueryCount == 1)
        var asked = Asked(bench.machine.replayRead(page, Self.read(page, first: 1), nowMs: bench.nowMs))
        asked = Asked(
            bench.machine.replayRead(asked.pages[0], Self.read(asked.pages[0], first: 1), nowMs: bench.nowMs))
        #expect(asked.summary == ["g:unchanged"] && asked.runs.isEmpty)
        bench.machine.shardLost(Bench.shard)
        #expect(bench.machine.nextDeadlineMs == nil)
    }

    @Test func nothingIsReadForThoseWhoAreGone() {
        var bench = Self.owner()
        for number in 0..<4 { _ = Self.announce(number, at: 60, to: &bench) }
        let page = bench.advance(50).pages[0]
        // One leaves, one is touched, two are announced by a gateway without their results.
        _ = bench.tell(.withdraw(gateway: NodeID("g"), key: RefreshFixture.query(Self.names[0]).key))
        _ = bench.event(Self.touching(1))
        for number in 2..<4 { _ = bench.announce(RefreshFixture.query(Self.names[number]), from: "h") }
        let asked = Asked(bench.machine.replayRead(page, Self.read(page, first: 1), nowMs: bench.nowMs))
        #expect(asked.pages.isEmpty)
        // A subscriber that comes and goes while a page is read does not count afterwards.
        var few = Self.owner { $0.replayPerRun = 2 }
        for number in 0..<8 {
            _ = Self.announce(number, at: 60, to: &few)
            if number > 0 {
                _ = few.tell(.withdraw(gateway: NodeID("g"), key: RefreshFixture.query(Self.names[number]).key))
            }
        }
        let alone = few.advance(50)
        #expect(alone.pages.isEmpty && Self.operations(alone.runs) == ["Q0"])
    }

    @Test func theBytesOfTheHistoryAreBounded() {
        var settings = RefreshSettings()
        settings.historyBytesMax = 1_000
        var bench = Bench([:], settings: settings, isOwner: false)
        bench.acquire(
            history: (90...100).map { EventEntry(id: RefreshFixture.id($0), event: Self.other, byteCount: 300) })
        #expect(bench.machine.historyCountMax == 3)
        _ = bench.machine.eventsArrived(
            Bench.shard, [EventEntry(id: RefreshFixture.id(101), event: Self.other, byteCount: 900)], nowMs: bench.nowMs
        )
        #expect(bench.machine.historyCountMax == 1)
    }

    /// Compares with a model that looks at every event.
    @Test(arguments: 0..<40) func exactlyTheTouchedLiveQueriesRun(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let first = UInt64.random(in: 30...75, using: &random)
        var events: [UInt64: MutationEvent?] = [:]
        for id in first..<90 where Int.random(in: 0..<6, using: &random) == 0 {
            events[id] = Self.touching(Int.random(in: 0..<Self.names.count, using: &random))
        }
        let unreadable = Bool.random(using: &random) ? UInt64.random(in: first..<90, using: &random) : 0
        if unreadable > 0 { events.updateValue(nil, forKey: unreadable) }
        var bench = Self.owner {
            $0.replayPageMax = Int.random(in: 1...9, using: &random)
            $0.replayPerRun = 1_000
        }
        let positions = Self.names.map { _ in UInt64.random(in: 25...92, using: &random) }
        for (number, id) in positions.enumerated() { _ = Self.announce(number, at: id, to: &bench) }
        let judged = Self.judge(&bench, first: first, events: events)
        let touched = Self.names.indices.filter { number in
            let id = positions[number]
            if id >= 90 { return false }
            return id < first || id < unreadable
                || events.contains { at, event in
                    at > id && event?.keysWritten.contains(RefreshFixture.key("\(number)")) == true
                }
        }
        #expect(Self.operations(judged.runs) == touched.map { Self.names[$0] }, "seed \(seed)")
        #expect(judged.sent.count == positions.filter { $0 < 90 }.count - touched.count, "seed \(seed)")
    }
}
