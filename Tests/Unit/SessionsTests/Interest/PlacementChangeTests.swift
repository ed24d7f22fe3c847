import LiveModel
import Sessions
import Sharding
import Testing

/// A live query changes its shard while it is followed.
@Suite struct PlacementChangeTests {
    /// Overrides that split the operation.
    private static let split: ClusterOverrides = {
        var overrides = ClusterOverrides()
        overrides.generation = 1
        overrides.splits[SessionFixture.operation] = .init(splits: 8, formerSplits: 1, untilMs: 0, version: 77)
        return overrides
    }()

    /// The shard of a live query while the operation is split.
    private func shard(of query: LiveQuery) -> Int {
        ShardRouting.route(
            of: query, shardCount: InterestMachine.Settings().shardCount, overrides: Self.split
        ).shard.number
    }

    /// The shard that the live query moves to.
    private var next: Int { shard(of: SessionFixture.query()) }

    private func machine() -> InterestMachine {
        var settings = InterestMachine.Settings()
        settings.summaryMs = 1_000_000_000
        return InterestMachine(gateway: NodeID("g"), settings: settings)
    }

    private func messages(_ actions: [InterestMachine.Action]) -> [(shard: Int, message: ControlMessage)] {
        actions.compactMap { if case .tell(let shard, let message) = $0 { (shard.number, message) } else { nil } }
    }

    private func announced(_ actions: [InterestMachine.Action]) throws -> (
        shard: Int, known: KnownResult?, announcement: AnnouncementID
    ) {
        for (shard, message) in messages(actions) {
            if case .announce(_, _, let known, let announcement) = message { return (shard, known, announcement) }
        }
        throw Missing()
    }

    private struct Missing: Error {}

    private func result(_ number: Int, _ run: UInt64, shard: Int, epoch: UInt64 = 1, answers: UInt64) -> InboxMessage {
        .result(
            shard: ShardID(shard), key: SessionFixture.query().key,
            result: SessionFixture.live(number, run, epoch: epoch),
            answers: answers)
    }

    private func delivered(_ actions: [InterestMachine.Action]) -> [LiveResult] {
        actions.compactMap { if case .deliver(_, _, .result(let result), _) = $0 { result } else { nil } }
    }

