import JSON
import LiveModel
import Refresh
import Testing

/// Settled messages: the event up to which untouched results of a gateway are fresh.
@Suite struct SettledTests {
    private static let other = RefreshFixture.event("Other")
    private static let gateway = NodeID("g")

    private func onM() throws -> QueryRules { RefreshFixture.rules([try RefreshFixture.trigger(nil)]) }

    private func summary(_ queries: [LiveQuery], settled: StreamID? = .zero) -> ControlMessage {
        .summary(
            gateway: Self.gateway, count: queries.count,
            fingerprint: queries.reduce(0) { $0 ^ $1.key.digest.prefix }, settled: settled)
    }

    private func held(_ results: [(LiveQuery, Int)]) -> HeldFingerprint {
        results.reduce(into: HeldFingerprint()) { $0.insert($1.0.key, RefreshFixture.digest($1.1)) }
    }

    @Test func aSummaryThatFitsIsAnsweredOncePerNews() throws {
        var bench = Bench.settled(try onM())
        let query = RefreshFixture.query()
        _ = bench.event(Self.other)
        let sent = bench.tell(summary([query])).sent.map(\.message)
        #expect(
            sent == [
                .settled(
                    shard: Bench.shard, epoch: Bench.epoch, through: bench.lastID, except: [], held: held([(query, 1)]))
            ])
        #expect(bench.tell(summary([query], settled: bench.lastID)).isNothing, "no event since")
        #expect(bench.tell(summary([query])).sent.count == 1, "it did not believe, or did not hear")
        #expect(bench.tell(summary([query], settled: nil)).isNothing, "it does not listen")
        _ = bench.event(Self.other)
        #expect(bench.tell(summary([query])).summary == ["g:settled \(bench.lastID) except 0"])
    }

    @Test func aSummaryThatDiffersRequestsAnnouncementsOnly() throws {
        var bench = Bench.settled(try onM())
        _ = bench.event(Self.other)
        #expect(bench.tell(summary([])).summary == ["g:announceAll \(Bench.epoch)"])
    }

    @Test func queriesUnderWayAreNotReportedAsSettled() throws {
        var bench = Bench.settled(try onM())
        let (quiet, query) = (RefreshFixture.query("R"), RefreshFixture.query())
        bench = Bench(["Q": try onM(), "R": RefreshFixture.rules()])
        for query in [query, quiet] { _ = bench.finish(bench.announce(query).runs[0], RefreshFixture.result(1)) }
        bench.nowMs += 1_000
        let run = bench.event().runs[0]
        let sent = bench.tell(summary([query, quiet])).sent.map(\.message)
        #expect(
            sent == [
                .settled(
                    shard: Bench.shard, epoch: Bench.epoch, through: bench.lastID, except: [query.key],
                    held: held([(quiet, 1)]))
            ])
        // A run that failed covers nothing.
        _ = bench.finish(run, .failed(RequestError(.timeout, "slow")))
        _ = bench.event(Self.other)
        #expect(bench.tell(summary([query, quiet])).summary == ["g:settled \(bench.lastID) except 1"])
        // Nor does what could not be sent.
        bench.nowMs += 60_000
        let again = Asked(bench.machine.timeReached(nowMs: bench.nowMs)).runs[0]
        _ = bench.finish(again, RefreshFixture.result(2))
        bench.machine.sendFailed(Self.gateway, [query.key], nowMs: bench.nowMs)
        _ = bench.event(Self.other)
        #expect(bench.tell(summary([query, quiet])).summary == ["g:settled \(bench.lastID) except 1"])
    }

    @Test func unsettledLiveQueriesAreNotReportedAsSettled() throws {
        var bench = Bench(["Q": try onM()])
        let run = bench.announce().runs[0]
        _ = bench.event(Self.other)
        #expect(bench.tell(summary([RefreshFixture.query()])).isNothing)
        _ = bench.finish(run, RefreshFixture.result(1))
        #expect(bench.tell(summary([RefreshFixture.query()])).summary == ["g:settled \(bench.lastID) except 0"])
    }

    @Test func tooManyExceptionsAreNoAnswer() throws {
        var settings = RefreshSettings()
        settings.settledExceptionsMax = 0
        var bench = Bench(["Q": try onM(), "R": RefreshFixture.rules()], settings: settings)
        let queries = [RefreshFixture.query(), RefreshFixture.query("R")]
        for query in queries { _ = bench.finish(bench.announce(query).runs[0], RefreshFixture.result(1)) }
        bench.nowMs += 1_000
        let run = bench.event().runs[0]
        #expect(bench.tell(summary(queries)).isNothing)
        _ = bench.finish(run, .unchanged)
        #expect(bench.tell(summary(queries)).summary == ["g:settled \(bench.lastID) except 0"])
    }

    @Test func announcingAgainTakesNothingBack() throws {
        var bench = Bench.settled(try onM())
        for _ in 0..<5 { _ = bench.event(Self.other) }
        let held = KnownResult(
            digest: RefreshFixture.digest(1), position: Position(epoch: Bench.epoch, run: 1, id: bench.lastID))
        #expect(bench.announce(known: held).positions == [held.position])
    }

    @Test func aShardOfVeryManyIsNotLookedAt() throws {
        var settings = RefreshSettings()
        settings.settledLiveQueriesMax = 1
        var bench = Bench(["Q": try onM(), "R": RefreshFixture.rules()], settings: settings)
        _ = bench.finish(bench.announce().runs[0], RefreshFixture.result(1))
        #expect(bench.tell(summary([RefreshFixture.query()])).sent.count == 1)
        _ = bench.finish(bench.announce(RefreshFixture.query("R")).runs[0], RefreshFixture.result(1))
        #expect(bench.tell(summary([RefreshFixture.query(), RefreshFixture.query("R")])).isNothing)
    }
}
