import Testing

@testable import Postgres

@Suite struct ConnectionChoiceTests {
    private func packed(_ loads: ConnectionChoice.Load..., nowMs: Int = 1_000) -> Int {
        ConnectionChoice.packed.best(of: loads.count, nowMs: nowMs) { loads[$0] }
    }

    private func spread(_ loads: ConnectionChoice.Load..., nowMs: Int = 1_000) -> Int {
        ConnectionChoice.spread.best(of: loads.count, nowMs: nowMs) { loads[$0] }
    }

    @Test func queriesShareAConnectionThatKeepsAnswering() {
        #expect(packed(.init(jobs: 0), .init(jobs: 0)) == 0)
        #expect(packed(.init(jobs: 64, progressMs: 996), .init(jobs: 0)) == 0)
    }

    @Test func queriesLeaveAConnectionThatStoppedAnswering() {
        #expect(packed(.init(jobs: 1, progressMs: 995), .init(jobs: 0)) == 1)
        #expect(packed(.init(jobs: 1, progressMs: 995), .init(jobs: 64, progressMs: 999)) == 1)
        // Nothing is in flight, so nothing is late.
        #expect(packed(.init(jobs: 0, progressMs: 1), .init(jobs: 0)) == 0)
    }

    @Test func aFullConnectionSharesWithTheOthers() {
        #expect(packed(.init(jobs: 128, progressMs: 1_000), .init(jobs: 0)) == 1)
        #expect(packed(.init(jobs: 128, progressMs: 1_000), .init(jobs: 129, progressMs: 1_000)) == 0)
    }

    @Test func connectionsThatAreHeldUpOrDownComeLast() {
        #expect(packed(.init(jobs: 1, isHeldUp: true, progressMs: 999), .init(jobs: 9, progressMs: 1)) == 1)
        #expect(packed(.init(jobs: 0, isConnected: false), .init(jobs: 9, isHeldUp: true, progressMs: 999)) == 1)
        #expect(packed(.init(jobs: 0, isConnected: false), .init(jobs: 0, isConnected: false)) == 0)
    }

    @Test func transactionsGoWhereTheLoadIsLowest() {
        #expect(spread(.init(jobs: 1, progressMs: 1_000), .init(jobs: 0)) == 1)
        #expect(spread(.init(jobs: 1, progressMs: 1), .init(jobs: 3, progressMs: 1_000)) == 0)
        #expect(spread(.init(jobs: 2), .init(jobs: 2)) == 0)
    }
}