    /// Holding result 1 of run 50 under epoch 9 of shard 0.
    private func moved() throws -> (machine: InterestMachine, announcement: UInt64) {
        var machine = machine()
        let first = try announced(try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, nowMs: 0).actions)
        _ = machine.inboxArrived(result(1, 50, shard: 0, epoch: 9, answers: first.announcement.number), nowMs: 1)
        let actions = machine.overridesChanged(Self.split, nowMs: 2)
        let (shard, known, announcement) = try announced(actions)
        #expect(
            shard == next && shard != 0 && announcement.requiresFreshRun
                && announcement.number > first.announcement.number)
        #expect(known == SessionFixture.known(1), "the digest travels, the position means nothing there")
        guard case .withdraw(_, let key)? = messages(actions).first(where: { $0.shard == 0 })?.message else {
            throw Missing()
        }
        #expect(key == SessionFixture.query().key && machine.movedCount == 1)
        return (machine, announcement.number)
    }

    @Test func subscriptionsFollowTheLatestOverrides() throws {
        var machine = machine()
        _ = machine.overridesChanged(Self.split, nowMs: 0)
        for number in 0..<8 {
            let query = SessionFixture.query(number)
            let start = try machine.subscribed(hub: 0, query, known: nil, nowMs: 1)
            #expect(try announced(start.actions).shard == shard(of: query))
        }
        #expect(machine.overridesChanged(Self.split, nowMs: 2).isEmpty && machine.movedCount == 0)
    }

    @Test func theNewShardsFirstResultCountsWhateverItsEpochAndTheOldOnesAreDropped() throws {
        var (machine, announcement) = try moved()
        #expect(machine.inboxArrived(result(2, 60, shard: 0, epoch: 9, answers: announcement - 1), nowMs: 3).isEmpty)
        let fresh = delivered(
            machine.inboxArrived(result(3, 1, shard: next, epoch: 2, answers: announcement), nowMs: 4))
        #expect(fresh.count == 1 && fresh.first?.position.placement == 77)
        #expect(
            delivered(machine.inboxArrived(result(4, 2, shard: next, epoch: 2, answers: announcement), nowMs: 5)).count
                == 1)
        #expect(
            machine.inboxArrived(result(5, 1, shard: next, epoch: 2, answers: announcement), nowMs: 6).isEmpty, "fenced"
        )
        #expect(machine.awaitingCount == 0)
    }

    @Test func earlierResultsOfTheOldShardAreDroppedAfterTheMoveBack() throws {
        var (machine, announcement) = try moved()
        let back = try announced(machine.overridesChanged(ClusterOverrides(), nowMs: 3))
        #expect(back.shard == 0 && back.announcement.requiresFreshRun && back.announcement.number > announcement)
        #expect(machine.inboxArrived(result(2, 60, shard: 0, epoch: 9, answers: announcement - 1), nowMs: 4).isEmpty)
        let fresh = machine.inboxArrived(result(3, 61, shard: 0, epoch: 9, answers: back.announcement.number), nowMs: 5)
        #expect(delivered(fresh).count == 1)
    }

    @Test func anUnchangedAnswerHandsTheResultToThoseWithoutIt() throws {
        var (machine, announcement) = try moved()
        let answer = machine.inboxArrived(
            .unchanged(
                shard: ShardID(next), key: SessionFixture.query().key, digest: SessionFixture.digest(1),
                position: SessionFixture.position(1, epoch: 2), epoch: 2, answers: announcement), nowMs: 3)
        #expect(delivered(answer).first?.position == SessionFixture.position(1, epoch: 2).at(placement: 77))
        #expect(machine.awaitingCount == 0)
    }

    @Test func aRequiredFreshRunIsRequestedUntilOneAnswers() throws {
        var (machine, announcement) = try moved()
        let again = try announced(machine.timeReached(nowMs: 10_000))
        #expect(again.announcement.requiresFreshRun && again.announcement.number > announcement)
        // A new owner requests all announcements; a fresh run is still required.
        let all = try announced(machine.inboxArrived(.announceAll(shard: ShardID(next), epoch: 5), nowMs: 10_001))
        #expect(all.announcement.requiresFreshRun)
        _ = machine.inboxArrived(result(3, 1, shard: next, epoch: 5, answers: announcement), nowMs: 10_002)
        #expect(machine.awaitingCount == 0)
        let later = try announced(machine.inboxArrived(.announceAll(shard: ShardID(next), epoch: 6), nowMs: 10_003))
        #expect(!later.announcement.requiresFreshRun && later.known?.position == SessionFixture.position(1, epoch: 5))
    }

    @Test func summariesCountInterestAtItsPresentShard() throws {
        var (machine, _) = try moved()
        let summaries = messages(machine.timeReached(nowMs: 2_000_000_000)).compactMap { shard, message in
            if case .summary(_, let count, _, _) = message { "\(shard):\(count)" } else { nil }
        }
        #expect(summaries == ["0:0", "\(next):1"])
    }

    @Test func aTagOfAnotherPlacementIsNotAnsweredFromTheHeldResult() throws {
        var machine = machine()
        let first = try announced(try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, nowMs: 0).actions)
        _ = machine.inboxArrived(result(1, 50, shard: 0, epoch: 9, answers: first.announcement.number), nowMs: 1)
        // Seen under another placement, with a smaller and with a greater position: which is newer is unknown.
        for run in [UInt64(1), 99] {
            let seen = SessionFixture.known(2, SessionFixture.position(run, epoch: 9).at(placement: 77))
            let start = try machine.subscribed(hub: 1, SessionFixture.query(), known: seen, nowMs: 2)
            let announcement = try announced(start.actions).announcement
            #expect(
                start.immediate == nil && announcement.requiresFreshRun && start.fromAnnouncement == announcement.number
            )
        }
        // A reader that has seen nothing gets the present entries at once.
        #expect(try machine.subscribed(hub: 1, SessionFixture.query(), known: nil, nowMs: 3).immediate != nil)
        // The first tag of a live query without followers here travels without its position, and requires a run.
        var other = self.machine()
        let seen = SessionFixture.known(2, SessionFixture.position(1, epoch: 9).at(placement: 77))
        let started = try announced(try other.subscribed(hub: 0, SessionFixture.query(), known: seen, nowMs: 2).actions)
        #expect(started.announcement.requiresFreshRun && started.known == SessionFixture.known(2))
    }

    /// The held result comes from the former placement, as does the one that the client saw at a gateway further ahead.
    @Test func aNewerKnownPositionOfAFormerPlacementRequiresAFreshRun() throws {
        var (machine, announcement) = try moved()
        let ahead = SessionFixture.known(2, SessionFixture.position(51, epoch: 9))
        let start = try machine.subscribed(hub: 1, SessionFixture.query(), known: ahead, nowMs: 3)
        let later = try announced(start.actions).announcement
        #expect(
            start.immediate == nil && later.requiresFreshRun && later.number > announcement
                && start.fromAnnouncement == later.number)
        // A subscriber that saw less gets the held result; results of the new placement were read after that.
        let behind = SessionFixture.known(0, SessionFixture.position(49, epoch: 9))
        let second = try machine.subscribed(hub: 1, SessionFixture.query(), known: behind, nowMs: 4)
        #expect(second.immediate != nil && second.fromAnnouncement == 0)
    }

    @Test func announcementsOfALaterProcessFollowThoseOfAnEarlierOne() throws {
        var machine = InterestMachine(gateway: NodeID("g"), settings: .init(), firstAnnouncement: 1_000)
        let announcement = try announced(
            try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, nowMs: 0).actions
        )
        .announcement
        #expect(announcement.number == 1_001)
        #expect(machine.inboxArrived(result(1, 1, shard: 0, answers: 1_000), nowMs: 1).isEmpty, "a former process's")
        #expect(delivered(machine.inboxArrived(result(1, 2, shard: 0, answers: 1_001), nowMs: 2)).count == 1)
    }

    @Test func aSubscriptionTakesOnlyRunsAfterItsAnnouncement() {
        var table = SubscriptionTable()
        let key = SessionFixture.query().key
        let seen = SessionFixture.known(1, SessionFixture.position(90, epoch: 9))
        let moved = table.insert(key, known: seen, fromAnnouncement: 5)
        let plain = table.insert(key, known: nil)
        func take(_ number: Int, _ run: UInt64, answers: UInt64) -> [SubscriptionTable.Handle] {
            var result = SessionFixture.live(number, run)
            result.position.placement = 77
            return table.take(.result(result), key: key, answers: answers)
        }
        #expect(take(2, 1, answers: 4) == [plain])
        #expect(take(3, 2, answers: 5) == [moved, plain])
        #expect(take(2, 1, answers: 6).isEmpty, "older than what both have now")
    }
}
