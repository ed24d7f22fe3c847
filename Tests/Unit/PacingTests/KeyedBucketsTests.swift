import Pacing
import Testing

@Suite struct KeyedBucketsTests {
    @Test func everyKeyHasABurstAndThenARate() {
        var buckets = KeyedBuckets<String>(perSecond: 10, burst: 5)
        #expect(buckets.take(upTo: 3, of: "a", nowMs: 0) == 3)
        #expect(buckets.take(upTo: 32, of: "a", nowMs: 0) == 2)
        #expect(buckets.take(upTo: 32, of: "a", nowMs: 99) == 0)
        #expect(buckets.take(upTo: 32, of: "b", nowMs: 99) == 5)
        #expect(buckets.take(upTo: 32, of: "a", nowMs: 300) == 3)
        buckets.putBack(2, to: "a")
        #expect(buckets.take(upTo: 32, of: "a", nowMs: 300) == 2)
        // A clock that jumps back adds nothing.
        #expect(buckets.take(upTo: 1, of: "a", nowMs: 0) == 0)
        #expect(buckets.take(upTo: 32, of: "a", nowMs: .max) == 5)
    }

    @Test func debtIsPaidBeforeAnythingGoesOn() {
        var buckets = KeyedBuckets<String>(perSecond: 10, burst: 5)
        _ = buckets.take(upTo: 5, of: "a", nowMs: 0)
        #expect((1...3).map { _ in buckets.owe("a", nowMs: 0) } == [100, 200, 300])
        #expect(buckets.take(upTo: 1, of: "a", nowMs: 300) == 0)
        #expect(buckets.begin("a", nowMs: 300) == 100)
        #expect(buckets.begin("a", nowMs: 400) == 0)
        #expect(buckets.begin("a", nowMs: 400) > 0, "one for each token")
    }

    @Test func debtIsAtMostAnotherBurst() {
        var buckets = KeyedBuckets<String>(perSecond: 10, burst: 5)
        _ = buckets.take(upTo: 5, of: "a", nowMs: 0)
        for _ in 0..<1_000 { #expect(buckets.owe("a", nowMs: 0) <= 500) }
        #expect(buckets.take(upTo: 1, of: "a", nowMs: 600) == 1)
    }

    @Test func thoseWhoWaitComeBackAtDifferentTimes() {
        var buckets = KeyedBuckets<String>(perSecond: 10, burst: 1, spreadMs: 500)
        #expect(buckets.begin("a", nowMs: 0) == 0)
        #expect((0..<7).map { _ in buckets.begin("a", nowMs: 0) } == [100, 200, 300, 400, 500, 100, 200])
    }

    /// The rate of a client that reconnects whenever it is paused is the limit, whatever each connection sends at once.
    @Test func reconnectingBringsNoFreshBurst() {
        var buckets = KeyedBuckets<String>(perSecond: 1_000, burst: 10_000)
        var (nowMs, count) = (Int64(0), 0)
        while nowMs < 100_000 {
            let waitMs = buckets.begin("a", nowMs: nowMs)
            guard waitMs == 0 else {
                nowMs += waitMs
                continue
            }
            for _ in 0..<4_000 {
                count += 1
                if buckets.take(upTo: 1, of: "a", nowMs: nowMs) == 0 { _ = buckets.owe("a", nowMs: nowMs) }
            }
        }
        #expect(count >= 100_000 && count < 100_000 + 2 * 10_000, "\(count)")
    }

    @Test func bucketsThatAreFullAgainAreDropped() {
        var buckets = KeyedBuckets<Int>(perSecond: 10, burst: 5)
        for key in 0..<100_000 { _ = buckets.take(upTo: 1, of: key, nowMs: Int64(key)) }
        #expect(buckets.count <= 1_024)
    }

    @Test func theNumberOfBucketsIsBoundedAndThoseThatOweStay() {
        var buckets = KeyedBuckets<Int>(perSecond: 10, burst: 5, countMax: 2_000)
        for _ in 0..<9 where buckets.take(upTo: 1, of: -1, nowMs: 0) == 0 { _ = buckets.owe(-1, nowMs: 0) }
        for key in 0..<10_000 {
            _ = buckets.take(upTo: 1, of: key, nowMs: 0)
            #expect(buckets.count <= 2_000)
        }
        #expect(buckets.begin(-1, nowMs: 0) > 100)
    }
}
