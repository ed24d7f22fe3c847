import Pacing
import Testing

@Suite struct BackoffTests {
    @Test func doublesUpToItsMaximum() {
        let backoff = Backoff(minMs: 100, maxMs: 1_500)
        #expect((0..<7).map { backoff.delayMs(after: $0) } == [100, 200, 400, 800, 1_500, 1_500, 1_500])
    }

    @Test func anyNumberOfFailuresIsInRange() {
        #expect(Backoff(minMs: 1, maxMs: .max).delayMs(after: .max) == 1 << 16)
        #expect(Backoff(minMs: 50, maxMs: 2_000).delayMs(after: -1) == 50)
    }
}
