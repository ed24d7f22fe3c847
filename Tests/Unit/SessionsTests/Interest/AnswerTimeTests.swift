import LiveModel
import Testing

@testable import Sessions

/// Answers to subscribers while the owner of a shard is silent, or sends only what cannot count.
@Suite struct AnswerTimeTests {
    private let key = SessionFixture.query().key

    private func machine(answerMaxMs: Int64 = 3_000, shardCount: Int = 4) -> InterestMachine {
        var settings = InterestMachine.Settings()
        settings.answerMaxMs = answerMaxMs
        settings.shardCount = shardCount
        return InterestMachine(gateway: NodeID("g"), settings: settings)
    }

    private func errors(_ actions: [InterestMachine.Action]) -> [ErrorCode] {
        actions.compactMap { action in
            if case .deliver(_, _, .unanswered(let error), _) = action { error.code } else { nil }
        }
    }

    private func announcements(_ actions: [InterestMachine.Action]) -> [AnnouncementID] {
        actions.compactMap { if case .tell(_, .announce(_, _, _, let announcement)) = $0 { announcement } else { nil } }
    }

    private func delivers(_ actions: [InterestMachine.Action]) -> Bool {
        actions.contains { if case .deliver(_, _, .result, _) = $0 { true } else { false } }
    }

