import LiveModel
import Refresh
import Testing

/// Timer runs that change nothing are reported to the gateways that request this, and to no other.
@Suite struct TickTests {
    private static let everyMs: Int64 = 10_000

    private func bench(reportsTimerRuns: Bool) -> Bench {
        var bench = Bench(["Q": RefreshFixture.rules(everyMs: Self.everyMs)])
        let first = bench.announce(announcement: AnnouncementID(number: 1, reportsTimerRuns: reportsTimerRuns))
        #expect(bench.finish(first.runs[0], RefreshFixture.result(1)).summary == [#"g:result {"v":1}"#])
        return bench
    }

    private func tick(_ bench: inout Bench) -> [RunBatch] {
        bench.advance(Self.everyMs).runs
    }

    @Test func anUnchangedTimerRunIsReported() throws {
        var bench = bench(reportsTimerRuns: true)
        for _ in 0..<3 {
            let runs = tick(&bench)
            let answer = bench.finish(try #require(runs.first), .unchanged)
            #expect(answer.summary == ["g:ticked"])
        }
    }

    @Test func onlySubscribersThatAskGetTimerRuns() throws {
        var bench = bench(reportsTimerRuns: false)
        bench.nowMs += 1_000
        let second = bench.announce(from: "h", announcement: AnnouncementID(number: 1, reportsTimerRuns: true))
        _ = bench.finish(try #require(second.runs.first), RefreshFixture.result(1))
        let runs = tick(&bench)
        #expect(bench.finish(try #require(runs.first), .unchanged).summary == ["h:ticked"])
    }

    @Test func aChangeIsAResultAndNothingBesides() throws {
        var bench = bench(reportsTimerRuns: true)
        let runs = tick(&bench)
        #expect(bench.finish(try #require(runs.first), RefreshFixture.result(2)).summary == [#"g:result {"v":2}"#])
    }

    @Test func runsOfEventsAreNoTicks() throws {
        var bench = Bench([
            "Q": RefreshFixture.rules([try RefreshFixture.trigger(nil)], everyMs: 1_000_000)
        ])
        let first = bench.announce(announcement: AnnouncementID(number: 1, reportsTimerRuns: true))
        _ = bench.finish(first.runs[0], RefreshFixture.result(1))
        bench.nowMs += 5_000
        let caused = bench.event()
        #expect(bench.finish(try #require(caused.runs.first), .unchanged).isNothing)
    }

    @Test func entitiesTravelWithTheResult() throws {
        var bench = Bench(["Q": RefreshFixture.rules()])
        let first = bench.announce()
        let answer = OperationAnswer(
            body: [1], errors: [RequestError(.permissionDenied, "no", path: [.key("b")])], entities: [2])
        let outcome = RunOutcome.result(digest: RefreshFixture.digest(1), answer)
        guard case .result(_, _, let result, _)? = bench.finish(first.runs[0], outcome).sent.first?.message else {
            return #expect(Bool(false))
        }
        #expect(result.answer == answer)
    }
}
