import JSON
import LiveModel
import Refresh
import Testing

/// Which gateways are registered and what each of them is sent.
@Suite struct InterestTests {
    private var onM: QueryRules { get throws { RefreshFixture.rules([try RefreshFixture.trigger(nil)]) } }

    private func known(_ number: Int, _ position: Position? = nil) -> KnownResult {
        KnownResult(digest: RefreshFixture.digest(number), position: position)
    }

    @Test func aSecondGatewayThatHoldsTheResultCostsNoRun() throws {
        var bench = Bench.settled(try onM)
        let asked = bench.announce(from: "g2", known: known(1))
        #expect(asked.summary == ["g2:unchanged"] && asked.runs.isEmpty)
    }

    @Test func aSecondGatewayWithoutTheResultGetsItAlone() throws {
        var bench = Bench.settled(try onM)
        let asked = bench.announce(from: "g2")
        #expect(asked.runs.count == 1 && asked.sent.isEmpty)
        #expect(asked.runs[0].items[0].knownDigest == nil)
        #expect(bench.finish(asked.runs[0], RefreshFixture.result(1)).summary == [#"g2:result {"v":1}"#])
    }

    @Test func anEventOfOneShardConcernsThatShardsLiveQueriesAlone() throws {
        var bench = Bench.settled(try onM)
        let other = ShardID(1)
        // While an operation's splits change, a live query may stand at two shards of one worker.
        bench.machine.shardAcquired(other, epoch: 3, lastEventID: bench.lastID, history: [], nowMs: bench.nowMs)
        #expect(!bench.machine.hasLiveQueries(other))
        let message = ControlMessage.announce(
            gateway: NodeID("g2"), query: RefreshFixture.query(), known: nil, announcement: AnnouncementID())
        let first = Asked(bench.machine.controlArrived(other, message, nowMs: bench.nowMs))
        #expect(first.runs.map(\.items.count) == [1] && bench.machine.hasLiveQueries(other))
        _ = bench.finish(first.runs[0], RefreshFixture.result(1))
        bench.nowMs += 1_000
        let run = bench.event().runs
        #expect(run.map(\.items.count) == [1])
        #expect(bench.finish(run[0], RefreshFixture.result(2)).summary == [#"g:result {"v":2}"#])
        bench.nowMs += 1_000
        let later = bench.machine.eventsArrived(
            other, [EventEntry(id: bench.lastID, event: RefreshFixture.event())], nowMs: bench.nowMs)
        #expect(bench.finish(Asked(later).runs[0], RefreshFixture.result(2)).summary == [#"g2:result {"v":2}"#])
        bench.machine.shardLost(other)
        #expect(!bench.machine.hasLiveQueries(other) && bench.event().runs.count == 1)
    }

    @Test func aGatewayAnnouncedDuringAnUnchangedRunCausesAnother() throws {
        var bench = Bench.settled(try onM)
        let run = bench.event().runs[0]
        #expect(run.items[0].knownDigest == RefreshFixture.digest(1))
        #expect(bench.announce(from: "g2").isNothing)
        bench.nowMs += 100
        let finished = bench.finish(run, .unchanged)
        #expect(finished.sent.isEmpty && finished.runs.count == 1)
        #expect(finished.runs[0].items[0].knownDigest == nil)
        #expect(bench.finish(finished.runs[0], RefreshFixture.result(1)).summary == [#"g2:result {"v":1}"#])
    }

    @Test func aChangeGoesToEveryGatewayOnce() throws {
        var bench = Bench.settled(try onM)
        _ = bench.announce(from: "g2", known: known(1))
        let run = bench.event().runs[0]
        let finished = bench.finish(run, RefreshFixture.result(2))
        #expect(finished.summary == [#"g:result {"v":2}"#, #"g2:result {"v":2}"#])
    }

    @Test func anUnchangedResultTravelsNowhere() throws {
        var bench = Bench.settled(try onM)
        let run = bench.event().runs[0]
        #expect(bench.finish(run, .unchanged).isNothing)
    }

    @Test func announcingAgainIsHarmless() throws {
        var bench = Bench.settled(try onM)
        #expect(bench.announce(known: known(1)).summary == ["g:unchanged"])
        #expect(bench.machine.liveQueryCount == 1)
        _ = bench.tell(.withdraw(gateway: NodeID("g"), key: RefreshFixture.query().key))
        #expect(bench.machine.liveQueryCount == 0)
        #expect(bench.tell(.withdraw(gateway: NodeID("g"), key: RefreshFixture.query().key)).isNothing)
    }

