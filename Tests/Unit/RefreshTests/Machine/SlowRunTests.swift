import JSON
import LiveModel
import Testing

@testable import Refresh

/// Live queries whose runs take long, beside others.
@Suite struct SlowRunTests {
    private func bench(_ change: (inout RefreshSettings) -> Void = { _ in }) throws -> Bench {
        var settings = RefreshSettings()
        change(&settings)
        return Bench(
            ["Q": RefreshFixture.rules([try RefreshFixture.trigger(nil)]), "Slow": RefreshFixture.rules()],
            settings: settings)
    }

    private func query(_ number: Int, of name: String = "Q") -> LiveQuery {
        RefreshFixture.query(name, ["n": .int(Int64(number))])
    }

    /// Finishes runs, and those that follow, until none is left.
    private func finishAll(
        _ bench: inout Bench, _ runs: [RunBatch],
        _ outcome: (RunBatch) -> RunOutcome = { _ in RefreshFixture.result(1) }
    ) -> [RunBatch] {
        var (waiting, done) = (runs, [RunBatch]())
        while !waiting.isEmpty {
            let batch = waiting.removeFirst()
            done.append(batch)
            waiting += bench.finish(batch, outcome(batch)).runs
        }
        return done
    }

    /// Announces this many live queries and runs them once.
    private func announceAll(_ bench: inout Bench, _ count: Int) {
        let runs = (0..<count).flatMap { bench.announce(query($0)).runs }
        _ = finishAll(&bench, runs)
        _ = bench.advance(1_000)
    }

    @Test(arguments: [8, 20, 300])
    func slowFollowersDelayNoOtherLiveQuery(count: Int) throws {
        var bench = try bench()
        announceAll(&bench, 1)
        var stuck = (0..<count).flatMap { bench.announce(query($0, of: "Slow")).runs }
        #expect(stuck.count == 1, "first runs of one operation take one statement")
        #expect(bench.event().runs.map(\.operation) == [RefreshFixture.operation("Q")])
        // From then on they prove their speed apart, and the slow ones stay there.
        var longest = 0
        for _ in 0..<(10 * count) {
            guard !stuck.isEmpty else { break }
            let batch = stuck.removeFirst()
            if batch.mode == .apart(limitMs: nil) {
                stuck.append(batch)
                if stuck.allSatisfy({ $0.mode == .apart(limitMs: nil) }) { break }
                continue
            }
            bench.nowMs += 120
            stuck += bench.finish(batch, .cutShort).runs
            longest = max(longest, bench.machine.runsInFlightCount)
        }
        #expect(longest <= 3, "one of them in each pool, and the run of the other live query")
        let settings = bench.machine.settings
        #expect(stuck.count == settings.slowRunsMax && stuck.allSatisfy { $0.items.count == 1 })
        // A newcomer of another operation runs at once.
        #expect(bench.announce(query(7)).runs.map(\.items.count) == [1])
    }

    @Test func membersOfABatchThatIsCutShortAreServedWithoutTheSlowOne() throws {
        var bench = try bench()
        announceAll(&bench, 40)
        let slow = query(11).key
        let isSlow = { (batch: RunBatch) in batch.items.contains { $0.query.key == slow } }
        let first = bench.event(RefreshFixture.event(trace: "one")).runs
        #expect(first.map(\.items.count) == [40])
        #expect(first[0].mode == .shared(limitMs: 356))
        let done = finishAll(&bench, first) { batch in
            isSlow(batch) && batch.mode != .apart(limitMs: nil) ? .cutShort : RefreshFixture.result(2)
        }
        let served = done.filter { !isSlow($0) }.flatMap(\.items)
        #expect(served.count == 39 && served.allSatisfy { $0.traceID == "one" })
        #expect(done.dropFirst().allSatisfy { $0.items.count <= 8 })
        #expect(done.last { isSlow($0) }?.items.count == 1)
        // The next event: the slow one apart, the others together in smaller batches for a while.
        _ = bench.advance(1_000)
        let next = bench.event().runs
        #expect(next.filter(isSlow).map(\.mode) == [.apart(limitMs: 1_000)], "it was fast in the end")
        #expect(next.filter { !isSlow($0) }.map(\.items.count) == [16, 16, 7])
        for batch in next { _ = bench.finish(batch, .unchanged) }
        _ = bench.advance(60_000)
        #expect(bench.event().runs.map(\.items.count).max() == 40, "once nothing was slow for a while")
    }

    @Test func operationWhoseLiveQueriesAllTakeAWhileRunsInSmallerBatches() throws {
        var bench = try bench()
        announceAll(&bench, 16)
        // Each takes 30 ms: more than the limit of a batch allows for each.
        let cost = { (batch: RunBatch) -> RunOutcome in
            let limitMs: Int64 =
                switch batch.mode {
                case .open, .apart(limitMs: nil): .max
                case .shared(let limitMs), .apart(.some(let limitMs)): limitMs
                }
            return Int64(batch.items.count) * 30 > limitMs ? .cutShort : RefreshFixture.result(2)
        }
        var largest: [Int] = []
        for _ in 0..<4 {
            let done = finishAll(&bench, bench.event().runs, cost)
            largest.append(done.first?.items.count ?? 0)
            #expect(done.allSatisfy { $0.mode != .apart(limitMs: nil) }, "none is slow by itself")
            _ = bench.advance(1_000)
        }
        #expect(largest == [16, 8, 8, 8])
    }

