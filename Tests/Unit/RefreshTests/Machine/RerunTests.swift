import JSON
import LiveModel
import Testing

@testable import Refresh

/// Runs of whole operations without an event.
@Suite struct RerunTests {
    @Test func allLiveQueriesOfAnOperationRunAgain() throws {
        let rules = RefreshFixture.rules([try RefreshFixture.trigger(nil, on: "M")])
        var bench = Bench(["Q": rules])
        let first = bench.announce()
        _ = bench.finish(first.runs[0], RefreshFixture.result(1))
        #expect(bench.machine.rerun([RefreshFixture.operation("Other")], nowMs: bench.nowMs).isEmpty)
        let again = Asked(bench.machine.rerun([RefreshFixture.operation("Q")], nowMs: bench.nowMs))
        #expect(again.runs.count == 1 && again.runs[0].items[0].knownDigest == RefreshFixture.digest(1))
        #expect(bench.finish(again.runs[0], RefreshFixture.result(2)).summary == [#"g:result {"v":2}"#])
    }
}
