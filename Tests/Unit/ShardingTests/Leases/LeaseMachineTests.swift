import LiveModel
import Sharding
import Testing

@Suite struct LeaseMachineTests {
    private typealias Action = LeaseMachine.Action
    private let me = NodeID("me")
    private let zero = ShardID(0)

    private func machine(shardCount: Int = 1) -> LeaseMachine {
        LeaseMachine(me: me, shardCount: shardCount, settings: .init())
    }

    /// Holds shard 0 under epoch 5 since 1,000.
    private func holding() -> LeaseMachine {
        var machine = machine()
        _ = machine.workersChanged([me], nowMs: 1_000)
        _ = machine.leaseAnswered(zero, epoch: 5, knownForMs: .max, sentMs: 1_000, nowMs: 1_010)
        return machine
    }

    @Test func aWorkerAsksForItsShardsAndServesWhatItGets() {
        var machine = machine(shardCount: 4)
        let asked = machine.workersChanged([me], nowMs: 1_000)
        #expect(asked == (0..<4).map { .acquire(ShardID($0)) })
        #expect(machine.tick(nowMs: 1_001).isEmpty, "one request at a time")
        #expect(
            machine.leaseAnswered(ShardID(2), epoch: 9, knownForMs: .max, sentMs: 1_000, nowMs: 1_010) == [
                .start(ShardID(2), epoch: 9)
            ])
        #expect(machine.held == [ShardID(2): 9])
    }

    @Test func aRequestMayBeSentALittleAfterItWasAskedFor() {
        var machine = machine()
        _ = machine.workersChanged([me], nowMs: 1_000)
        #expect(
            machine.leaseAnswered(zero, epoch: 9, knownForMs: .max, sentMs: 1_003, nowMs: 1_010) == [
                .start(zero, epoch: 9)
            ])
        // The lease counts from when it was sent.
        #expect(machine.tick(nowMs: 5_502).contains(.renew(zero, epoch: 9)))
        #expect(machine.tick(nowMs: 5_503).first == .stop(zero, epoch: 9))
    }

    @Test func aLateGrantWithAHigherEpochReplacesTheHeldLease() {
        var machine = holding()
        // Renewed since the late request was sent.
        _ = machine.tick(nowMs: 2_100)
        _ = machine.renewalAnswered(zero, epoch: 5, isHeld: true, sentMs: 2_100, nowMs: 2_110)
        #expect(machine.leaseAnswered(zero, epoch: 4, knownForMs: 0, sentMs: 900, nowMs: 2_200).isEmpty, "it is over")
        // To give it back would free the shard: the broker knows no other.
        #expect(
            machine.leaseAnswered(zero, epoch: 6, knownForMs: 0, sentMs: 950, nowMs: 2_200) == [
                .stop(zero, epoch: 5), .start(zero, epoch: 6),
            ])
        #expect(machine.held == [zero: 6] && machine.isServing(zero, nowMs: 6_599))
        #expect(!machine.isServing(zero, nowMs: 6_600))
        #expect(machine.renewalAnswered(zero, epoch: 5, isHeld: false, sentMs: 2_150, nowMs: 2_210).isEmpty)
        #expect(machine.tick(nowMs: 3_100) == [.renew(zero, epoch: 6)])
    }

    @Test func aGrantThatComesTooLateIsNotServed() {
        var machine = machine()
        _ = machine.workersChanged([me], nowMs: 1_000)
        // Its life of 5,000 ms, less the margin, counts from when it was sent.
        #expect(
            machine.leaseAnswered(zero, epoch: 5, knownForMs: .max, sentMs: 1_000, nowMs: 5_500) == [
                .release(zero, epoch: 5)
            ])
        #expect(machine.held.isEmpty)
        #expect(machine.tick(nowMs: 5_500) == [.acquire(zero)])
        // Whatever came before the request to the broker does not count.
        #expect(
            machine.leaseAnswered(zero, epoch: 6, knownForMs: .max, requestedMs: 5_500, sentMs: 9_900, nowMs: 10_400)
                == [
                    .start(zero, epoch: 6)
                ])
        #expect(machine.isServing(zero, nowMs: 14_399) && !machine.isServing(zero, nowMs: 14_400))
    }

    @Test func aRequestIsOfUseUntilItIsAnsweredOrTheWishIsGone() {
        var machine = machine()
        #expect(!machine.isRequested(zero, requestedMs: 1_000))
        _ = machine.workersChanged([me], nowMs: 1_000)
        #expect(machine.isRequested(zero, requestedMs: 1_000) && machine.isRequested(zero, requestedMs: 1_003))
        #expect(!machine.isRequested(zero, requestedMs: 999), "an earlier one")
        _ = machine.workersChanged([NodeID("other")], nowMs: 1_100)
        #expect(!machine.isRequested(zero, requestedMs: 1_000))
        _ = machine.workersChanged([me], nowMs: 1_200)
        #expect(!machine.isRequested(zero, requestedMs: 1_000) && machine.isRequested(zero, requestedMs: 1_200))
        _ = machine.drain(nowMs: 1_300)
        #expect(!machine.isRequested(zero, requestedMs: 1_200))
        #expect(holding().isRequested(zero, requestedMs: 1_000) == false)
    }

    @Test func aLateGrantOfAShardThatRestsDoesNotWakeIt() {
        var machine = machine()
        _ = machine.workersChanged([me], nowMs: 1_000)
        #expect(machine.leaseAnswered(zero, epoch: 5, knownForMs: 1_000, sentMs: 1_000, nowMs: 1_010).isEmpty)
        #expect(machine.leaseAnswered(zero, epoch: 6, knownForMs: .max, sentMs: 990, nowMs: 1_020).isEmpty)
        #expect(machine.nextDeadlineMs == 5_010)
        _ = machine.tick(nowMs: 3_000)
        _ = machine.renewalAnswered(zero, epoch: 6, isHeld: true, sentMs: 3_000, nowMs: 3_001)
        #expect(machine.tick(nowMs: 5_010).contains(.start(zero, epoch: 6)))
    }

    @Test func aShardThatIsTakenIsAskedForAgain() {
        var machine = machine()
        _ = machine.workersChanged([me], nowMs: 1_000)
        #expect(machine.leaseAnswered(zero, epoch: nil, knownForMs: .max, sentMs: 1_000, nowMs: 1_010).isEmpty)
        #expect(machine.tick(nowMs: 1_500) == [.acquire(zero)])
    }

    @Test func aSuccessorAsksInTheMomentWhenTheLeaseRunsOut() {
        var machine = machine(shardCount: 2)
        _ = machine.workersChanged([me], nowMs: 1_000)
        #expect(machine.nextDeadlineMs == nil)
        for (shard, heldForMs) in [(0, 700), (1, 40)] as [(Int, Int64)] {
            _ = machine.leaseAnswered(
                ShardID(shard), epoch: nil, heldForMs: heldForMs, knownForMs: 0, sentMs: 1_000, nowMs: 1_010)
        }
        #expect(machine.nextDeadlineMs == 1_051)
        #expect(machine.tick(nowMs: 1_051) == [.acquire(zero), .acquire(ShardID(1))])
        #expect(machine.nextDeadlineMs == nil, "both are requested")
        _ = machine.leaseAnswered(zero, epoch: nil, heldForMs: 659, knownForMs: 0, sentMs: 1_051, nowMs: 1_052)
        #expect(machine.nextDeadlineMs == 1_712)
        _ = machine.workersChanged([NodeID("other")], nowMs: 1_100)
        #expect(machine.nextDeadlineMs == nil, "not wanted any more")
    }

    @Test func aShardThatRestsHasADeadline() {
        var machine = machine()
        _ = machine.workersChanged([me], nowMs: 1_000)
        #expect(machine.leaseAnswered(zero, epoch: 9, knownForMs: 3_000, sentMs: 1_000, nowMs: 1_010).isEmpty)
        #expect(machine.nextDeadlineMs == 3_010)
        #expect(machine.tick(nowMs: 3_010).contains(.start(zero, epoch: 9)))
        #expect(machine.nextDeadlineMs == nil)
    }

    @Test func anUnansweredRequestIsRepeatedAfterTheLeaseWouldHaveEnded() {
        var machine = machine()
        _ = machine.workersChanged([me], nowMs: 1_000)
        #expect(machine.tick(nowMs: 5_999).isEmpty)
        #expect(machine.tick(nowMs: 6_000) == [.acquire(zero)])
        // The first answer comes after all: its lease is given back, the second counts.
        #expect(
            machine.leaseAnswered(zero, epoch: 3, knownForMs: .max, sentMs: 1_000, nowMs: 6_010) == [
                .release(zero, epoch: 3)
            ])
        #expect(
            machine.leaseAnswered(zero, epoch: 4, knownForMs: .max, sentMs: 6_000, nowMs: 6_020) == [
                .start(zero, epoch: 4)
            ])
    }

    @Test func renewalsAreRegularAndOneAtATime() {
        var machine = holding()
        #expect(machine.tick(nowMs: 1_999).isEmpty)
        #expect(machine.tick(nowMs: 2_000) == [.renew(zero, epoch: 5)])
        #expect(machine.tick(nowMs: 2_500).isEmpty)
        #expect(machine.renewalAnswered(zero, epoch: 5, isHeld: true, sentMs: 2_000, nowMs: 2_600).isEmpty)
        #expect(machine.tick(nowMs: 2_900).isEmpty)
        #expect(machine.tick(nowMs: 3_000) == [.renew(zero, epoch: 5)])
    }

    @Test func servingStopsBeforeTheLeaseCanBeTaken() {
        var machine = holding()
        // Asked at 1,000, so the lease may end at 6,000; the margin is 500.
        for nowMs: Int64 in stride(from: 2_000, to: 5_500, by: 500) {
            for action in machine.tick(nowMs: nowMs) {
                #expect(action == .renew(zero, epoch: 5))
                #expect(machine.renewalAnswered(zero, epoch: 5, isHeld: nil, sentMs: nowMs, nowMs: nowMs + 10).isEmpty)
            }
        }
        #expect(machine.held == [zero: 5])
        #expect(machine.tick(nowMs: 5_500) == [.stop(zero, epoch: 5), .acquire(zero)])
        #expect(machine.held.isEmpty)
    }

    @Test func aRenewalCountsFromWhenItWasSent() {
        var machine = holding()
        _ = machine.tick(nowMs: 2_000)
        _ = machine.renewalAnswered(zero, epoch: 5, isHeld: true, sentMs: 2_000, nowMs: 5_400)
        #expect(machine.tick(nowMs: 6_499).contains(.renew(zero, epoch: 5)))
        #expect(machine.tick(nowMs: 6_500).first == .stop(zero, epoch: 5))
    }

    @Test func aLeaseThatIsGoneStopsAtOnce() {
        var machine = holding()
        _ = machine.tick(nowMs: 2_000)
        #expect(
            machine.renewalAnswered(zero, epoch: 5, isHeld: false, sentMs: 2_000, nowMs: 2_010) == [
                .stop(zero, epoch: 5), .acquire(zero),
            ])
        #expect(machine.renewalAnswered(zero, epoch: 5, isHeld: true, sentMs: 2_000, nowMs: 2_020).isEmpty)
        #expect(machine.held.isEmpty)
    }

    @Test func aLeaseThatTheServerDoesNotKnowYetRests() {
        var machine = machine()
        _ = machine.workersChanged([me], nowMs: 1_000)
        #expect(machine.leaseAnswered(zero, epoch: 9, knownForMs: 2_000, sentMs: 1_000, nowMs: 1_010).isEmpty)
        #expect(!machine.isServing(zero, nowMs: 1_010))
        #expect(machine.tick(nowMs: 2_000) == [.renew(zero, epoch: 9)])
        _ = machine.renewalAnswered(zero, epoch: 9, isHeld: true, sentMs: 2_000, nowMs: 2_010)
        #expect(machine.tick(nowMs: 4_009) == [.renew(zero, epoch: 9)])
        #expect(machine.tick(nowMs: 4_010) == [.start(zero, epoch: 9)])
        #expect(machine.isServing(zero, nowMs: 4_010))
    }

    @Test func theFormerOwnerTakesAForgottenLeaseAgain() {
        var machine = holding()
        #expect(
            machine.renewalAnswered(zero, epoch: 5, isHeld: false, sentMs: 2_000, nowMs: 2_010) == [
                .stop(zero, epoch: 5), .acquire(zero),
            ])
        #expect(
            machine.leaseAnswered(zero, epoch: 6, knownForMs: 0, sentMs: 2_010, nowMs: 2_020) == [
                .start(zero, epoch: 6)
            ])
    }

    @Test func anOwnerThatLearnsTooLateLetsTheShardRest() {
        var machine = holding()
        #expect(
            machine.renewalAnswered(zero, epoch: 5, isHeld: false, sentMs: 5_000, nowMs: 5_600) == [
                .stop(zero, epoch: 5)
            ])
        #expect(machine.tick(nowMs: 5_700) == [.acquire(zero)])
        #expect(machine.leaseAnswered(zero, epoch: 6, knownForMs: 0, sentMs: 5_700, nowMs: 5_710).isEmpty)
    }

    /// It asked in time and stood still: meanwhile another one could serve, of whom the next server knows nothing.
    @Test(arguments: [(5_499, true), (5_500, false), (9_900, false)])
    func anOwnerThatIsAnsweredTooLateLetsTheShardRest(answeredMs: Int64, servesOn: Bool) {
        var machine = holding()
        _ = machine.renewalAnswered(zero, epoch: 5, isHeld: false, sentMs: 2_000, nowMs: 2_010)
        let actions = machine.leaseAnswered(
            zero, epoch: 7, knownForMs: 0, requestedMs: 2_011, sentMs: answeredMs - 3, nowMs: answeredMs)
        #expect(actions == (servesOn ? [.start(zero, epoch: 7)] : []))
        #expect(machine.isServing(zero, nowMs: answeredMs) == servesOn)
    }

    @Test func anAnswerForAnOldEpochChangesNothing() {
        var machine = holding()
        #expect(machine.renewalAnswered(zero, epoch: 4, isHeld: false, sentMs: 900, nowMs: 2_000).isEmpty)
        #expect(machine.held == [zero: 5])
    }

    @Test func aShardThatMovesIsReleased() throws {
        var machine = holding()
        let others = (0..<50).map { NodeID("other-\($0)") }
        let thief = try #require(others.first { ShardAssignment.owner(of: zero, among: [me, $0]) == $0 })
        #expect(machine.workersChanged([me, thief], nowMs: 1_100) == [.release(zero, epoch: 5)])
        #expect(machine.tick(nowMs: 60_000).isEmpty)
    }

    @Test func drainingReleasesAndAsksNoMore() {
        var machine = holding()
        #expect(machine.drain(nowMs: 1_100) == [.release(zero, epoch: 5)])
        #expect(machine.workersChanged([me], nowMs: 1_200).isEmpty)
        #expect(
            machine.leaseAnswered(zero, epoch: 6, knownForMs: .max, sentMs: 1_000, nowMs: 1_300) == [
                .release(zero, epoch: 6)
            ])
    }

    @Test func aLeaseThatComesAfterTheWishIsGoneGoesBack() {
        var machine = machine()
        _ = machine.workersChanged([me], nowMs: 1_000)
        #expect(machine.workersChanged([], nowMs: 1_010).isEmpty)
        #expect(
            machine.leaseAnswered(zero, epoch: 5, knownForMs: .max, sentMs: 1_000, nowMs: 1_020) == [
                .release(zero, epoch: 5)
            ])
    }

    @Test func aShardThatCannotBeServedGoesBack() {
        var machine = holding()
        #expect(machine.startFailed(zero, epoch: 4, nowMs: 1_500).isEmpty)
        #expect(machine.startFailed(zero, epoch: 5, nowMs: 1_500) == [.release(zero, epoch: 5)])
        #expect(machine.tick(nowMs: 1_500).isEmpty && machine.nextDeadlineMs == 1_700)
        #expect(machine.tick(nowMs: 1_699).isEmpty)
        #expect(machine.tick(nowMs: 1_700) == [.acquire(zero)])
    }

    @Test func aShardThatCannotBeServedIsTriedEverMoreSeldom() {
        var machine = holding()
        var nowMs: Int64 = 2_000
        var epoch: UInt64 = 5
        var pauses: [Int64] = []
        for _ in 0..<10 {
            _ = machine.startFailed(zero, epoch: epoch, nowMs: nowMs)
            _ = machine.tick(nowMs: nowMs)
            let untilMs = machine.nextDeadlineMs ?? .max
            pauses.append(untilMs - nowMs)
            #expect(machine.tick(nowMs: untilMs - 1).isEmpty)
            nowMs = untilMs
            #expect(machine.tick(nowMs: nowMs) == [.acquire(zero)])
            epoch += 1
            let started = machine.leaseAnswered(zero, epoch: epoch, knownForMs: 60_000, sentMs: nowMs, nowMs: nowMs)
            #expect(started == [.start(zero, epoch: epoch)])
        }
        #expect(pauses == [200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000])
        machine.started(zero)
        _ = machine.startFailed(zero, epoch: epoch, nowMs: nowMs)
        _ = machine.tick(nowMs: nowMs)
        #expect(machine.nextDeadlineMs == nowMs + 200)
    }
}