    @Test func silenceBecomesAnErrorOnceAndTheSubscriptionGoesOn() throws {
        var machine = machine()
        _ = try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, nowMs: 0)
        #expect(errors(machine.timeReached(nowMs: 2_999)).isEmpty)
        #expect(errors(machine.timeReached(nowMs: 3_500)) == [.unavailable])
        #expect(errors(machine.timeReached(nowMs: 60_000)).isEmpty)
        #expect(delivers(machine.inboxArrived(SessionFixture.result(1, 1), nowMs: 60_001)))
    }

    @Test func aLaterSubscriberHasATimeOfItsOwn() throws {
        var machine = machine()
        _ = try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, nowMs: 0)
        #expect(errors(machine.timeReached(nowMs: 3_000)) == [.unavailable])
        _ = try machine.subscribed(hub: 1, SessionFixture.query(), known: nil, nowMs: 5_000)
        #expect(errors(machine.timeReached(nowMs: 7_900)).isEmpty)
        #expect(errors(machine.timeReached(nowMs: 8_500)) == [.unavailable])
    }

    @Test func announcementNamesTheClientUntilAnotherOneJoins() throws {
        var machine = machine()
        let (ann, bob) = (ClientID(user: "ann"), ClientID(user: "bob"))
        let first = try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, client: ann, nowMs: 0)
        #expect(announcements(first.actions).map(\.client) == [ann])
        _ = try machine.subscribed(hub: 1, SessionFixture.query(), known: nil, client: ann, nowMs: 0)
        let again = machine.inboxArrived(.announceAll(shard: SessionFixture.shard, epoch: 2), nowMs: 1)
        #expect(announcements(again).map(\.client) == [ann])
        for client in [bob, ann] {
            _ = try machine.subscribed(hub: 1, SessionFixture.query(), known: nil, client: client, nowMs: 2)
        }
        let shared = machine.inboxArrived(.announceAll(shard: SessionFixture.shard, epoch: 3), nowMs: 3)
        #expect(announcements(shared).map(\.client) == [nil])
    }

    @Test func anAnswerInTimeLeavesNoError() throws {
        var machine = machine()
        _ = try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, nowMs: 0)
        _ = machine.inboxArrived(SessionFixture.result(1, 1), nowMs: 2_000)
        #expect(machine.timeReached(nowMs: 4_000).allSatisfy { if case .deliver = $0 { false } else { true } })
        // Announcing again, because another owner takes over, is no subscription.
        _ = machine.inboxArrived(.announceAll(shard: SessionFixture.shard, epoch: 2), nowMs: 5_000)
        #expect(errors(machine.timeReached(nowMs: 50_000)).isEmpty)
    }

    @Test func aTimeOfZeroNeverEnds() throws {
        var machine = machine(answerMaxMs: 0)
        _ = try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, nowMs: 0)
        #expect(errors(machine.timeReached(nowMs: 1_000_000)).isEmpty)
    }

    @Test func onlySubscriptionsWithoutAnAnswerGetTheError() {
        var table = SubscriptionTable()
        let error = InterestMachine.Delivery.unanswered(RequestError(.unavailable, "no"))
        _ = table.insert(key, known: nil)
        _ = table.insert(key, known: SessionFixture.known(1, SessionFixture.position(1)))
        _ = table.take(.result(SessionFixture.live(1, 2)), key: key)
        _ = table.insert(key, known: SessionFixture.known(1, SessionFixture.position(1)))
        _ = table.take(.unchanged(digest: SessionFixture.digest(1), position: SessionFixture.position(3)), key: key)
        let waiting = table.insert(key, known: nil, fencedUntil: 7)
        #expect(table.take(error, key: key) == [waiting])
        #expect(table.take(error, key: key).isEmpty, "once")
        #expect(table.take(.result(SessionFixture.live(1, 4)), key: key) == [waiting])
    }

    @Test func afterTheErrorTheClientGetsTheResultThatItReported() throws {
        var machine = machine()
        let known = SessionFixture.known(1, SessionFixture.position(1))
        var table = SubscriptionTable()
        _ = try machine.subscribed(hub: 0, SessionFixture.query(), known: known, nowMs: 0)
        let handle = table.insert(key, known: known)
        #expect(errors(machine.timeReached(nowMs: 3_500)) == [.unavailable])
        let error = InterestMachine.Delivery.unanswered(RequestError(.unavailable, "no"))
        #expect(table.take(error, key: key).count == 1)
        #expect(!table.isServed(handle), "a run for this client is still to come")
        // The next announcement reports no result, so the owner cannot answer that nothing has changed.
        let reports = machine.timeReached(nowMs: 60_000).compactMap { action -> Bool? in
            if case .tell(_, .announce(_, _, let known, _)) = action { known != nil } else { nil }
        }
        #expect(reports == [false])
        #expect(table.take(.result(SessionFixture.live(1, 1)), key: key) == [handle])
    }

    @Test func aTimeDoesNotOutlastTheSubscriber() throws {
        var machine = machine()
        _ = try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, nowMs: 0)
        _ = machine.unsubscribed(hub: 0, key, nowMs: 2_900)
        _ = try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, nowMs: 2_950)
        #expect(errors(machine.timeReached(nowMs: 3_500)).isEmpty)
        #expect(errors(machine.timeReached(nowMs: 6_500)) == [.unavailable])
    }

    @Test func messagesAboutShardsThatDoNotExistAreRefusedAndNotStored() {
        var machine = machine(shardCount: 4)
        for number in [-1, 4, 5, .max, .min] {
            let shard = ShardID(number)
            #expect(machine.inboxArrived(.announceAll(shard: shard, epoch: 1), nowMs: 0).isEmpty)
            #expect(
                machine.inboxArrived(
                    .settled(shard: shard, epoch: .max, through: .zero, except: [], held: HeldFingerprint()), nowMs: 0
                ).isEmpty)
        }
        #expect(machine.timeReached(nowMs: 1).isEmpty, "no summaries to such shards")
        _ = machine.inboxArrived(.announceAll(shard: ShardID(3), epoch: 1), nowMs: 2)
        #expect(machine.timeReached(nowMs: 100_000).count == 1, "only to the one that exists")
    }

    @Test func aRunThatNobodyMadeSilencesNothingForGood() throws {
        var machine = machine()
        _ = try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, nowMs: 0)
        _ = machine.inboxArrived(SessionFixture.result(1, 5), nowMs: 1)
        #expect(delivers(machine.inboxArrived(SessionFixture.result(9, Position.runMax), nowMs: 2)), "forged")
        // A few older ones may be duplicates of what was read before.
        #expect(machine.inboxArrived(SessionFixture.result(2, 6), nowMs: 10).isEmpty)
        #expect(machine.inboxArrived(SessionFixture.result(3, 7), nowMs: 11).isEmpty)
        #expect(machine.inboxArrived(SessionFixture.result(4, 8), nowMs: 12).isEmpty)
        let actions = machine.inboxArrived(SessionFixture.result(5, 9), nowMs: 1_010)
        let announced = try #require(announcements(actions).first)
        #expect(announced.requiresFreshRun)
        #expect(actions.contains { if case .forgetPositions = $0 { true } else { false } })
        #expect(delivers(machine.inboxArrived(SessionFixture.result(6, 10), nowMs: 1_020)))
    }

    @Test func aResultThatCountsEndsTheDoubt() throws {
        var machine = machine()
        _ = try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, nowMs: 0)
        _ = machine.inboxArrived(SessionFixture.result(1, 50), nowMs: 1)
        for round in 0..<10 {
            let nowMs = Int64(round) * 1_000
            for run in [40, 41] as [UInt64] {
                #expect(machine.inboxArrived(SessionFixture.result(2, run), nowMs: nowMs).isEmpty)
            }
            let newer = SessionFixture.result(100 + round, 51 + UInt64(round))
            #expect(delivers(machine.inboxArrived(newer, nowMs: nowMs)))
        }
    }

    /// Otherwise a client could fill the gateway with live queries that nobody follows any more.
    @Test func liveQueriesWithoutSubscriptionsMakeRoom() throws {
        var settings = InterestMachine.Settings()
        settings.liveQueriesMax = 3
        var machine = InterestMachine(gateway: NodeID("g"), settings: settings)
        func subscribe(_ number: Int, nowMs: Int64) throws -> [LiveQueryKey] {
            try machine.subscribed(hub: 0, SessionFixture.query(number), known: nil, nowMs: nowMs).actions.compactMap {
                if case .tell(_, .withdraw(_, let key)) = $0 { key } else { nil }
            }
        }
        for number in 0..<3 { #expect(try subscribe(number, nowMs: 0).isEmpty) }
        #expect(throws: RequestError.self) { try subscribe(3, nowMs: 1) }
        for number in [1, 0] {
            #expect(machine.unsubscribed(hub: 0, SessionFixture.query(number).key, nowMs: 10 - Int64(number)).isEmpty)
        }
        // The second is followed again.
        #expect(try subscribe(1, nowMs: 20).isEmpty)
        #expect(try subscribe(3, nowMs: 21) == [SessionFixture.query(0).key])
        #expect(throws: RequestError.self) { try subscribe(4, nowMs: 22) }
        #expect(machine.liveQueryCount == 3)
    }

    @Test func aLiveQueryWhoseLastClientEndedItEndsAtOnce() throws {
        var machine = machine()
        let query = SessionFixture.query()
        for hub in 0..<3 { _ = try machine.subscribed(hub: hub, query, known: nil, nowMs: 0) }
        #expect(machine.unsubscribed(hub: 0, query.key, lingers: false, nowMs: 1).isEmpty, "others follow it")
        #expect(machine.unsubscribed(hub: 1, query.key, lingers: true, nowMs: 1).isEmpty)
        #expect(machine.unsubscribed(hub: 2, query.key, lingers: false, nowMs: 2).count == 1)
        #expect(machine.liveQueryCount == 0)
    }

    @Test func aRunNumberBeyondAnyOwnersIsNoPosition() {
        #expect(Position("1.\(Position.runMax).2-0") != nil)
        #expect(Position("1.\(Position.runMax + 1).2-0") == nil)
        #expect(Position("1.\(UInt64.max).2-0") == nil)
    }
}
