import Synchronization
import Testing

@testable import Postgres

@Suite struct ConnectionChoiceTests {
    private func packed(_ loads: ConnectionChoice.Load..., nowUs: Int = 1_000_000) -> Int {
        ConnectionChoice.packed.best(of: loads.count, nowUs: nowUs) { loads[$0] }
    }

    private func spread(_ loads: ConnectionChoice.Load..., nowUs: Int = 1_000_000) -> Int {
        ConnectionChoice.spread.best(of: loads.count, nowUs: nowUs) { loads[$0] }
    }

    @Test func queriesShareAConnectionThatKeepsAnswering() {
        #expect(packed(.init(jobs: 0), .init(jobs: 0)) == 0)
        #expect(packed(.init(jobs: 64, progressUs: 996_000), .init(jobs: 0)) == 0)
    }

    @Test func queriesLeaveAConnectionThatStoppedAnswering() {
        #expect(packed(.init(jobs: 1, progressUs: 990_000), .init(jobs: 0)) == 1)
        #expect(packed(.init(jobs: 1, progressUs: 990_000), .init(jobs: 64, progressUs: 999_000)) == 1)
        // Nothing is in flight, so nothing is late.
        #expect(packed(.init(jobs: 0, progressUs: 1_000), .init(jobs: 0)) == 0)
    }

    @Test func queriesDoNotQueueBehindLongerOnes() {
        // Twenty answers of 40 µs are soon there, three of 4 ms are not.
        #expect(packed(.init(jobs: 20, progressUs: 999_000, answerUs: 40), .init(jobs: 0)) == 0)
        #expect(packed(.init(jobs: 1, progressUs: 999_000, answerUs: 4_000), .init(jobs: 0)) == 0)
        #expect(packed(.init(jobs: 3, progressUs: 999_000, answerUs: 4_000), .init(jobs: 0)) == 1)
        let busy = ConnectionChoice.Load(jobs: 4, progressUs: 999_000, answerUs: 4_000)
        #expect(packed(busy, .init(jobs: 3, progressUs: 999_000, answerUs: 4_000)) == 1)
    }

    @Test func theAverageFollowsTheAnswers() {
        let counters = ConnectionCounters()
        counters.answered(10, inUs: 80_000, atUs: 5)
        #expect(counters.answerUs.load(ordering: .relaxed) == 1_000, "an eighth of 8 ms an answer")
        counters.answered(10, inUs: 0, atUs: 7)
        #expect(counters.answerUs.load(ordering: .relaxed) == 875)
        #expect(counters.progressUs.load(ordering: .relaxed) == 7)
    }

    @Test func aFullConnectionSharesWithTheOthers() {
        #expect(packed(.init(jobs: 128, progressUs: 1_000_000), .init(jobs: 0)) == 1)
        #expect(packed(.init(jobs: 128, progressUs: 1_000_000), .init(jobs: 129, progressUs: 1_000_000)) == 0)
    }

    @Test func connectionsThatAreHeldUpOrDownComeLast() {
        #expect(packed(.init(jobs: 1, isHeldUp: true, progressUs: 999_000), .init(jobs: 9, progressUs: 1_000)) == 1)
        #expect(packed(.init(jobs: 0, isConnected: false), .init(jobs: 9, isHeldUp: true, progressUs: 999_000)) == 1)
        #expect(packed(.init(jobs: 0, isConnected: false), .init(jobs: 0, isConnected: false)) == 0)
    }

    @Test func expectedTimesCountAsLoad() {
        #expect(packed(.init(jobs: 3, progressUs: 999_000, costUs: 24_000), .init(jobs: 9, progressUs: 999_000)) == 1)
        #expect(spread(.init(jobs: 1, costUs: 80_000), .init(jobs: 9)) == 1)
    }

    @Test func roomEndsWhereTheLastAnswerWouldBeLate() {
        let choice = ConnectionChoice.packed
        #expect(choice.hasRoom(.init(jobs: 256, answerUs: 40)))
        #expect(choice.hasRoom(.init(jobs: 0, answerUs: 80_000)), "nothing is in front of it")
        #expect(!choice.hasRoom(.init(jobs: 256, answerUs: 100)))
        #expect(choice.hasRoom(.init(jobs: 2, costUs: 16_000)))
        #expect(!choice.hasRoom(.init(jobs: 3, costUs: 24_000)))
        #expect(!choice.hasRoom(.init(jobs: 1, isHeldUp: true)))
    }

    /// All long transactions together leave the first quarter to short ones, and a source's leave some to any other's.
    @Test(arguments: [2, 4, 12, 64])
    func longTransactionsOfASourceHaveHalfOfTheConnections(count: Int) {
        let shares = (UInt64(0)..<50).map { ConnectionChoice.share(of: count, for: Caller($0)) }
        let open = Set(max(1, count / 4)..<count)
        for share in shares {
            #expect(Set(share).isSubset(of: open) && Set(share).count == (open.count + 1) / 2)
        }
        #expect(Set(shares.joined()) == open)
        #expect(ConnectionChoice.share(of: count, for: Caller(1, address: 7)) == shares[7], "an address is one source")
    }

    @Test func oneConnectionIsForAllTransactions() {
        #expect(ConnectionChoice.share(of: 1, for: 1) == [0])
    }

    @Test func transactionsGoWhereTheLoadIsLowest() {
        #expect(spread(.init(jobs: 1, progressUs: 1_000_000), .init(jobs: 0)) == 1)
        #expect(spread(.init(jobs: 1, progressUs: 1_000), .init(jobs: 3, progressUs: 1_000_000)) == 0)
        #expect(spread(.init(jobs: 2), .init(jobs: 2)) == 0)
    }
}
