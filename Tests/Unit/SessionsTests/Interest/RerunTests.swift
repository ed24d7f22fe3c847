import JSON
import LiveModel
import Sessions
import Testing

/// Clients that ask for a run, and those that want to hear of each tick.
@Suite struct RerunTests {
    private let key = SessionFixture.query().key

    private func machine() -> InterestMachine {
        InterestMachine(gateway: NodeID("g"), settings: .init())
    }

    private func announcements(_ actions: [InterestMachine.Action]) -> [AnnouncementID] {
        actions.compactMap { if case .tell(_, .announce(_, _, _, let announcement)) = $0 { announcement } else { nil } }
    }

    private func unchanged(_ run: UInt64, answers: UInt64) -> InboxMessage {
        .unchanged(
            shard: SessionFixture.shard, key: key, digest: SessionFixture.digest(1),
            position: SessionFixture.position(run),
            epoch: SessionFixture.position(run).epoch, answers: answers)
    }

    private func ticked(_ run: UInt64) -> InboxMessage {
        .unchangedTick(
            shard: SessionFixture.shard, key: key, digest: SessionFixture.digest(1),
            position: SessionFixture.position(run), answers: .max)
    }

    @Test func aRunThatIsAskedForIsAFreshOne() throws {
        var machine = machine()
        let unfollowed = machine.rerun(key, nowMs: 0)
        #expect(unfollowed == nil)
        _ = try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, nowMs: 0)
        _ = machine.inboxArrived(SessionFixture.result(1, 1), nowMs: 1)
        let rerun = machine.rerun(key, nowMs: 2)
        let (announcement, actions) = try #require(rerun)
        #expect(announcements(actions) == [AnnouncementID(number: announcement, requiresFreshRun: true)])
        #expect(machine.awaitingCount == 1)
        // An answer to an earlier announcement does not count.
        _ = machine.inboxArrived(unchanged(2, answers: announcement - 1), nowMs: 3)
        #expect(machine.awaitingCount == 1)
        _ = machine.inboxArrived(unchanged(3, answers: announcement), nowMs: 4)
        #expect(machine.awaitingCount == 0)
    }

    @Test func onlyWhoAskedGetsTheSameResultAgain() throws {
        var table = SubscriptionTable()
        let asking = table.insert(key, known: nil)
        _ = table.insert(key, known: nil)
        #expect(!table.isServed(asking))
        _ = table.take(.result(SessionFixture.live(1, 1)), key: key, answers: 1)
        #expect(table.isServed(asking))
        table.owe(asking, from: 5)
        func taken(_ run: UInt64, answers: UInt64) -> [SubscriptionTable.Handle] {
            table.take(.result(SessionFixture.live(1, run)), key: key, answers: answers)
        }
        #expect(taken(2, answers: 4) == [])
        #expect(taken(3, answers: 5) == [asking])
        #expect(taken(4, answers: 6) == [])
    }

    @Test func aChangedResultAnswersARequestedRun() {
        var table = SubscriptionTable()
        let asking = table.insert(key, known: nil)
        _ = table.take(.result(SessionFixture.live(1, 1)), key: key, answers: 1)
        table.owe(asking, from: 5)
        #expect(table.take(.result(SessionFixture.live(2, 2)), key: key, answers: 5).count == 1)
        #expect(table.take(.result(SessionFixture.live(2, 3)), key: key, answers: 6).isEmpty)
    }

    @Test func ticksGoToThoseWhoWantThem() throws {
        var table = SubscriptionTable()
        let hears = table.insert(key, known: nil, reportsTimerRuns: true)
        _ = table.insert(key, known: nil)
        _ = table.take(.result(SessionFixture.live(1, 1)), key: key)
        #expect(table.take(.unchangedTick(SessionFixture.live(1, 2)), key: key) == [hears])
        #expect(table.take(.unchangedTick(SessionFixture.live(1, 1)), key: key).isEmpty, "older than what was shown")
    }

    @Test func aSubscriberThatWantsTimerRunsIsAnnouncedToTheOwner() throws {
        var machine = machine()
        let plain = try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, nowMs: 0)
        #expect(announcements(plain.actions).map(\.reportsTimerRuns) == [false])
        _ = machine.inboxArrived(SessionFixture.result(1, 1), nowMs: 1)
        let first = try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, reportsTimerRuns: true, nowMs: 2)
        #expect(first.immediate != nil && announcements(first.actions).map(\.reportsTimerRuns) == [true])
        let second = try machine.subscribed(
            hub: 1, SessionFixture.query(), known: nil, reportsTimerRuns: true, nowMs: 3)
        #expect(announcements(second.actions).isEmpty)
        let actions = machine.inboxArrived(ticked(2), nowMs: 4)
        guard case .deliver(let hubs, _, .unchangedTick(let result), _)? = actions.first else {
            return #expect(Bool(false))
        }
        #expect(hubs == [0, 1] && result.position == SessionFixture.position(2))
        let late = machine.inboxArrived(ticked(1), nowMs: 5)
        #expect(late.isEmpty)
    }
}
