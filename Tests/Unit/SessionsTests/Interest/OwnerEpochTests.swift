import LiveModel
import Testing

@testable import Sessions

/// Which epoch of a shard's owner a gateway believes.
@Suite struct OwnerEpochTests {
    private static let nowMs: Int64 = 1_700_000_000_000
    private static let epoch = UInt64(nowMs)

    private func following(_ subscriptions: Int = 1) throws -> InterestMachine {
        var machine = InterestMachine(gateway: NodeID("g"), settings: .init())
        for number in 0..<subscriptions {
            _ = try machine.subscribed(hub: 0, SessionFixture.query(number), known: nil, nowMs: Self.nowMs)
            _ = machine.inboxArrived(
                SessionFixture.result(1, 5, epoch: Self.epoch, query: SessionFixture.query(number)), nowMs: Self.nowMs)
        }
        return machine
    }

    private func takeOver(_ epoch: UInt64) -> InboxMessage { .announceAll(shard: SessionFixture.shard, epoch: epoch) }

    private func result(_ number: Int, _ run: UInt64, _ epoch: UInt64 = epoch) -> InboxMessage {
        SessionFixture.result(number, run, epoch: epoch)
    }

    private func call(_ actions: [InterestMachine.Action]) -> UInt64? {
        for case .readEpoch(_, let call) in actions { return call }
        return nil
    }

    private func delivers(_ actions: [InterestMachine.Action]) -> Bool {
        actions.contains { if case .deliver = $0 { true } else { false } }
    }

    private func announcements(_ actions: [InterestMachine.Action]) -> [AnnouncementID] {
        actions.compactMap { if case .tell(_, .announce(_, _, _, let announcement)) = $0 { announcement } else { nil } }
    }

    private func reports(_ actions: [InterestMachine.Action]) -> [UInt64] {
        actions.compactMap { if case .reportEpoch(_, let named, _) = $0 { named } else { nil } }
    }

