import JSON
import LiveModel
import Testing

@testable import Refresh

/// Runs without a cause: the online verification, and samples after changes that no rule noticed.
@Suite struct VerificationTests {
    private static let site = RowSite(
        id: .init(operation: RefreshFixture.operation("Q"), version: RefreshFixture.version, number: 0), table: "bid",
        guardFields: ["lotId"], fields: nil)

    private static func rules(isObserved: Bool = false, isVerifiable: Bool = true) throws -> QueryRules {
        var rules = RefreshFixture.rules([try RefreshFixture.trigger(nil, on: "Ruled")])
        rules.automatic = AutomaticRules(
            sites: [.init(form: site, values: [.one("1")])], mayReadAnything: false, isObserved: isObserved,
            isVerifiable: isVerifiable)
        return rules
    }

    private static func bid(_ mutation: String = "M", lot: String = "1") -> MutationEvent {
        var event = RefreshFixture.event(mutation)
        event.rows = RowChanges([RowChange(table: "bid", before: nil, after: ["lotId": .string(lot)])])
        return event
    }

    private static var settings: RefreshSettings {
        var settings = RefreshSettings()
        settings.verifyPerSecond = 1
        settings.verifyGraceMs = 5_000
        return settings
    }

    /// One live query with result 1, and the verification that is due.
    private static func verifying(_ rules: QueryRules) -> (bench: Bench, run: [RunBatch]) {
        var bench = Bench(["Q": rules], settings: settings)
        let first = bench.announce()
        _ = bench.finish(first.runs[0], RefreshFixture.result(1))
        let run = bench.advance(1_000).runs
        return (bench, run)
    }

    @Test func anIdleLiveQueryRunsOnceASecond() throws {
        var (bench, run) = Self.verifying(try Self.rules())
        #expect(run.count == 1 && run[0].items[0].knownDigest == RefreshFixture.digest(1))
        #expect(bench.finish(run[0], .unchanged).isNothing)
        #expect(bench.machine.nextDeadlineMs == bench.nowMs + 1_000)
        #expect(bench.advance(500).isNothing)
        #expect(bench.advance(500).runs.count == 1)
        #expect(bench.machine.verificationCounts == (2, 0))
    }

    @Test func anotherResultIsDeliveredAndReportedUnlessAnEventExplainsIt() throws {
        var (bench, run) = Self.verifying(try Self.rules())
        #expect(bench.finish(run[0], RefreshFixture.result(2)).summary == [#"g:result {"v":2}"#])
        _ = bench.advance(1_000)
        // The next run is not due while this one is in doubt.
        let reported = bench.advance(5_000)
        #expect(reported.mismatches.map(\.operation) == [RefreshFixture.operation("Q")])
        #expect(bench.machine.verificationCounts.mismatches == 1)
    }

    @Test func anEventThatComesLaterExplainsIt() throws {
        var (bench, run) = Self.verifying(try Self.rules())
        _ = bench.finish(run[0], RefreshFixture.result(2))
        let again = bench.event(Self.bid()).runs
        _ = bench.advance(20)
        for batch in again { _ = bench.finish(batch, .unchanged) }
        #expect(bench.advance(6_000).mismatches.isEmpty)
        #expect(bench.machine.verificationCounts.mismatches == 0)
    }

    @Test func anEventDuringTheRunExplainsIt() throws {
        var (bench, run) = Self.verifying(try Self.rules())
        #expect(bench.event(Self.bid()).isNothing)
        bench.nowMs += 100
        let finished = bench.finish(run[0], RefreshFixture.result(2))
        #expect(finished.runs.count == 1)
        _ = bench.finish(finished.runs[0], .unchanged)
        #expect(bench.advance(6_000).mismatches.isEmpty)
    }

    /// An event waits for the gap between runs that events cause, not for one after a check.
    @Test func aCheckDelaysNoEvent() throws {
        var (bench, run) = Self.verifying(try Self.rules())
        #expect(bench.finish(run[0], .unchanged).isNothing)
        let next = bench.event(Self.bid()).runs
        #expect(next.count == 1)
        _ = bench.finish(next[0], RefreshFixture.result(2))
        #expect(bench.event(Self.bid()).isNothing)
        (bench, run) = Self.verifying(try Self.rules())
        #expect(bench.event(Self.bid()).isNothing)
        #expect(bench.finish(run[0], .unchanged).runs.count == 1)
    }

