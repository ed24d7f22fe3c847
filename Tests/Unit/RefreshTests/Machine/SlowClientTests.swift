import JSON
import LiveModel
import Testing

@testable import Refresh

/// Slow live queries of several clients.
@Suite struct SlowClientTests {
    private func bench(_ change: (inout RefreshSettings) -> Void = { _ in }) throws -> Bench {
        var settings = RefreshSettings()
        (settings.slowRunsMax, settings.apartRunsMax) = (2, 2)
        change(&settings)
        return Bench(["Q": RefreshFixture.rules([try RefreshFixture.trigger(nil)])], settings: settings)
    }

    private func query(_ number: Int) -> LiveQuery { RefreshFixture.query("Q", ["n": .int(Int64(number))]) }

    private func announce(_ number: Int, by client: UInt64, to bench: inout Bench) -> [RunBatch] {
        bench.announce(query(number), announcement: AnnouncementID(client: ClientID(number: client))).runs
    }

    private func numbers(_ runs: [RunBatch]) -> [Int64] {
        runs.flatMap(\.items).map { item in
            guard case .int(let number)? = item.query.variables["n"] else { return -1 }
            return number
        }
    }

    /// Cuts runs short until all are known to be slow, and returns those in flight then.
    private func cutShort(_ runs: [RunBatch], in bench: inout Bench) -> [RunBatch] {
        var (waiting, slow) = (runs, [RunBatch]())
        while !waiting.isEmpty {
            let batch = waiting.removeFirst()
            if batch.mode == .apart(limitMs: nil) {
                slow.append(batch)
            } else {
                waiting += bench.finish(batch, .cutShort).runs
            }
        }
        return slow
    }

    @Test func clientWithManySlowLiveQueriesLeavesARunToAnotherOne() throws {
        var bench = try bench()
        let stuck = cutShort((0..<8).flatMap { announce($0, by: 1, to: &bench) }, in: &bench)
        #expect(stuck.count == 1)
        let other = cutShort(announce(10, by: 2, to: &bench), in: &bench)
        #expect(numbers(other) == [10])
        #expect(bench.machine.dueCount == 7)
    }

    @Test func clientsTakeTurns() throws {
        var bench = try bench { $0.slowRunsMax = 1 }
        var running = cutShort((0..<8).flatMap { announce($0, by: 1, to: &bench) }, in: &bench)
        #expect(running.count == 1)
        for number in 10..<12 { _ = cutShort(announce(number, by: 2, to: &bench), in: &bench) }
        var order: [Int64] = []
        while let batch = running.popLast() {
            order += numbers([batch])
            running += bench.finish(batch, RefreshFixture.result(1)).runs.filter { $0.mode == .apart(limitMs: nil) }
        }
        #expect(order.prefix(5).filter { $0 >= 10 } == [10, 11], "\(order)")
    }

    @Test func newcomerToASlowOperationGoesBeforeItsRepeats() throws {
        var bench = try bench { $0.slowRunsMax = 1 }
        var running = cutShort((0..<6).flatMap { announce($0, by: UInt64($0), to: &bench) }, in: &bench)
        while let batch = running.popLast() {
            bench.nowMs += 2_000
            running += bench.finish(batch, RefreshFixture.result(1)).runs
        }
        _ = bench.advance(1_000)
        let repeats = bench.event().runs
        #expect(repeats.count == 1 && bench.machine.dueCount == 5)
        let trial = announce(20, by: 20, to: &bench)
        #expect(cutShort(trial, in: &bench).isEmpty, "the only run is taken")
        #expect(numbers(bench.finish(repeats[0], .unchanged).runs) == [20])
    }

    @Test func liveQueryOfSeveralClientsTakesItsTurnsAsItsOperation() throws {
        var bench = try bench()
        let stuck = cutShort(announce(0, by: 1, to: &bench), in: &bench)
        #expect(stuck.count == 1)
        // Another gateway names another client.
        _ = bench.announce(query(0), from: "h", announcement: AnnouncementID(client: ClientID(number: 2)))
        bench.nowMs += 2_000
        let slow = bench.finish(stuck[0], RefreshFixture.result(1)).runs + bench.advance(60_000).runs
        #expect(slow.map(\.mode) == [.apart(limitMs: nil)])
        let own = cutShort(announce(1, by: 1, to: &bench), in: &bench)
        #expect(numbers(own) == [1], "the run of the shared one is not the client's")
    }

    /// Runs without a cause are many after a take-over.
    @Test func newcomerTakesTurnsWithRunsWithoutACause() throws {
        var bench = try bench { $0.slowRunsMax = 1 }
        let stuck = cutShort((0..<6).flatMap { announce($0, by: UInt64($0), to: &bench) }, in: &bench)
        var running = stuck
        while let batch = running.popLast() {
            bench.nowMs += 2_000
            running += bench.finish(batch, RefreshFixture.result(1)).runs
        }
        _ = bench.advance(1_000)
        let lost = bench.machine.eventsLost(Bench.shard, lastEventID: RefreshFixture.id(200), nowMs: bench.nowMs)
        running = Asked(lost).runs
        #expect(running.count == 1 && bench.machine.pacedCount == 5)
        #expect(cutShort(announce(20, by: 20, to: &bench), in: &bench).isEmpty, "the only run is taken")
        let next = bench.finish(running[0], .unchanged).runs
        #expect(numbers(next) == [20])
        #expect(bench.finish(next[0], RefreshFixture.result(1)).runs.count == 1)
    }
}
