import JSON
import LiveModel
import Testing

@testable import Refresh

/// The effect of each rule, one by one.
@Suite struct RuleCountsTests {
    private static func counts(_ bench: Bench, _ version: Digest = RefreshFixture.version) -> RuleCounts? {
        bench.machine.refreshCounts[RefreshFixture.operation("Q")]?.versions.first { $0.version == version }
    }

    private static func effect(_ effect: RuleCounts.Effect?) -> [UInt64] {
        guard let effect else { return [] }
        return [effect.fired, effect.changed, effect.micros]
    }

    @Test func eachRuleCountsItsOwnRuns() throws {
        var bench = Bench.settled(
            RefreshFixture.rules(
                [
                    try RefreshFixture.trigger(nil, on: "M"), try RefreshFixture.trigger(nil, on: "N", number: 1),
                    try RefreshFixture.trigger("mutation.variables.no", on: "M", number: 2),
                ], keys: [RefreshFixture.key("1")]))
        let first = bench.event(RefreshFixture.event("M", ["no": false])).runs
        _ = bench.finish(first[0], RefreshFixture.result(2), micros: 40)
        bench.nowMs += 1_000
        // The second trigger and the looked-up row cause one run, which counts for both.
        let second = bench.event(RefreshFixture.event("N", keys: [RefreshFixture.key("1")])).runs
        _ = bench.finish(second[0], .unchanged, micros: 30)
        let counts = try #require(Self.counts(bench))
        #expect(Self.effect(counts.trigger(0)) == [1, 1, 40])
        #expect(Self.effect(counts.trigger(1)) == [1, 0, 30])
        #expect(Self.effect(counts.trigger(2)) == [0, 0, 0])
        #expect(Self.effect(counts.key) == [1, 0, 30])
        #expect(Self.effect(counts.rows) == [0, 0, 0] && Self.effect(counts.timer) == [0, 0, 0])
    }

    @Test func aStatementIsSharedByItsLiveQueries() throws {
        let rules = RefreshFixture.rules([try RefreshFixture.trigger(nil)])
        var bench = Bench(["Q": rules])
        for value in 1...2 {
            let first = bench.announce(RefreshFixture.query("Q", ["v": .int(Int64(value))]))
            for batch in first.runs { _ = bench.finish(batch, RefreshFixture.result(1)) }
        }
        bench.nowMs += 1_000
        let runs = bench.event().runs
        #expect(runs.map(\.items.count) == [2])
        _ = bench.finish(runs[0], [.unchanged, RefreshFixture.result(2)], micros: 100)
        #expect(Self.effect(Self.counts(bench)?.trigger(0)) == [2, 1, 100])
    }

    @Test func timersAndFirstRunsAreDistinguished() throws {
        var bench = Bench.settled(RefreshFixture.rules(everyMs: 10_000))
        #expect(Self.counts(bench) == nil, "a first run has no cause")
        let runs = bench.advance(20_000).runs
        _ = bench.finish(try #require(runs.first), .unchanged, micros: 7)
        #expect(Self.effect(Self.counts(bench)?.timer) == [1, 0, 7])
    }

    @Test func triggersBeyondTheLimitShareTheLastPlace() throws {
        let max = RuleIndex.Causes.triggersMax
        var bench = Bench.settled(
            RefreshFixture.rules(
                try (0..<max + 3).map { try RefreshFixture.trigger(nil, on: "M\($0)", number: $0) }))
        for number in [max - 2, max - 1, max + 2] {
            bench.nowMs += 1_000
            let runs = bench.event(RefreshFixture.event("M\(number)")).runs
            _ = bench.finish(runs[0], .unchanged)
        }
        let counts = try #require(Self.counts(bench))
        #expect(counts.trigger(max - 2).fired == 1)
        #expect(counts.trigger(max - 1).fired == 2 && counts.trigger(max + 2).fired == 2)
    }

    @Test func versionsOfAnOperationAreCountedApartAndTheOldestGoes() {
        var counts = RefreshCounts()
        func version(_ number: UInt8) -> Digest { Digest(of: [number]) }
        for number in [1, 2, 1, 3, 4, 5] as [UInt8] {
            counts.ran(.trigger(0), isChanged: false, micros: 1, version: version(number))
        }
        // The first one ran later than the second.
        #expect(counts.versions.map(\.version) == [1, 3, 4, 5].map(version))
        #expect(counts.versions[0].trigger(0).fired == 2)
        #expect(counts.byRule.unchanged == 6)
    }
}