    @Test func newcomersOfAnOperationWithSlowOnesProveTheirSpeedApart() throws {
        var bench = try bench()
        let first = bench.announce(query(0)).runs[0]
        #expect(first.mode == .shared(limitMs: 120))
        let slow = bench.finish(first, .cutShort).runs
        #expect(slow.map(\.mode) == [.apart(limitMs: nil)])
        let trial = bench.announce(query(1)).runs
        #expect(trial.map(\.mode) == [.apart(limitMs: 120)])
        #expect(bench.announce(query(2)).isNothing, "one at a time")
        let next = bench.finish(trial[0], RefreshFixture.result(1)).runs
        #expect(next.map { $0.items.map(\.query) } == [[query(2)]])
        _ = bench.finish(next[0], RefreshFixture.result(1))
        // Both have proved it: the slow one does not delay them.
        _ = bench.advance(1_000)
        #expect(bench.event().runs.map(\.mode) == [.shared(limitMs: 140)])
        // After a while newcomers are trusted again.
        _ = bench.advance(60_000)
        #expect(bench.announce(query(3)).runs.map(\.mode) == [.shared(limitMs: 120)])
    }

    @Test func runThatIsCutShortKeepsItsCauseAndIsNoFailure() throws {
        var bench = Bench.settled(RefreshFixture.rules([try RefreshFixture.trigger(nil)]))
        let run = bench.event(RefreshFixture.event(trace: "one", atMs: 11)).runs[0]
        #expect(bench.event(RefreshFixture.event(trace: "two", atMs: 12)).isNothing)
        bench.nowMs += 120
        let again = bench.finish(run, .cutShort)
        #expect(again.sent.isEmpty && again.runs.map { $0.items.map(\.traceID) } == [["one"]])
        #expect(again.runs[0].items[0].position.id == bench.lastID, "it covers both events")
        let finished = bench.finish(again.runs[0], RefreshFixture.result(2))
        #expect(finished.summary == [#"g:result {"v":2}"#] && finished.runs.isEmpty)
        #expect(bench.advance(1_000).isNothing)
    }

    @Test func slowLiveQueryIsOrdinaryAgainAfterFastRuns() throws {
        var bench = Bench.settled(RefreshFixture.rules([try RefreshFixture.trigger(nil)]))
        func mode(ms: Int64, _ outcome: RunOutcome) throws -> RunBatch.Mode {
            let batch = try #require(bench.event().runs.first)
            bench.nowMs += ms
            let more = bench.finish(batch, outcome).runs
            if let next = more.first { _ = bench.finish(next, .unchanged) }
            _ = bench.advance(1_000)
            return batch.mode
        }
        let (ordinary, moderate) = (RunBatch.Mode.shared(limitMs: 120), RunBatch.Mode.apart(limitMs: 1_000))
        #expect(try mode(ms: 120, .cutShort) == ordinary)
        // The repeated run was one of the two fast ones that are wanted.
        #expect(try mode(ms: 60, .unchanged) == moderate, "half of the limit is not fast")
        #expect(try mode(ms: 1, .unchanged) == moderate)
        #expect(try mode(ms: 1, .unchanged) == moderate)
        // Each time that it becomes slow, twice as many are wanted.
        #expect(try mode(ms: 120, .cutShort) == ordinary)
        for _ in 0..<3 { #expect(try mode(ms: 1, .unchanged) == moderate) }
        #expect(try mode(ms: 1, .unchanged) == ordinary)
    }

    @Test func moderateLiveQueryThatTakesLongerRunsWithTheSlowOnes() throws {
        var bench = Bench.settled(RefreshFixture.rules([try RefreshFixture.trigger(nil)]))
        let slow = bench.finish(bench.event().runs[0], .cutShort).runs[0]
        bench.nowMs += 500
        _ = bench.finish(slow, .unchanged)
        let moderate = try #require(bench.event().runs.first)
        #expect(moderate.mode == .apart(limitMs: 1_000))
        bench.nowMs += 1_000
        #expect(bench.finish(moderate, .cutShort).runs.map(\.mode) == [.apart(limitMs: nil)])
    }

    @Test func slowLiveQueryThatTimesOutRestsAsLongAsItRan() throws {
        var bench = Bench.settled(RefreshFixture.rules([try RefreshFixture.trigger(nil)]))
        let slow = bench.finish(bench.event().runs[0], .cutShort).runs[0]
        bench.nowMs += 15_000
        #expect(bench.finish(slow, .failed(RequestError(.timeout, "slow"))).isNothing)
        #expect(bench.advance(14_999).isNothing)
        #expect(bench.advance(1).runs.map(\.mode) == [.apart(limitMs: nil)])
    }

    @Test func withoutConnectionsForSlowStatementsNothingIsCutShort() throws {
        var bench = try bench { $0.slowRunMs = nil }
        #expect(bench.announce().runs.map(\.mode) == [.open])
    }

    @Test func operationsWithSlowOnesAreBounded() {
        var operations = SlowOperations()
        func key(_ number: Int) -> SlowOperations.Key {
            SlowOperations.Key(operation: RefreshFixture.operation("Q\(number)"), version: RefreshFixture.version)
        }
        for number in 0...SlowOperations.countMax {
            operations.cutShort(key(number), count: 1, wereFast: false, nowMs: Int64(number))
        }
        let nowMs = Int64(SlowOperations.countMax)
        #expect(!operations.contains(key(0), nowMs: nowMs) && operations.contains(key(1), nowMs: nowMs))
        #expect(!operations.contains(key(1), nowMs: 1 + SlowOperations.keptMs))
    }
}
