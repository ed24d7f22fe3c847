import JSON
import LiveModel
import Refresh
import Testing

/// Live queries of nested lists: which rows concern them is known from the last run.
@Suite struct BoundRowsTests {
    private static let site = RowSite(
        id: .init(operation: RefreshFixture.operation("Q"), version: RefreshFixture.version, number: 0), table: "bid",
        guardFields: [], boundField: "lotId", fields: nil)

    private static func rules() -> QueryRules {
        var rules = RefreshFixture.rules([], variables: [:])
        rules.automatic = AutomaticRules(sites: [.init(form: site, values: [])], mayReadAnything: false)
        return rules
    }

    private static func result(_ number: Int, lots: [String]) -> RunOutcome {
        .result(
            digest: RefreshFixture.digest(number), OperationAnswer(body: Array("{\"v\":\(number)}".utf8)),
            rows: [RowsRead(bound: RowHashes(values: lots))])
    }

    /// A bid on a lot.
    private static func bid(_ lot: String) -> MutationEvent {
        var event = RefreshFixture.event("M")
        event.rows = RowChanges([RowChange(table: "bid", before: nil, after: ["lotId": .string(lot)])])
        return event
    }

    /// A live query with result 1, which shows lots 1 and 2.
    private static func settled(_ settings: RefreshSettings = .init()) -> Bench {
        var bench = Bench(["Q": rules()], settings: settings)
        let first = bench.announce()
        _ = bench.finish(first.runs[0], result(1, lots: ["1", "2"]))
        _ = bench.advance(1_000)
        return bench
    }

    @Test func onlyRowsBelowThoseThatTheLastRunReadConcernIt() {
        var bench = Self.settled()
        #expect(bench.event(Self.bid("3")).isNothing)
        let run = bench.event(Self.bid("2")).runs
        #expect(run.count == 1 && run[0].items[0].knownDigest == RefreshFixture.digest(1))
        // The same result has the same rows.
        #expect(bench.finish(run[0], .unchanged).isNothing)
        _ = bench.advance(1_000)
        #expect(bench.event(Self.bid("3")).isNothing)
        #expect(bench.event(Self.bid("1")).runs.count == 1)
    }

    /// The first run may not have seen a row that an event tells of while it is in flight.
    @Test(arguments: [("1", 1), ("9", 0)])
    func eventsDuringTheFirstRunAreComparedWithWhatItRead(lot: String, runs: Int) {
        var bench = Bench(["Q": Self.rules()])
        let first = bench.announce()
        #expect(bench.event(Self.bid(lot)).isNothing)
        bench.nowMs += 100
        #expect(bench.finish(first.runs[0], Self.result(1, lots: ["1"])).runs.count == runs)
    }

    /// The run in flight may not have seen a row of a lot that the former run did not show.
    @Test func eventsDuringARunAreComparedWithWhatItRead() {
        var bench = Self.settled()
        let run = bench.event(Self.bid("1")).runs
        #expect(bench.event(Self.bid("3")).isNothing)
        bench.nowMs += 100
        let finished = bench.finish(run[0], Self.result(2, lots: ["1", "3"]))
        #expect(finished.summary == [#"g:result {"v":2}"#])
        #expect(finished.runs.count == 1)
        bench.nowMs += 100
        #expect(bench.finish(finished.runs[0], .unchanged).isNothing)
        #expect(bench.advance(60_000).isNothing)
        #expect(bench.event(Self.bid("2")).isNothing)
        #expect(bench.event(Self.bid("3")).runs.count == 1)
    }

    @Test func eventsDuringARunOfTheSameRowsCauseNoOther() {
        var bench = Self.settled()
        let run = bench.event(Self.bid("1")).runs
        #expect(bench.event(Self.bid("3")).isNothing)
        bench.nowMs += 100
        #expect(bench.finish(run[0], Self.result(2, lots: ["2", "1"])).runs.isEmpty)
    }

    @Test func eventsDuringARunThatAreForgottenMayHaveConcernedIt() {
        var settings = RefreshSettings()
        settings.historyMax = 1
        var bench = Self.settled(settings)
        let run = bench.event(Self.bid("1")).runs
        #expect(bench.event(Self.bid("8")).isNothing)
        #expect(bench.event(Self.bid("9")).isNothing)
        bench.nowMs += 100
        #expect(bench.finish(run[0], Self.result(2, lots: ["3"])).runs.count == 1)
    }

    @Test func afterAFailureAnyRowMayConcernIt() {
        var bench = Self.settled()
        let run = bench.event(Self.bid("1")).runs
        _ = bench.finish(run[0], .failed(RequestError(.badRequest, "no")))
        _ = bench.advance(1_000)
        #expect(bench.event(Self.bid("3")).runs.count == 1)
    }

    /// Nothing ran here: the result came from a former owner. The next run fetches the body, which tells the rows.
    @Test func theRowsOfAKnownResultBecomeKnownWithTheNextRun() {
        var bench = Bench(["Q": Self.rules()])
        let known = KnownResult(
            digest: RefreshFixture.digest(1), position: Position(epoch: Bench.epoch - 1, run: 1, id: bench.lastID))
        #expect(bench.announce(known: known).runs.isEmpty)
        let run = bench.event(Self.bid("3")).runs
        #expect(run.count == 1 && run[0].items[0].knownDigest == nil)
        #expect(bench.finish(run[0], Self.result(1, lots: ["1"])).isNothing, "the gateway has that result")
        _ = bench.advance(1_000)
        #expect(bench.event(Self.bid("3")).isNothing)
        #expect(bench.event(Self.bid("1")).runs[0].items[0].knownDigest == RefreshFixture.digest(1))
    }

    @Test func tooManyRowsAreAny() {
        var settings = RefreshSettings()
        settings.rowsReadMax = 1
        var bench = Self.settled(settings)
        let run = bench.event(Self.bid("3")).runs
        // Another run would not tell more.
        #expect(run.count == 1 && run[0].items[0].knownDigest == RefreshFixture.digest(1))
    }
}
