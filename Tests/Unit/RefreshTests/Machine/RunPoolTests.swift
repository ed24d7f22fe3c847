import JSON
import LiveModel
import Refresh
import Testing

/// Queries that wait for other servers have runs of their own.
@Suite struct RunPoolTests {
    private func rules(_ servers: [String] = []) throws -> QueryRules {
        var rules = RefreshFixture.rules([try RefreshFixture.trigger(nil)])
        rules.otherServers = servers
        return rules
    }

    private func bench(_ change: (inout RefreshSettings) -> Void = { _ in }) throws -> Bench {
        var settings = RefreshSettings()
        (settings.runsMax, settings.remoteRunsMax, settings.firstRunsMax) = (3, 4, 3)
        change(&settings)
        return Bench(
            [
                "Q": try rules(), "Near": try rules(["http://near"]), "Remote": try rules(["http://remote"]),
                "Both": try rules(["http://near", "http://remote"]), "Other": try rules(["http://other"]),
            ], settings: settings)
    }

    private func query(_ name: String, _ number: Int) -> LiveQuery {
        RefreshFixture.query(name, ["n": .int(Int64(number))])
    }

    @Test func otherQueriesRunWhileAllRunsThatWaitForServersAreTaken() throws {
        var bench = try bench()
        // Newcomers during a hang: each is a run, up to the server's share.
        let stuck = (0..<5).flatMap { bench.announce(query("Near", $0)).runs }
        #expect(stuck.count == 2)
        // All others have the whole of theirs.
        var plain = (0..<5).flatMap { bench.announce(query("Q", $0)).runs }
        #expect(plain.map(\.items.count) == [1, 1, 1])
        #expect(bench.machine.runsInFlightCount == 5)
        plain += bench.finish(plain.removeFirst(), RefreshFixture.result(1)).runs
        #expect(plain.count == 3 && plain.allSatisfy { $0.operation == RefreshFixture.operation("Q") })
        for batch in plain { #expect(bench.finish(batch, RefreshFixture.result(1)).runs.isEmpty) }
        _ = bench.advance(1_000)
        let touched = bench.event().runs
        #expect(touched.flatMap(\.items).count == 5 && touched.count == 1)
        // One of the stuck ends: those that waited run together.
        let next = bench.finish(stuck[0], RefreshFixture.result(1)).runs
        #expect(next.map(\.operation) == [RefreshFixture.operation("Near")])
        #expect(next[0].items.count == 4, "three that waited and the first, which the event touched")
    }

    @Test func theyTakeTheirTurnsWhileAllOtherRunsAreTaken() throws {
        var bench = try bench()
        let plain = (0..<9).flatMap { bench.announce(query("Q", $0)).runs }
        #expect(plain.count == 3 && bench.machine.dueCount == 6)
        var remote = ["Near", "Near", "Remote", "Remote"].enumerated()
            .flatMap { bench.announce(query($1, $0)).runs }
        #expect(remote.count == 4)
        remote += ["Near", "Other"].flatMap { bench.announce(query($0, 9)).runs }
        #expect(remote.count == 4)
        // Turns among them, too.
        remote =
            bench.finish(remote[0], RefreshFixture.result(1)).runs
            + bench.finish(remote[1], RefreshFixture.result(1)).runs
        #expect(remote.map(\.operation.operation) == ["Near", "Other"])
        #expect(bench.machine.dueCount == 6, "no run of the others ended")
    }

    @Test(arguments: [(remoteRunsMax: 8, share: 4), (5, 2), (2, 1)])
    func serverThatHangsLeavesHalfOfTheRunsToOthers(remoteRunsMax: Int, share: Int) throws {
        var bench = try bench { $0.remoteRunsMax = remoteRunsMax }
        let stuck = (0..<20).flatMap { bench.announce(query("Near", $0)).runs }
        #expect(stuck.count == share)
        #expect(bench.announce(query("Both", 0)).runs.isEmpty, "it waits for that server, too")
        #expect(bench.announce(query("Remote", 0)).runs.map(\.items.count) == [1])
        let next = bench.finish(stuck[0], RefreshFixture.result(1)).runs
        #expect(next.map(\.operation.operation) == ["Near"] && next[0].items.count == 20 - share)
        // Also of runs without a cause.
        let known = KnownResult(digest: RefreshFixture.digest(7), position: nil)
        #expect(bench.announce(query("Near", 30), known: known).runs.isEmpty)
        #expect(bench.finish(next[0], RefreshFixture.result(1)).runs.map(\.items.count) == [1])
    }

    @Test func onlyServerRunsAloneWhereThereIsOneRun() throws {
        var bench = try bench { $0.remoteRunsMax = 1 }
        let first = bench.announce(query("Near", 0)).runs
        #expect(first.count == 1 && bench.announce(query("Near", 1)).runs.isEmpty)
        #expect(bench.finish(first[0], RefreshFixture.result(1)).runs.map(\.items.count) == [1])
    }

    @Test func failedRemoteRunsAreRetriedAlone() throws {
        var bench = try bench { $0.remoteRunsMax = 1 }
        let ill = bench.announce(query("Near", 0)).runs[0]
        _ = bench.announce(query("Near", 1))
        _ = bench.announce(query("Near", 2))
        let well = bench.finish(ill, .failed(RequestError(.timeout, "slow"))).runs
        #expect(well.map { $0.items.map(\.query) } == [[query("Near", 1), query("Near", 2)]])
        // All three are due when that has ended.
        _ = bench.advance(60_000)
        _ = bench.event()
        let apart = bench.finish(well[0], RefreshFixture.result(1)).runs
        #expect(apart.map { $0.items.map(\.query) } == [[query("Near", 0)]])
        let next = bench.finish(apart[0], RefreshFixture.result(1)).runs
        #expect(next.map(\.items.count) == [2])
        // It is one of them again.
        _ = bench.finish(next[0], RefreshFixture.result(2))
        _ = bench.advance(1_000)
        #expect(bench.event().runs.map(\.items.count) == [3])
    }

    @Test func runsWithoutACauseArePacedAlike() throws {
        var bench = try bench { $0.pacedStatementsMax = 1 }
        let known = KnownResult(digest: RefreshFixture.digest(7), position: nil)
        let stuck = (0..<3).flatMap { bench.announce(query("Near", $0), known: known).runs }
        #expect(stuck.count == 1 && bench.machine.pacedCount == 2)
        let plain = bench.announce(query("Q", 0), known: known).runs
        #expect(plain.count == 1, "its own statement at a pace")
        #expect(bench.finish(plain[0], .unchanged).summary == ["g:unchanged"])
        let next = bench.finish(stuck[0], .unchanged).runs
        #expect(next.map(\.items.count) == [2])
        _ = bench.finish(next[0], .unchanged)
        #expect(bench.machine.pacedCount == 0 && bench.machine.runsInFlightCount == 0)
    }

    @Test func withdrawnQueriesLeaveNothingBehind() throws {
        var bench = try bench()
        let stuck = (0..<4_000).flatMap { bench.announce(query("Near", $0)).runs }
        for number in 0..<4_000 {
            _ = bench.tell(.withdraw(gateway: NodeID("g"), key: query("Near", number).key))
        }
        #expect(bench.machine.dueCount <= RefreshMachine.leftoversMax)
        for batch in stuck { #expect(bench.finish(batch, RefreshFixture.result(1)).isNothing) }
        #expect(bench.machine.runsInFlightCount == 0 && bench.machine.dueCount == 0)
    }
}
