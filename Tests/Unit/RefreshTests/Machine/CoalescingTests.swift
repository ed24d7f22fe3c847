import JSON
import LiveModel
import Refresh
import SeededRandom
import Testing

/// When runs start: one in flight, the gap, batches, turns, intervals.
@Suite struct CoalescingTests {
    private var onM: QueryRules { get throws { RefreshFixture.rules([try RefreshFixture.trigger(nil)]) } }

    @Test func theFirstAnnouncementRunsAndIsAnswered() throws {
        var bench = Bench(["Q": try onM])
        let asked = bench.announce()
        #expect(asked.runs.count == 1 && asked.sent.isEmpty)
        let item = asked.runs[0].items[0]
        #expect(item.position == Position(epoch: Bench.epoch, run: 1, id: bench.lastID))
        #expect(item.knownDigest == nil && item.traceID.isEmpty)
        let answered = bench.finish(asked.runs[0], RefreshFixture.result(1))
        #expect(answered.summary == [#"g:result {"v":1}"#])
        #expect(answered.positions == [item.position])
        #expect(bench.machine.runsInFlightCount == 0 && bench.machine.dueCount == 0)
    }

    @Test func manyEventsDuringARunLeadToOneMore() throws {
        var bench = Bench.settled(try onM)
        let run = bench.event().runs
        #expect(run.count == 1)
        for _ in 0..<10 { #expect(bench.event().isNothing) }
        bench.nowMs += 100
        let finished = bench.finish(run[0], RefreshFixture.result(2))
        #expect(finished.summary == [#"g:result {"v":2}"#])
        #expect(finished.runs.count == 1)
        #expect(finished.runs[0].items[0].position.id == bench.lastID)
        bench.nowMs += 100
        #expect(bench.finish(finished.runs[0], .unchanged).isNothing)
        #expect(bench.advance(60_000).isNothing)
    }

    @Test func theGapBetweenTwoStartsIsRespected() throws {
        var settings = RefreshSettings()
        settings.coalesceGapMs = 50
        var bench = Bench.settled(try onM, settings: settings)
        let first = bench.event().runs[0]
        let startedMs = bench.nowMs
        bench.nowMs += 5
        _ = bench.finish(first, RefreshFixture.result(2))
        #expect(bench.event().isNothing)
        #expect(bench.event().isNothing)
        #expect(bench.machine.nextDeadlineMs == startedMs + 50)
        #expect(bench.advance(44).isNothing)
        #expect(bench.advance(1).runs.count == 1)
    }

    @Test func theTraceIsOfTheOldestUncoveredEvent() throws {
        var bench = Bench.settled(try onM)
        let first = bench.event(RefreshFixture.event(trace: "one", atMs: 11)).runs[0]
        #expect(first.items[0].traceID == "one")
        _ = bench.event(RefreshFixture.event(trace: "two", atMs: 12))
        _ = bench.event(RefreshFixture.event(trace: "three", atMs: 13))
        bench.nowMs += 100
        let finished = bench.finish(first, RefreshFixture.result(2))
        guard case .result(_, _, let result, _) = finished.sent[0].message else { return #expect(Bool(false)) }
        #expect(result.traceID == "one" && result.committedAtMs == 11)
        #expect(finished.runs[0].items[0].traceID == "two")
    }

    @Test func batchesAreBoundedAndSoAreTheStatementsInFlight() throws {
        var settings = RefreshSettings()
        settings.batchMax = 10
        (settings.runsMax, settings.firstRunsMax) = (3, 3)
        var bench = Bench(["Q": try onM], settings: settings)
        var runs: [RunBatch] = []
        for number in 0..<100 { runs += bench.announce(RefreshFixture.query("Q", ["n": .int(Int64(number))])).runs }
        #expect(runs.map(\.items.count) == [1, 1, 1])
        #expect(bench.machine.dueCount == 97)
        var served = runs.flatMap(\.items).map(\.slot)
        while !runs.isEmpty {
            #expect(runs.count <= 3 && bench.machine.runsInFlightCount <= 3)
            let batch = runs.removeFirst()
            #expect(batch.items.count <= 10)
            let next = bench.finish(batch, RefreshFixture.result(1)).runs
            served += next.flatMap(\.items).map(\.slot)
            runs += next
        }
        #expect(served.count == 100 && Set(served).count == 100)
        #expect(bench.machine.runsInFlightCount == 0 && bench.machine.dueCount == 0)
    }

    @Test func aHotOperationDoesNotStarveAnother() throws {
        var settings = RefreshSettings()
        settings.batchMax = 10
        settings.runsMax = 1
        var bench = Bench(["Q": try onM, "Cold": RefreshFixture.rules()], settings: settings)
        var batch = bench.announce(RefreshFixture.query("Q", ["n": -1])).runs[0]
        for number in 0..<500 {
            #expect(bench.announce(RefreshFixture.query("Q", ["n": .int(Int64(number))])).isNothing)
        }
        #expect(bench.announce(RefreshFixture.query("Cold")).isNothing)
        var turns: [String] = []
        for _ in 0..<3 {
            let next = bench.finish(batch, RefreshFixture.result(1)).runs
            batch = next[0]
            turns.append(batch.operation.operation)
        }
        #expect(turns.contains("Cold"))
    }

    @Test func anIntervalRunsOnItsGridAndOnceForAll() throws {
        let everyMs: Int64 = 10_000
        var bench = Bench.settled(RefreshFixture.rules(everyMs: everyMs))
        _ = bench.announce(from: "g2", known: KnownResult(digest: RefreshFixture.digest(1), position: nil))
        var runs = 0
        for _ in 0..<6 {
            let due = try #require(bench.machine.nextDeadlineMs)
            #expect(due == IntervalGrid.next(after: due - 1, everyMs: everyMs, key: RefreshFixture.query().key))
            let asked = bench.advance(due - bench.nowMs)
            for batch in asked.runs { _ = bench.finish(batch, .unchanged) }
            runs += asked.runs.count
        }
        #expect(runs == 6)
    }

    @Test func anIntervalLongerThanAPauseFiresOnceAfterIt() {
        var bench = Bench.settled(RefreshFixture.rules(everyMs: 100_000))
        #expect(bench.advance(3_600_000).runs.count == 1)
        #expect((bench.machine.nextDeadlineMs ?? 0) > bench.nowMs)
    }

    /// The last run starts after the last event, whatever the order of events, ends of runs and time.
    @Test(arguments: 1...30)
    func theFinalStateIsNeverDropped(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var settings = RefreshSettings()
        settings.runsMax = Int.random(in: 1...3, using: &random)
        settings.batchMax = Int.random(in: 1...3, using: &random)
        var bench = Bench(["Q": try onM], settings: settings)
        let queries = (0..<5).map { RefreshFixture.query("Q", ["n": .int($0)]) }
        var flying: [(batch: RunBatch, version: Int)] = []
        var version = 0
        var screens: [LiveQueryKey: Int] = [:]
        func take(_ asked: Asked) {
            for batch in asked.runs {
                #expect(batch.items.count <= settings.batchMax)
                flying.append((batch, version))
            }
            for case (_, .result(_, let key, let result, _)) in asked.sent {
                let text = String(decoding: result.answer.body.dropFirst(5).dropLast(), as: UTF8.self)
                screens[key] = Int(text)
            }
            let items = flying.flatMap(\.batch.items).map(\.slot)
            #expect(Set(items).count == items.count, "two runs of one live query in flight, seed \(seed)")
        }
        for query in queries { take(bench.announce(query)) }
        for _ in 0..<300 {
            switch Int.random(in: 0..<5, using: &random) {
            case 0:
                version += 1
                take(bench.event())
            case 1, 2:
                guard !flying.isEmpty else { continue }
                let run = flying.remove(at: Int.random(in: 0..<flying.count, using: &random))
                let digest = RefreshFixture.digest(run.version)
                let outcomes = run.batch.items.map {
                    $0.knownDigest == digest ? .unchanged : RefreshFixture.result(run.version)
                }
                take(bench.finish(run.batch, outcomes))
            default: take(bench.advance(Int64.random(in: 0...15, using: &random)))
            }
        }
        while !flying.isEmpty || bench.machine.nextDeadlineMs != nil {
            while let run = flying.popLast() {
                let digest = RefreshFixture.digest(run.version)
                let outcomes = run.batch.items.map {
                    $0.knownDigest == digest ? .unchanged : RefreshFixture.result(run.version)
                }
                take(bench.finish(run.batch, outcomes))
            }
            take(bench.advance(100))
        }
        #expect(queries.allSatisfy { screens[$0.key] == version }, "seed \(seed): \(screens.values) of \(version)")
    }
}
