import Pacing
import Testing

@Suite struct TokenBucketTests {
    @Test func tokensGatherUpToTheBurst() {
        var bucket = TokenBucket(perSecond: 10, burst: 5)
        #expect(bucket.available(nowMs: 1_000) == 5)
        bucket.take(5)
        #expect(bucket.available(nowMs: 1_000) == 0 && bucket.nextMs == 1_100)
        #expect(bucket.available(nowMs: 1_099) == 0 && bucket.nextMs == 1_100)
        #expect(bucket.available(nowMs: 1_100) == 1 && bucket.nextMs == 1_100)
        #expect(bucket.available(nowMs: 60_000) == 5)
    }

    @Test func theRateIsExactHoweverOftenItIsAsked() {
        var often = TokenBucket(count: 7, periodMs: 3_000, burst: 1_000)
        #expect(often.available(nowMs: 0) == 1_000)
        often.take(1_000)
        var seldom = often
        for nowMs in Int64(1)...300_000 { _ = often.available(nowMs: nowMs) }
        #expect(often.available(nowMs: 300_000) == 700 && seldom.available(nowMs: 300_000) == 700)
    }

    @Test func aRateThatDoesNotDivideTheSecondSaysWhenTheNextTokenIsThere() {
        var bucket = TokenBucket(perSecond: 3, burst: 1)
        #expect([100, 433, 434].map { bucket.takeOne(nowMs: $0) } == [true, false, true])
        // Tokens beyond the burst are not saved.
        #expect(bucket.nextMs == 768)
        #expect([767, 768].map { bucket.takeOne(nowMs: $0) } == [false, true])
    }

    @Test func aClockThatJumpsBackGivesNothing() {
        var bucket = TokenBucket(perSecond: 10, burst: 1)
        // The time before the jump counts once.
        let taken = [10_000, 1_000, 10_050, 10_100].map { bucket.takeOne(nowMs: $0) }
        #expect(taken == [true, false, false, true])
    }

    @Test func aPauseOfAnyLengthFillsIt() {
        var bucket = TokenBucket(perSecond: 10_000_000, burst: 1_000_000)
        #expect(bucket.available(nowMs: 0) == 1_000_000)
        bucket.take(1_000_000)
        #expect(bucket.available(nowMs: .max) == 1_000_000)
    }
}
