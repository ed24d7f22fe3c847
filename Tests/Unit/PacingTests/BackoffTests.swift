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

    @Test func jitterShortensByAtMostHalf() {
        let backoff = Backoff(minMs: 5, maxMs: 1_500)
        var ranges: [ClosedRange<Int64>] = []
        for failures in 0..<3 {
            _ = backoff.delayMs(after: failures) { range in
                ranges.append(range)
                return range.lowerBound
            }
        }
        #expect(ranges == [3...5, 5...10, 10...20])
    }

    @Test func jitteredBackoffCountsAttempts() {
        var backoff = JitteredBackoff(minMs: 20, maxMs: 150)
        #expect((0..<5).map { _ in backoff.nextMs { $0.upperBound } } == [20, 40, 80, 150, 150])
        backoff.reset()
        #expect((0..<3).map { _ in backoff.nextMs { $0.lowerBound } } == [10, 20, 40])
    }

    @Test func jitteredBackoffHasUsefulBoundsWhateverItIsGiven() {
        var backoff = JitteredBackoff(minMs: 0, maxMs: -1)
        #expect(backoff.nextMs { $0.lowerBound } == 1 && backoff.nextMs { $0.upperBound } == 1)
    }
}
