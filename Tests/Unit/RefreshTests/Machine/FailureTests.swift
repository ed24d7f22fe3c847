import Inspection
import JSON
import LiveModel
import Testing

@testable import Refresh

/// Runs that fail, shards that are lost, and the state afterwards.
@Suite struct FailureTests {
    private static let unavailable = RunOutcome.failed(RequestError(.unavailable, "away"))
    private static let broken = RunOutcome.failed(RequestError(.databaseError, "no such function"))

    private func onM() throws -> QueryRules { RefreshFixture.rules([try RefreshFixture.trigger(nil)]) }

    @Test func aWaiterGetsAPassingFaultAndTheResultLater() throws {
        var bench = Bench(["Q": try onM()])
        let run = bench.announce().runs[0]
        #expect(bench.finish(run, Self.unavailable).summary == ["g:failed UNAVAILABLE"])
        let again = bench.advance(bench.machine.settings.retryMinMs)
        #expect(again.runs.count == 1)
        #expect(bench.finish(again.runs[0], RefreshFixture.result(1)).summary == [#"g:result {"v":1}"#])
    }

    @Test func aPassingFaultIsNotReportedToHoldersOfAResult() throws {
        var bench = Bench.settled(try onM())
        let run = bench.event(RefreshFixture.event(trace: "one")).runs[0]
        #expect(bench.finish(run, Self.unavailable).isNothing)
        let again = bench.advance(bench.machine.settings.retryMinMs).runs
        #expect(again.first?.items.first?.traceID == "one")
    }

    @Test func failingLiveQueriesAreCountedWithTheLastError() throws {
        var bench = Bench(["Q": try onM(), "R": try onM()])
        let first = bench.announce().runs[0]
        let other = bench.announce(RefreshFixture.query("R")).runs[0]
        #expect(bench.machine.failing.count == 0 && bench.machine.failing.last == nil)
        _ = bench.finish(first, Self.unavailable)
        _ = bench.advance(1)
        _ = bench.finish(other, Self.broken)
        let failing = bench.machine.failing
        #expect(failing.count == 2 && failing.last?.error.message == "no such function")
        #expect(failing.last?.operation.operation == "R" && failing.last?.atMs == bench.nowMs)
        let again = try #require(bench.advance(bench.machine.settings.retryMinMs).runs.first)
        _ = bench.finish(again, RefreshFixture.result(1))
        #expect(bench.machine.failing.count == 1)
    }

    /// A run for a gateway that joins finds the same result, and is recorded so.
    @Test func aRunForANewGatewayChangesNothing() throws {
        var bench = Bench.settled(try onM())
        bench.machine.scope.events = true
        func outcomes() -> [RunRecord.Outcome] {
            bench.machine.takeObservations().observations.compactMap {
                if case .run(_, _, _, let run) = $0 { run.outcome } else { nil }
            }
        }
        let joined = try #require(bench.announce(from: "h").runs.first)
        #expect(bench.finish(joined, RefreshFixture.result(1)).summary == [#"h:result {"v":1}"#])
        #expect(outcomes() == [.same])
        _ = bench.advance(1_000)
        let changed = try #require(bench.event().runs.first)
        _ = bench.finish(changed, RefreshFixture.result(2))
        #expect(outcomes() == [.changed])
    }

