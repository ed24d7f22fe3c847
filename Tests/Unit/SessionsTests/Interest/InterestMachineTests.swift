import JSON
import LiveModel
import Sessions
import Testing

@Suite struct InterestMachineTests {
    private let gateway = NodeID("g")

    private func machine(_ change: (inout InterestMachine.Settings) -> Void = { _ in }) -> InterestMachine {
        var settings = InterestMachine.Settings()
        change(&settings)
        return InterestMachine(gateway: gateway, settings: settings)
    }

    /// The actions in short.
    private func texts(_ actions: [InterestMachine.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .tell(_, .announce(_, _, let known, let announcement)):
                (known.map { "announce \(name($0.digest))" } ?? "announce")
                    + (announcement.requiresFreshRun ? " fresh" : "")
            case .tell(_, .withdraw): "withdraw"
            case .tell(_, .leave): "leave"
            case .tell(_, .summary(_, let count, _, _)): "summary \(count)"
            case .deliver(let hubs, _, let delivery, _): "deliver \(hubs) \(text(delivery))"
            case .readEpoch: "read epoch"
            case .forgetPositions(let hubs, _, _): "forget positions \(hubs)"
            case .reportEpoch(_, let named, let recorded): "report \(named) \(recorded)"
            case .passMarker(let arrived): "marker \(arrived.marker.dueMs)"
            case .appendTicket(_, let number): "ticket \(number)"
            case .answerWait(_, let id, let error, _): "wait \(id) \(error?.code.rawValue ?? "over")"
            }
        }
    }

    private func text(_ delivery: InterestMachine.Delivery) -> String {
        switch delivery {
        case .result(let result): "result \(String(decoding: result.answer.body, as: UTF8.self))"
        case .unchanged(let digest, _): "unchanged \(name(digest))"
        case .unchangedTick(let result): "again \(String(decoding: result.answer.body, as: UTF8.self))"
        case .failed(let error): "failed \(error.code.rawValue)"
        case .unanswered(let error): "unanswered \(error.code.rawValue)"
        }
    }

    private func name(_ digest: Digest) -> String {
        (0..<20).first { SessionFixture.digest($0) == digest }.map(String.init) ?? "?"
    }

    private func holding(_ number: Int = 1, _ run: UInt64 = 5) throws -> InterestMachine {
        var machine = machine()
        _ = try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, nowMs: 0)
        _ = machine.inboxArrived(SessionFixture.result(number, run), nowMs: 1)
        return machine
    }

    @Test func unansweredQueriesAreAnnouncedAtOnceWhenTheBrokerIsBack() throws {
        var machine = try holding()
        let other = SessionFixture.query(2)
        _ = try machine.subscribed(hub: 0, other, known: nil, nowMs: 0)
        var nowMs: Int64 = 0
        for _ in 0..<20 {
            nowMs += InterestMachine.sweepMs
            _ = machine.timeReached(nowMs: nowMs)
        }
        #expect(texts(machine.brokerReconnected(nowMs: nowMs)) == ["announce"], "the other one has its answer")
        // The pauses start over.
        #expect(!texts(machine.timeReached(nowMs: nowMs + 1_500)).contains("announce"))
        #expect(texts(machine.timeReached(nowMs: nowMs + 2_000)).contains("announce"))
    }

    @Test func theFirstSubscriptionAnnouncesTheNextOnesDoNot() throws {
        var machine = machine()
        let first = try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, nowMs: 0)
        #expect(first.immediate == nil && texts(first.actions) == ["announce"])
        #expect(texts(try machine.subscribed(hub: 1, SessionFixture.query(), known: nil, nowMs: 0).actions).isEmpty)
        #expect(machine.subscriptionCount == 2 && machine.liveQueryCount == 1 && machine.awaitingCount == 1)
        #expect(texts(machine.inboxArrived(SessionFixture.result(1, 1), nowMs: 1)) == ["deliver [0, 1] result 1"])
        let third = try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, nowMs: 2)
        #expect(third.immediate.map(text) == "result 1" && third.actions.isEmpty)
        #expect(machine.awaitingCount == 0 && machine.resultBytes == 1)
    }

    @Test func anOlderOrEqualResultIsDropped() throws {
        var machine = try holding(1, 5)
        #expect(machine.inboxArrived(SessionFixture.result(2, 4), nowMs: 2).isEmpty)
        #expect(machine.inboxArrived(SessionFixture.result(2, 5), nowMs: 2).isEmpty)
        #expect(texts(machine.inboxArrived(SessionFixture.result(2, 6), nowMs: 2)) == ["deliver [0] result 2"])
        #expect(
            texts(machine.inboxArrived(SessionFixture.result(3, 1, epoch: 2), nowMs: 2)) == ["deliver [0] result 3"])
        #expect(texts(machine.inboxArrived(SessionFixture.result(4, 99, epoch: 1), nowMs: 2)) == ["read epoch"])
    }

    @Test func anOldOwnerIsSilencedAsSoonAsTheNewOneIsMet() throws {
        var machine = try holding(1, 5)
        #expect(
            texts(machine.inboxArrived(.announceAll(shard: SessionFixture.shard, epoch: 2), nowMs: 2)) == ["announce 1"]
        )
        #expect(
            texts(machine.inboxArrived(SessionFixture.result(2, 99, epoch: 1), nowMs: 3)) == ["read epoch"],
            "the first refused message")
        #expect(machine.inboxArrived(SessionFixture.failed(99, epoch: 1), nowMs: 3).isEmpty)
        #expect(machine.inboxArrived(.announceAll(shard: SessionFixture.shard, epoch: 1), nowMs: 3).isEmpty)
        #expect(machine.awaitingCount == 1)
        #expect(
            texts(machine.inboxArrived(SessionFixture.unchanged(1, 1, epoch: 2), nowMs: 4)) == ["deliver [0] result 1"])
        #expect(machine.awaitingCount == 0)
    }

    @Test func messagesAboutAnotherShardOrUnknownLiveQueriesAreDropped() throws {
        var machine = try holding()
        let other = ShardID(9)
        #expect(
            machine.inboxArrived(
                .result(
                    shard: other, key: SessionFixture.query().key, result: SessionFixture.live(2, 9), answers: .max),
                nowMs: 2
            )
            .isEmpty)
        #expect(machine.inboxArrived(SessionFixture.result(2, 9, query: SessionFixture.query(7)), nowMs: 2).isEmpty)
        #expect(texts(machine.timeReached(nowMs: 10_000)).filter { $0.hasPrefix("summary") } == ["summary 1"])
        #expect(machine.inboxArrived(.announceAll(shard: other, epoch: 4), nowMs: 10_001).isEmpty)
        #expect(
            texts(machine.timeReached(nowMs: 20_000)).filter { $0.hasPrefix("summary") } == ["summary 1", "summary 0"],
            "its owner may remember a former process of this name")
    }

    @Test func announcementsAreRepeatedWithDoublingDelays() throws {
        var machine = machine {
            $0.summaryMs = 1_000_000_000
            $0.answerMaxMs = 0
        }
        _ = machine.timeReached(nowMs: 0)
        _ = try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, nowMs: 0)
        var at: [Int64] = []
        for nowMs in stride(from: Int64(0), through: 150_000, by: Int(InterestMachine.sweepMs))
        where texts(machine.timeReached(nowMs: nowMs)) == ["announce"] { at.append(nowMs) }
        #expect(at == [2_000, 6_000, 14_000, 30_000, 60_000, 90_000, 120_000, 150_000])
        _ = machine.inboxArrived(SessionFixture.result(1, 1), nowMs: 150_001)
        #expect(machine.timeReached(nowMs: 300_000).isEmpty)
    }

    @Test func aLiveQueryLingersForTheNextSubscriber() throws {
        var machine = try holding()
        #expect(machine.unsubscribed(hub: 0, SessionFixture.query().key, nowMs: 1_000).isEmpty)
        #expect(machine.inboxArrived(SessionFixture.result(2, 6), nowMs: 1_500).isEmpty, "kept, nobody to deliver to")
        let back = try machine.subscribed(hub: 1, SessionFixture.query(), known: nil, nowMs: 20_000)
        #expect(back.immediate.map(text) == "result 2" && back.actions.isEmpty)
        #expect(machine.unsubscribed(hub: 1, SessionFixture.query().key, nowMs: 21_000).isEmpty)
        #expect(!texts(machine.timeReached(nowMs: 50_999)).contains("withdraw"))
        #expect(texts(machine.timeReached(nowMs: 51_500)).contains("withdraw"))
        #expect(machine.liveQueryCount == 0)
        #expect(machine.unsubscribed(hub: 1, SessionFixture.query().key, nowMs: 52_000).isEmpty)
    }

    @Test func withoutLingeringTheLastOneWithdraws() throws {
        var machine = machine { $0.lingerMs = 0 }
        _ = try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, nowMs: 0)
        _ = try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, nowMs: 0)
        #expect(machine.unsubscribed(hub: 0, SessionFixture.query().key, nowMs: 1).isEmpty)
        #expect(machine.unsubscribed(hub: 5, SessionFixture.query().key, nowMs: 1).isEmpty, "not there")
        #expect(texts(machine.unsubscribed(hub: 0, SessionFixture.query().key, nowMs: 1)) == ["withdraw"])
        let summaries = texts(machine.timeReached(nowMs: 20_000))
        #expect(summaries == ["summary 0"], "a shard that once got an announcement gets a count of zero, too")
    }

    @Test func liveQueriesAreBounded() throws {
        var machine = machine { $0.liveQueriesMax = 1 }
        _ = try machine.subscribed(hub: 0, SessionFixture.query(1), known: nil, nowMs: 0)
        #expect(throws: RequestError.self) {
            try machine.subscribed(hub: 0, SessionFixture.query(2), known: nil, nowMs: 0)
        }
        _ = try machine.subscribed(hub: 0, SessionFixture.query(1), known: nil, nowMs: 0)
    }

    // MARK: What clients say they hold

    @Test func aReportedResultTravelsAndIsConfirmed() throws {
        var machine = machine()
        let known = SessionFixture.known(1, SessionFixture.position(4))
        #expect(
            texts(try machine.subscribed(hub: 0, SessionFixture.query(), known: known, nowMs: 0).actions) == [
                "announce 1"
            ])
        #expect(texts(machine.inboxArrived(SessionFixture.unchanged(1, 6), nowMs: 1)) == ["deliver [0] unchanged 1"])
        let same = try machine.subscribed(hub: 0, SessionFixture.query(), known: known, nowMs: 2)
        #expect(same.immediate.map(text) == "unchanged 1" && same.actions.isEmpty)
        // A subscriber without it needs the body.
        let other = try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, nowMs: 3)
        #expect(other.immediate == nil && texts(other.actions) == ["announce"])
    }

    @Test func aForgedReportDoesNotStopDelivery() throws {
        var machine = machine()
        let forged = SessionFixture.known(1, Position(epoch: .max, run: .max, id: .max))
        _ = try machine.subscribed(hub: 0, SessionFixture.query(), known: forged, nowMs: 0)
        #expect(texts(machine.inboxArrived(SessionFixture.result(2, 1), nowMs: 1)) == ["deliver [0] result 2"])
    }

    @Test func aReportedResultThatWasAnsweredWithAFailureIsNotConfirmed() throws {
        var machine = machine()
        let known = SessionFixture.known(1, SessionFixture.position(4))
        _ = try machine.subscribed(hub: 0, SessionFixture.query(), known: known, nowMs: 0)
        #expect(
            texts(machine.inboxArrived(SessionFixture.failed(6), nowMs: 1)) == ["deliver [0] failed DATABASE_ERROR"])
        let second = try machine.subscribed(hub: 0, SessionFixture.query(), known: known, nowMs: 2)
        #expect(second.immediate == nil && texts(second.actions) == ["announce"])
    }

    @Test func aClientThatSawNewerMakesTheGatewayAsk() throws {
        var machine = try holding(1, 5)
        let newer = try machine.subscribed(
            hub: 0, SessionFixture.query(), known: SessionFixture.known(2, SessionFixture.position(9)), nowMs: 2)
        #expect(newer.immediate == nil && texts(newer.actions) == ["announce 1 fresh"])
        let older = try machine.subscribed(
            hub: 0, SessionFixture.query(), known: SessionFixture.known(2, SessionFixture.position(3)), nowMs: 2)
        #expect(older.immediate.map(text) == "result 1")
        let same = try machine.subscribed(
            hub: 0, SessionFixture.query(), known: SessionFixture.known(1, SessionFixture.position(3)), nowMs: 2)
        #expect(same.immediate.map(text) == "unchanged 1")
    }

    @Test func anUnchangedAnswerForAnotherResultCausesAnAnnouncement() throws {
        var machine = try holding(1, 5)
        #expect(texts(machine.inboxArrived(SessionFixture.unchanged(3, 7), nowMs: 2)) == ["announce 1"])
        // While that announcement is under way there is no need for another.
        #expect(machine.inboxArrived(SessionFixture.unchanged(3, 8), nowMs: 3).isEmpty)
    }

    @Test func unchangedMovesThePositionForward() throws {
        var machine = try holding(1, 5)
        _ = machine.inboxArrived(SessionFixture.unchanged(1, 8), nowMs: 2)
        #expect(machine.inboxArrived(SessionFixture.result(2, 7), nowMs: 3).isEmpty)
        #expect(machine.inboxArrived(SessionFixture.unchanged(1, 6), nowMs: 3).isEmpty)
        #expect(texts(machine.inboxArrived(SessionFixture.result(2, 9), nowMs: 4)) == ["deliver [0] result 2"])
    }

    @Test func aFailureIsDeliveredAndTheResultKept() throws {
        var machine = try holding(1, 5)
        #expect(machine.inboxArrived(SessionFixture.failed(4), nowMs: 2).isEmpty)
        #expect(
            texts(machine.inboxArrived(SessionFixture.failed(6), nowMs: 2)) == ["deliver [0] failed DATABASE_ERROR"])
        #expect(texts(machine.inboxArrived(SessionFixture.result(1, 7), nowMs: 3)) == ["deliver [0] result 1"])
    }

    @Test func aLostInboxAnnouncesEverything() throws {
        var machine = try holding()
        _ = try machine.subscribed(hub: 0, SessionFixture.query(2), known: nil, nowMs: 1)
        #expect(texts(machine.inboxLost(nowMs: 2)).sorted() == ["announce", "announce 1"])
        #expect(machine.awaitingCount == 2)
    }

    @Test func leavingNotifiesEveryShardAndRemovesAll() throws {
        var machine = try holding()
        #expect(texts(machine.leave()) == ["leave"])
        #expect(machine.liveQueryCount == 0 && machine.subscriptionCount == 0)
        #expect(machine.timeReached(nowMs: 100_000).isEmpty)
    }
}