    @Test func theLastOneToLeaveEndsTheLiveQuery() throws {
        var bench = Bench.settled(try onM)
        _ = bench.announce(from: "g2", known: known(1))
        _ = bench.tell(.withdraw(gateway: NodeID("g"), key: RefreshFixture.query().key))
        #expect(bench.event().runs.count == 1)
        bench.machine.gatewayGone(NodeID("g2"))
        #expect(bench.machine.liveQueryCount == 0)
        #expect(bench.event().isNothing)
    }

    @Test func aGatewayThatTwoListsDoNotNameIsGone() throws {
        var bench = Bench.settled(try onM)
        _ = bench.announce(from: "g2", known: known(1))
        let listed: Set = [NodeID("g2"), NodeID("idle")]
        #expect(bench.machine.gatewaysListed(listed).gone.isEmpty, "its record may be on its way")
        #expect(bench.machine.gatewaysListed(listed.union([NodeID("g")])).gone.isEmpty)
        #expect(bench.machine.gatewaysListed(listed).gone.isEmpty)
        #expect(bench.machine.gatewaysListed(listed).gone == [NodeID("g")])
        #expect(bench.finish(bench.event().runs[0], RefreshFixture.result(2)).summary == [#"g2:result {"v":2}"#])
        #expect(bench.machine.gatewaysListed([]).gone.isEmpty)
        #expect(bench.machine.gatewaysListed([]).gone == [NodeID("g2")])
        #expect(bench.machine.liveQueryCount == 0)
    }

    @Test func aGatewayThatReturnsToTheListIsNew() throws {
        var bench = Bench.settled(try onM)
        let (g, other) = (NodeID("g"), NodeID("other"))
        #expect(bench.machine.gatewaysListed([g, other]).new == [g, other])
        #expect(bench.machine.gatewaysListed([g, other]).new.isEmpty)
        #expect(bench.machine.gatewaysListed([other]).new.isEmpty)
        #expect(bench.machine.gatewaysListed([g, other]).new == [g], "it may have missed what happened meanwhile")
    }

    @Test func aMatchingSummaryIsQuietAnotherOneAsksForEverything() throws {
        var bench = Bench.settled(try onM)
        let prefix = RefreshFixture.query().key.digest.prefix
        #expect(bench.tell(.summary(gateway: NodeID("g"), count: 1, fingerprint: prefix)).isNothing)
        #expect(bench.tell(.summary(gateway: NodeID("g3"), count: 0, fingerprint: 0)).isNothing)
        #expect(
            bench.tell(.summary(gateway: NodeID("g"), count: 1, fingerprint: ~prefix)).summary == [
                "g:announceAll \(Bench.epoch)"
            ])
        #expect(bench.machine.liveQueryCount == 0)
        #expect(bench.tell(.summary(gateway: NodeID("g"), count: 0, fingerprint: 0)).isNothing)
    }

    @Test func refusalsAreAnswered() throws {
        var settings = RefreshSettings()
        settings.liveQueriesMax = 1
        var bench = Bench.settled(try onM, settings: settings)
        #expect(bench.announce(RefreshFixture.query("Q", ["n": 1])).summary == ["g:failed LIMIT_EXCEEDED"])
        _ = bench.tell(.leave(gateway: NodeID("g")))
        #expect(bench.announce(RefreshFixture.query("Unknown")).summary == ["g:failed UNAVAILABLE"])
        #expect(bench.machine.liveQueryCount == 0)
    }

    @Test func aShardThatIsNotOwnedIsSilent() throws {
        var bench = Bench(["Q": try onM], isOwner: false)
        #expect(bench.announce().isNothing && bench.event().isNothing)
        #expect(bench.machine.ownedShards.isEmpty)
    }

    @Test func aMessageThatWasNotSentIsSentAgain() throws {
        var bench = Bench.settled(try onM)
        let run = bench.event().runs[0]
        _ = bench.finish(run, RefreshFixture.result(2))
        bench.machine.sendFailed(NodeID("g"), [RefreshFixture.query().key], nowMs: bench.nowMs)
        let again = bench.advance(bench.machine.settings.retryMinMs)
        #expect(again.runs.count == 1 && again.runs[0].items[0].knownDigest == nil)
        #expect(bench.finish(again.runs[0], RefreshFixture.result(2)).summary == [#"g:result {"v":2}"#])
    }

    @Test func aMessageNotSentDuringARunMakesThatRunBringTheBody() throws {
        var bench = Bench.settled(try onM)
        let run = bench.event().runs[0]
        bench.machine.sendFailed(NodeID("g"), [RefreshFixture.query().key], nowMs: bench.nowMs)
        bench.nowMs += 100
        let finished = bench.finish(run, .unchanged)
        #expect(finished.runs.count == 1)
        #expect(bench.finish(finished.runs[0], RefreshFixture.result(1)).summary == [#"g:result {"v":1}"#])
    }
}