    @Test func theBackOffDoublesUpToItsMaximum() throws {
        var settings = RefreshSettings()
        settings.retryMinMs = 100
        settings.retryMaxMs = 1_000
        var bench = Bench.settled(try onM(), settings: settings)
        var run = bench.event().runs[0]
        var delays: [Int64] = []
        for _ in 0..<6 {
            _ = bench.finish(run, Self.unavailable)
            let due = try #require(bench.machine.nextDeadlineMs)
            delays.append(due - bench.nowMs)
            // A further event does not shorten the wait.
            #expect(bench.event().isNothing)
            #expect(bench.advance(due - 1 - bench.nowMs).isNothing)
            run = try #require(bench.advance(1).runs.first)
        }
        #expect(delays == [100, 200, 400, 800, 1_000, 1_000])
        _ = bench.finish(run, .unchanged)
        _ = bench.finish(try #require(bench.advance(1_000).runs.first ?? bench.event().runs.first), Self.unavailable)
        #expect(try #require(bench.machine.nextDeadlineMs) - bench.nowMs == 100, "a success ends the back-off")
    }

    @Test func aLastingFaultIsReportedOnceAndRetriedSeldom() throws {
        var bench = Bench.settled(try onM())
        let run = bench.event().runs[0]
        #expect(bench.finish(run, Self.broken).summary == ["g:failed DATABASE_ERROR"])
        let pauseMs = RefreshSettings().failedRetryMs
        #expect(bench.advance(pauseMs - 1).isNothing)
        let retry = try #require(bench.advance(1).runs.first)
        #expect(bench.finish(retry, Self.broken).isNothing, "the same error is not sent again")
        // But for the gap between two runs, an event does not wait.
        let next = try #require(bench.event().runs.first ?? bench.advance(RefreshSettings().coalesceGapMs).runs.first)
        #expect(next.items[0].knownDigest == nil, "the next result brings its body")
        #expect(bench.finish(next, RefreshFixture.result(1)).summary == [#"g:result {"v":1}"#])
    }

    @Test func afterALastingFaultTheOldResultIsNotConfirmed() throws {
        var bench = Bench.settled(try onM())
        _ = bench.finish(bench.event().runs[0], Self.broken)
        bench.nowMs += 1_000
        let asked = bench.announce(from: "g2", known: KnownResult(digest: RefreshFixture.digest(1), position: nil))
        #expect(asked.runs.count == 1 && asked.sent.isEmpty)
    }

    @Test func oneFailureOfABatchLeavesTheOthersAlone() throws {
        var settings = RefreshSettings()
        settings.runsMax = 1
        var bench = Bench(["Q": try onM()], settings: settings)
        let first = bench.announce(RefreshFixture.query("Q", ["n": 0])).runs[0]
        _ = bench.announce(RefreshFixture.query("Q", ["n": 1]))
        _ = bench.announce(RefreshFixture.query("Q", ["n": 2]))
        let batch = bench.finish(first, RefreshFixture.result(1)).runs[0]
        let finished = bench.finish(batch, [Self.unavailable, RefreshFixture.result(5)])
        #expect(finished.summary == ["g:failed UNAVAILABLE", #"g:result {"v":5}"#])
        #expect(bench.advance(100).runs.flatMap(\.items).map(\.slot) == [batch.items[0].slot])
    }

    @Test func aLostShardIsForgottenAndItsRunsGoNowhere() throws {
        var bench = Bench.settled(try onM())
        let run = bench.event().runs[0]
        #expect(bench.machine.shardLost(Bench.shard) == 1)
        #expect(bench.finish(run, RefreshFixture.result(9)).isNothing)
        #expect(bench.event().isNothing && bench.advance(60_000).isNothing)
        #expect(bench.machine.liveQueryCount == 0 && bench.machine.runsInFlightCount == 0)
        #expect(bench.machine.shardLost(Bench.shard) == 0)
    }

    @Test func aShardThatComesBackStartsAboveItsOldPositions() throws {
        var bench = Bench.settled(try onM())
        let old = bench.event().runs[0]
        bench.machine.shardLost(Bench.shard)
        bench.acquire(epoch: Bench.epoch + 1)
        let new = bench.announce().runs[0]
        #expect(new.items[0].position > old.items[0].position)
        #expect(bench.finish(old, RefreshFixture.result(8)).isNothing)
        #expect(bench.finish(new, RefreshFixture.result(9)).summary == [#"g:result {"v":9}"#])
    }

    @Test func nothingIsLeftAfterEveryoneLeft() throws {
        let rules = [
            "Q": RefreshFixture.rules(
                [try RefreshFixture.trigger(nil)], keys: [RefreshFixture.key("1")], everyMs: 5_000),
            "R": RefreshFixture.rules([
                try RefreshFixture.trigger("request.variables.n == mutation.variables.n", of: "R")
            ]),
        ]
        var bench = Bench(rules)
        var flying: [RunBatch] = []
        for number in 0..<60 {
            let query = RefreshFixture.query(number % 2 == 0 ? "Q" : "R", ["n": .int(Int64(number % 20))])
            flying += bench.announce(query, from: "g\(number % 3)").runs
            flying += bench.event(RefreshFixture.event("M", ["n": .int(Int64(number % 20))])).runs
        }
        for gateway in 0..<3 { _ = bench.tell(.leave(gateway: NodeID("g\(gateway)"))) }
        while !flying.isEmpty { flying += bench.finish(flying.removeFirst(), RefreshFixture.result(1)).runs }
        #expect(bench.advance(600_000).isNothing)
        #expect(bench.machine.liveQueryCount == 0 && bench.machine.dueCount == 0)
        #expect(bench.machine.runsInFlightCount == 0 && bench.machine.nextDeadlineMs == nil)
        #expect(bench.machine.liveQueryReports(limit: 10).isEmpty)
        #expect(bench.machine.shardReports.map(\.liveQueries) == [0])
        bench.machine.shardLost(Bench.shard)
        // Counts of errors are per rule, not per live query: they stay.
        let leftovers = leftovers(in: bench.machine, except: ["conditionErrors"], fixed: ["pools"])
        #expect(leftovers.isEmpty, "\(leftovers)")
    }

    @Test func comingAndGoingDoesNotFillQueueOrTimersWhileRunsAreStuck() throws {
        var settings = RefreshSettings()
        settings.runsMax = 1
        var bench = Bench(["Q": RefreshFixture.rules(everyMs: 3_600_000)], settings: settings)
        let stuck = bench.announce(RefreshFixture.query("Q", ["n": -1])).runs[0]
        for number in 0..<5_000 {
            let query = RefreshFixture.query("Q", ["n": .int(Int64(number))])
            _ = bench.announce(query)
            _ = bench.tell(.withdraw(gateway: NodeID("g"), key: query.key))
        }
        #expect(bench.machine.dueCount <= 1_100)
        let survivor = RefreshFixture.query("Q", ["n": -2])
        _ = bench.announce(survivor)
        var runs = bench.finish(stuck, RefreshFixture.result(1)).runs
        var served: [LiveQueryKey] = []
        while let batch = runs.popLast() {
            served += batch.items.map(\.query.key)
            runs += bench.finish(batch, RefreshFixture.result(1)).runs
        }
        #expect(served == [survivor.key])
    }

    @Test func failingConditionsAreCounted() throws {
        let trigger = try RefreshFixture.trigger("request.variables.absent == 1")
        var bench = Bench(["Q": RefreshFixture.rules([trigger])])
        let run = bench.announce().runs[0]
        _ = bench.finish(run, RefreshFixture.result(1))
        _ = bench.event()
        _ = bench.event()
        #expect(bench.machine.conditionErrorCounts == [trigger.id: 2])
    }
}