    @Test func anImpossibleEpochIsNotBelieved() throws {
        var machine = try following()
        let first = machine.inboxArrived(takeOver(.max), nowMs: Self.nowMs)
        let number = try #require(call(first))
        #expect(first.count == 1, "nothing is announced to an owner that does not exist")
        #expect(delivers(machine.inboxArrived(result(2, 6), nowMs: Self.nowMs)), "the owner's results still count")
        #expect(
            reports(
                machine.epochRead(SessionFixture.shard, call: number, recorded: Self.epoch, nowMs: Self.nowMs))
                == [.max])
        // Each further one is refused; there is one question in five seconds, and one report.
        #expect(machine.inboxArrived(takeOver(.max), nowMs: Self.nowMs + 4_999).isEmpty)
        let second = try #require(call(machine.inboxArrived(takeOver(.max), nowMs: Self.nowMs + 5_000)))
        #expect(
            machine.epochRead(SessionFixture.shard, call: second, recorded: Self.epoch, nowMs: Self.nowMs + 5_000)
                .isEmpty)
    }

    @Test func anImplausibleEpochThatIsRecordedCounts() throws {
        var machine = try following()
        let high: UInt64 = 1 << 53
        let number = try #require(call(machine.inboxArrived(takeOver(high), nowMs: Self.nowMs)))
        let actions = machine.epochRead(SessionFixture.shard, call: number, recorded: high, nowMs: Self.nowMs)
        #expect(announcements(actions).count == 1)
        #expect(!delivers(machine.inboxArrived(result(2, 9), nowMs: Self.nowMs)), "the former owner is fenced")
        #expect(delivers(machine.inboxArrived(result(2, 1, high), nowMs: Self.nowMs)))
        // The next owners' epochs follow it, though they are far above the clock.
        #expect(delivers(machine.inboxArrived(result(3, 1, high + 1), nowMs: Self.nowMs)))
    }

    @Test func aPlausibleEpochThatNobodyHasIsGivenUp() throws {
        var machine = try following(2)
        let forged = Self.epoch + 60_000
        #expect(announcements(machine.inboxArrived(takeOver(forged), nowMs: Self.nowMs)).count == 2)
        let number = try #require(call(machine.inboxArrived(result(2, 6), nowMs: Self.nowMs)), "the first refused one")
        #expect(machine.inboxArrived(result(2, 7), nowMs: Self.nowMs).isEmpty, "asked already")
        let actions = machine.epochRead(SessionFixture.shard, call: number, recorded: Self.epoch, nowMs: Self.nowMs)
        #expect(reports(actions) == [forged])
        #expect(announcements(actions).count == 2 && announcements(actions).allSatisfy(\.requiresFreshRun))
        #expect(machine.awaitingCount == 2 && machine.resultBytes == 0)
        #expect(delivers(machine.inboxArrived(result(2, 9), nowMs: Self.nowMs)))
    }

    /// A machine that follows `epoch + 1`, which the database has confirmed, at `nowMs + 6_000`.
    private func followingTheNextOwner() throws -> InterestMachine {
        var machine = try following()
        _ = machine.inboxArrived(takeOver(Self.epoch + 1), nowMs: Self.nowMs)
        let number = try #require(call(machine.inboxArrived(result(2, 6), nowMs: Self.nowMs)))
        #expect(
            machine.epochRead(SessionFixture.shard, call: number, recorded: Self.epoch + 1, nowMs: Self.nowMs).isEmpty)
        return machine
    }

    /// The database's epochs may have become smaller, by a restore.
    @Test func refusedMessagesRaiseDoubtsAboutAConfirmedEpoch() throws {
        let nowMs = Self.nowMs + 6_000
        var machine = try followingTheNextOwner()
        #expect(machine.inboxArrived(result(2, 6), nowMs: nowMs).isEmpty)
        #expect(machine.inboxArrived(result(2, 7), nowMs: nowMs).isEmpty)
        #expect(call(machine.inboxArrived(result(2, 8), nowMs: nowMs)) != nil, "the third in a row")
        machine = try followingTheNextOwner()
        #expect(machine.inboxArrived(result(2, 6), nowMs: nowMs).isEmpty)
        #expect(call(machine.inboxArrived(result(2, 7), nowMs: nowMs + 1_000)) != nil, "nothing else for a second")
    }

    /// One change is all that may come: nobody sends it again.
    @Test func doubtsWithinTheGapBetweenQuestionsAreAskedAfterIt() throws {
        var machine = try followingTheNextOwner()
        _ = machine.inboxArrived(takeOver(Self.epoch + 60_000), nowMs: Self.nowMs + 1_000)
        #expect(machine.inboxArrived(result(2, 7, Self.epoch + 1), nowMs: Self.nowMs + 1_000).isEmpty)
        #expect(call(machine.timeReached(nowMs: Self.nowMs + 4_000)) == nil)
        let number = try #require(call(machine.timeReached(nowMs: Self.nowMs + 5_000)))
        #expect(call(machine.timeReached(nowMs: Self.nowMs + 6_000)) == nil)
        // A database that does not answer is asked again.
        #expect(
            machine.epochRead(SessionFixture.shard, call: number, recorded: nil, nowMs: Self.nowMs + 6_000).isEmpty)
        let second = try #require(call(machine.timeReached(nowMs: Self.nowMs + 10_000)))
        let actions = machine.epochRead(
            SessionFixture.shard, call: second, recorded: Self.epoch + 1, nowMs: Self.nowMs + 10_000)
        #expect(announcements(actions).count == 1 && announcements(actions).allSatisfy(\.requiresFreshRun))
        #expect(call(machine.timeReached(nowMs: Self.nowMs + 20_000)) == nil)
    }

    @Test func lateMessagesOfAFormerOwnerRaiseNoDoubtsBesideThoseOfTheNext() throws {
        var machine = try followingTheNextOwner()
        for run in 1...20 as ClosedRange<UInt64> {
            #expect(machine.inboxArrived(result(2, 5 + run), nowMs: Self.nowMs + 7_000).isEmpty)
            #expect(delivers(machine.inboxArrived(result(3, run, Self.epoch + 1), nowMs: Self.nowMs + 7_000)))
        }
    }

    @Test func anAnswerThatANewOwnerOvertookChangesNothing() throws {
        var machine = try following()
        let number = try #require(call(machine.inboxArrived(takeOver(.max), nowMs: Self.nowMs)))
        _ = machine.inboxArrived(takeOver(Self.epoch + 5), nowMs: Self.nowMs)
        #expect(
            machine.epochRead(SessionFixture.shard, call: number, recorded: Self.epoch, nowMs: Self.nowMs).isEmpty)
        #expect(!delivers(machine.inboxArrived(result(2, 6), nowMs: Self.nowMs)))
    }

    @Test func aDatabaseThatDoesNotAnswerIsAskedAgain() throws {
        var machine = try following()
        let first = try #require(call(machine.inboxArrived(takeOver(.max), nowMs: Self.nowMs)))
        #expect(machine.epochRead(SessionFixture.shard, call: first, recorded: nil, nowMs: Self.nowMs).isEmpty)
        let second = try #require(call(machine.inboxArrived(takeOver(.max), nowMs: Self.nowMs + 6_000)))
        #expect(second != first)
        #expect(
            machine.epochRead(SessionFixture.shard, call: first, recorded: 1, nowMs: Self.nowMs + 6_000).isEmpty,
            "the answer to an earlier question")
    }

    // MARK: Results that clients report

    /// The deliveries that reach a subscription that reports this result.
    private func reaches(
        _ machine: inout InterestMachine, _ reported: KnownResult, _ messages: [(UInt64) -> InboxMessage]
    ) throws -> [Int] {
        let start = try machine.subscribed(hub: 1, SessionFixture.query(), known: reported, nowMs: Self.nowMs)
        var table = SubscriptionTable()
        let handle = table.insert(
            SessionFixture.query().key, known: reported, fromAnnouncement: start.fromAnnouncement,
            fencedUntil: start.fencedUntil)
        if let immediate = start.immediate { _ = table.deliver(immediate, to: handle) }
        let number = announcements(start.actions).last?.number ?? 0
        return messages.enumerated().filter { _, message in
            machine.inboxArrived(message(number), nowMs: Self.nowMs).contains {
                guard case .deliver(_, let key, let delivery, let answers) = $0 else { return false }
                return !table.take(delivery, key: key, answers: answers).isEmpty
            }
        }.map(\.offset)
    }

    private func answer(_ number: Int, _ run: UInt64) -> (UInt64) -> InboxMessage {
        { answers in
            .result(
                shard: SessionFixture.shard, key: SessionFixture.query().key,
                result: SessionFixture.live(number, run, epoch: Self.epoch), answers: answers)
        }
    }

    private static let reported = [
        SessionFixture.position(1, epoch: .max), SessionFixture.position(.max, epoch: epoch),
        SessionFixture.position(1, epoch: epoch + 1_000_000),
    ]

    @Test(arguments: reported)
    func aReportAheadOfAnyPositionDoesNotSilenceAFirstSubscription(reported: Position) throws {
        var machine = InterestMachine(gateway: NodeID("g"), settings: .init())
        let known = SessionFixture.known(9, reported)
        #expect(try reaches(&machine, known, [answer(1, 1), answer(1, 1), answer(2, 2)]) == [0, 2])
    }

    @Test(arguments: reported)
    func aReportAheadOfTheHeldResultIsAnsweredByARun(reported: Position) throws {
        var machine = try following()
        // A message from before the announcement does not count against the report.
        let late = { (_: UInt64) in self.answer(2, 6)(0) }
        #expect(
            try reaches(&machine, SessionFixture.known(9, reported), [late, answer(3, 7), answer(4, 8)]) == [1, 2])
    }

    @Test(arguments: reported)
    func theSameContentUnderSuchAReportIsFollowed(reported: Position) throws {
        var machine = try following()
        #expect(try reaches(&machine, SessionFixture.known(1, reported), [answer(1, 6), answer(2, 7)]) == [1])
    }

    @Test(arguments: reported)
    func aReportBesideAnother(reported: Position) throws {
        var machine = InterestMachine(gateway: NodeID("g"), settings: .init())
        let real = SessionFixture.known(1, SessionFixture.position(5, epoch: Self.epoch))
        _ = try machine.subscribed(hub: 0, SessionFixture.query(), known: real, nowMs: Self.nowMs)
        _ = machine.inboxArrived(SessionFixture.unchanged(1, 5, epoch: Self.epoch), nowMs: Self.nowMs)
        #expect(try reaches(&machine, SessionFixture.known(1, reported), [answer(2, 6)]) == [0])
    }
}
