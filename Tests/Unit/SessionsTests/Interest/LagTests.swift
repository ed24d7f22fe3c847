import LiveModel
import Sessions
import Sharding
import Testing

/// A gateway knows the age of the oldest marker that it lacks, and counts a marker only after what came before it.
@Suite struct LagTests {
    private static let key = SessionFixture.query().key

    private static func machine(everyMs: Int64 = 10_000) -> InterestMachine {
        var settings = InterestMachine.Settings()
        settings.markerEveryMs = everyMs
        return InterestMachine(gateway: NodeID("g"), settings: settings)
    }

    /// A gateway that follows one live query since 12,000 and holds its first result.
    private static func following() throws -> InterestMachine {
        var machine = machine()
        _ = try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, nowMs: 12_000)
        _ = machine.inboxArrived(SessionFixture.result(1, 1), nowMs: 12_005)
        return machine
    }

    private static func marker(
        _ dueMs: Int64, shard: ShardID = SessionFixture.shard, epoch: UInt64 = 1
    ) -> InboxMessage {
        .marker(
            shard: shard, epoch: epoch,
            LagMarker(
                dueMs: dueMs, committedAtMs: dueMs + 2, entry: StreamID(ms: UInt64(dueMs) + 3, sequence: 0),
                readAtMs: dueMs + 4, passedAtMs: dueMs + 5))
    }

    private static func passed(_ actions: [InterestMachine.Action]) -> [InterestMachine.ArrivedMarker] {
        actions.compactMap { if case .passMarker(let arrived) = $0 { arrived } else { nil } }
    }

    /// Handles a marker, and that every hub has it.
    @discardableResult
    private static func take(_ message: InboxMessage, _ machine: inout InterestMachine, nowMs: Int64) -> Int {
        let passed = passed(machine.inboxArrived(message, nowMs: nowMs))
        for arrived in passed { machine.markerTaken(arrived, nowMs: nowMs) }
        return passed.count
    }

    @Test func aGatewayThatFollowsNothingLacksNothing() throws {
        var machine = Self.machine()
        #expect(machine.lag(nowMs: 1_000_000).shards.isEmpty)
        #expect(Self.take(Self.marker(20_000), &machine, nowMs: 20_010) == 0)
        machine = try Self.following()
        _ = machine.unsubscribed(hub: 0, Self.key, lingers: false, nowMs: 13_000)
        #expect(machine.lag(nowMs: 1_000_000).shards.isEmpty)
    }

    @Test func theFirstMarkerExpectedIsTheSecondOneDue() throws {
        let machine = try Self.following()
        #expect(machine.lag(nowMs: 29_999).undeliveredMs == 0)
        #expect(machine.lag(nowMs: 30_400).undeliveredMs == 400)
        #expect(machine.lag(nowMs: 61_000).lateCount == 1)
    }

    @Test func theLagIsTheAgeOfTheOldestMissingMarker() throws {
        var machine = try Self.following()
        #expect(Self.take(Self.marker(20_000), &machine, nowMs: 20_010) == 1)
        #expect(machine.lag(nowMs: 29_999).undeliveredMs == 0)
        #expect(machine.lag(nowMs: 35_000).undeliveredMs == 5_000)
        #expect(machine.lag(nowMs: 55_000).undeliveredMs == 25_000, "the one of 30,000, not the last one due")
        Self.take(Self.marker(50_000), &machine, nowMs: 56_000)
        let lag = machine.lag(nowMs: 56_001)
        #expect(lag.undeliveredMs == 0 && lag.endToEndMs == 5_998, "a later marker covers those before it")
    }

    @Test func aMarkerIsTakenOnce() throws {
        var machine = try Self.following()
        Self.take(Self.marker(20_000), &machine, nowMs: 20_010)
        Self.take(Self.marker(20_000), &machine, nowMs: 20_900)
        Self.take(Self.marker(10_000), &machine, nowMs: 20_950)
        let shard = try #require(machine.lag(nowMs: 21_000).shards.first)
        #expect(shard.takenAtMs == 20_010 && shard.marker?.dueMs == 20_000)
    }

    @Test func clocksThatDifferNeverMakeALagNegative() throws {
        var machine = try Self.following()
        Self.take(Self.marker(60_000), &machine, nowMs: 20_000)
        let lag = machine.lag(nowMs: 20_001)
        #expect(lag.undeliveredMs == 0 && lag.endToEndMs == 0)
        #expect(machine.lag(nowMs: 31_000).undeliveredMs == 1_000, "a clock that is ahead hides nothing")
    }

    @Test func aFormerOwnersMarkerDoesNotCount() throws {
        var machine = try Self.following()
        _ = machine.inboxArrived(.announceAll(shard: SessionFixture.shard, epoch: 9), nowMs: 13_000)
        #expect(Self.take(Self.marker(20_000, epoch: 1), &machine, nowMs: 20_010) == 0)
        #expect(machine.lag(nowMs: 40_000).undeliveredMs == 10_000)
    }

    @Test func aMarkerOfANewOwnerWaitsForItsAnswers() throws {
        var machine = try Self.following()
        _ = try machine.subscribed(hub: 0, SessionFixture.query(2), known: nil, nowMs: 12_000)
        _ = machine.inboxArrived(SessionFixture.result(1, 1, query: SessionFixture.query(2)), nowMs: 12_005)
        _ = machine.inboxArrived(.announceAll(shard: SessionFixture.shard, epoch: 2), nowMs: 13_000)
        #expect(Self.take(Self.marker(20_000, epoch: 2), &machine, nowMs: 20_010) == 0)
        #expect(Self.take(SessionFixture.result(1, 1, epoch: 2), &machine, nowMs: 20_020) == 0)
        let other = SessionFixture.result(2, 2, epoch: 2, query: SessionFixture.query(2))
        let actions = machine.inboxArrived(other, nowMs: 20_030)
        guard case .deliver? = actions.first, case .passMarker(let arrived)? = actions.last else {
            return #expect(Bool(false), "\(actions)")
        }
        #expect(arrived.arrivedAtMs == 20_010 && arrived.marker.dueMs == 20_000)
    }

    @Test func aTransientErrorIsNoAnswer() throws {
        var machine = try Self.following()
        _ = machine.inboxArrived(.announceAll(shard: SessionFixture.shard, epoch: 2), nowMs: 13_000)
        #expect(Self.take(Self.marker(20_000, epoch: 2), &machine, nowMs: 20_010) == 0)
        let failed = InboxMessage.failed(
            shard: SessionFixture.shard, key: Self.key, position: SessionFixture.position(1, epoch: 2),
            error: RequestError(.unavailable, "away"), answers: .max)
        #expect(Self.take(failed, &machine, nowMs: 20_020) == 0)
        #expect(Self.take(SessionFixture.result(2, 2, epoch: 2), &machine, nowMs: 20_030) == 1)
    }

    @Test func aNewOwnerWhoseRequestWasLostIsNoticed() throws {
        var machine = try Self.following()
        let other = SessionFixture.query(2)
        _ = try machine.subscribed(hub: 0, other, known: nil, nowMs: 13_000)
        _ = machine.inboxArrived(SessionFixture.result(1, 1, epoch: 2, query: other), nowMs: 13_010)
        // The owner does not know of the first live query.
        #expect(Self.take(Self.marker(20_000, epoch: 2), &machine, nowMs: 20_010) == 0)
        #expect(Self.take(SessionFixture.result(2, 2, epoch: 2), &machine, nowMs: 21_000) == 1)
    }

    @Test func aLiveQueryThatEndsIsNotWaitedFor() throws {
        var machine = try Self.following()
        _ = try machine.subscribed(hub: 0, SessionFixture.query(2), known: nil, nowMs: 12_000)
        _ = machine.inboxArrived(SessionFixture.result(1, 1, query: SessionFixture.query(2)), nowMs: 12_005)
        _ = machine.inboxArrived(.announceAll(shard: SessionFixture.shard, epoch: 2), nowMs: 13_000)
        _ = machine.inboxArrived(SessionFixture.result(1, 1, epoch: 2), nowMs: 13_010)
        #expect(Self.take(Self.marker(20_000, epoch: 2), &machine, nowMs: 20_010) == 0)
        let ended = machine.unsubscribed(hub: 0, SessionFixture.query(2).key, lingers: false, nowMs: 20_020)
        #expect(Self.passed(ended).count == 1)
    }

    @Test func aLiveQueryWithoutAResultIsNotWaitedFor() throws {
        var machine = try Self.following()
        _ = try machine.subscribed(hub: 0, SessionFixture.query(2), known: nil, nowMs: 19_000)
        #expect(Self.take(Self.marker(20_000), &machine, nowMs: 20_010) == 1)
    }

    @Test func afterALossOfMessagesAMarkerThatWaitsIsDropped() throws {
        var machine = try Self.following()
        _ = machine.inboxArrived(.announceAll(shard: SessionFixture.shard, epoch: 2), nowMs: 13_000)
        #expect(Self.take(Self.marker(20_000, epoch: 2), &machine, nowMs: 20_010) == 0)
        _ = machine.inboxLost(nowMs: 20_020)
        #expect(Self.take(SessionFixture.result(1, 1, epoch: 2), &machine, nowMs: 20_030) == 0)
        #expect(Self.take(Self.marker(30_000, epoch: 2), &machine, nowMs: 30_010) == 1)
    }

    @Test func withoutMarkersThereIsNoLag() throws {
        var machine = Self.machine(everyMs: 0)
        _ = try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, nowMs: 0)
        #expect(machine.lag(nowMs: 1_000_000).shards.isEmpty)
    }

    @Test func aMarkerOfAFormerFollowingDoesNotCount() throws {
        var machine = try Self.following()
        let actions = machine.inboxArrived(Self.marker(20_000), nowMs: 20_010)
        let arrived = try #require(Self.passed(actions).first)
        _ = machine.unsubscribed(hub: 0, Self.key, lingers: false, nowMs: 95_000)
        _ = try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, nowMs: 95_000)
        machine.markerTaken(arrived, nowMs: 95_001)
        #expect(machine.lag(nowMs: 96_000).undeliveredMs == 0)
    }

    @Test func aShardThatIsFollowedAgainStartsAgain() throws {
        var machine = try Self.following()
        Self.take(Self.marker(20_000), &machine, nowMs: 20_010)
        _ = machine.unsubscribed(hub: 0, Self.key, lingers: false, nowMs: 21_000)
        _ = try machine.subscribed(hub: 0, SessionFixture.query(), known: nil, nowMs: 95_000)
        #expect(machine.lag(nowMs: 109_999).undeliveredMs == 0)
        #expect(machine.lag(nowMs: 111_000).undeliveredMs == 1_000)
    }
}