    @Test func resultsThatEventsDoNotDetermineAreNotVerified() throws {
        #expect(Self.verifying(try Self.rules(isVerifiable: false)).run.isEmpty)
        #expect(Self.verifying(try Self.rules(isObserved: true)).run.isEmpty)
        #expect(Self.verifying(RefreshFixture.rules([try RefreshFixture.trigger(nil)])).run.isEmpty)
    }

    @Test func withoutTheSettingNothingIsVerified() throws {
        var bench = Bench.settled(try Self.rules())
        #expect(bench.machine.nextDeadlineMs == nil)
        #expect(bench.advance(60_000).isNothing)
    }

    @Test func manyLiveQueriesTakeTurns() throws {
        let rules = try Self.rules()
        var bench = Bench(["Q": rules, "R": rules, "S": rules], settings: Self.settings)
        for name in ["Q", "R", "S"] {
            let first = bench.announce(RefreshFixture.query(name))
            _ = bench.finish(first.runs[0], RefreshFixture.result(1))
        }
        var verified: [String] = []
        for _ in 0..<6 {
            let run = bench.advance(1_000).runs
            verified += run.flatMap(\.items).map(\.query.operation.operation)
            for batch in run { _ = bench.finish(batch, .unchanged) }
        }
        #expect(verified.count == 6)
        #expect(Set(verified.prefix(3)) == ["Q", "R", "S"])
    }

    // MARK: Observed

    /// Counts of the only operation.
    private static func counts(_ bench: Bench) -> RefreshCounts {
        bench.machine.refreshCounts[RefreshFixture.operation("Q")] ?? RefreshCounts()
    }

    @Test func aChangeThatNoRuleNoticesIsCountedAndNowAndThenLookedInto() throws {
        var bench = Bench.settled(try Self.rules(isObserved: true), settings: Self.settings)
        let sample = bench.event(Self.bid("M")).runs
        #expect(sample.count == 1)
        #expect(bench.event(Self.bid("N")).isNothing)
        #expect(bench.event(Self.bid("M", lot: "2")).isNothing)
        bench.nowMs += 100
        _ = bench.finish(sample[0], RefreshFixture.result(2))
        // Not more than one a second.
        #expect(bench.event(Self.bid("M")).isNothing)
        bench.nowMs += 1_000
        let second = bench.event(Self.bid("M")).runs
        _ = bench.finish(second[0], .unchanged)
        let counts = Self.counts(bench)
        #expect(counts.unnoticed == [RefreshFixture.operation("M"): 3, RefreshFixture.operation("N"): 1])
        #expect(counts.checked.changed == 1 && counts.checked.unchanged == 1)
        #expect(counts.byRow == RefreshCounts.Effect())
    }

    @Test func aChangeThatARuleNoticesIsNot() throws {
        var bench = Bench.settled(try Self.rules(isObserved: true), settings: Self.settings)
        let run = bench.event(Self.bid("Ruled")).runs
        _ = bench.finish(run[0], RefreshFixture.result(2))
        bench.nowMs += 1_000
        // The rule fires without effect.
        let again = bench.event(RefreshFixture.event("Ruled")).runs
        _ = bench.finish(again[0], .unchanged)
        let counts = Self.counts(bench)
        #expect(counts.unnoticed.isEmpty)
        #expect(counts.byRule.changed == 1 && counts.byRule.unchanged == 1)
    }

    @Test func observingRunsNothingWithoutSamples() throws {
        var bench = Bench.settled(try Self.rules(isObserved: true))
        #expect(bench.event(Self.bid("M")).isNothing)
        #expect(bench.advance(60_000).isNothing)
        #expect(Self.counts(bench).unnoticed == [RefreshFixture.operation("M"): 1])
    }

    @Test func automaticRunsAreCountedByTheirEffect() throws {
        var bench = Bench.settled(try Self.rules())
        let run = bench.event(Self.bid("M")).runs
        _ = bench.finish(run[0], .unchanged)
        #expect(Self.counts(bench).byRow.unchanged == 1)
    }
}
