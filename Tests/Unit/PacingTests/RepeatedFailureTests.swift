import Testing

@testable import Pacing

@Suite struct RepeatedFailureTests {
    @Test func theFirstOfEachIntervalIsLoggedWithTheNumberLeftOut() {
        var failure = RepeatedFailure(intervalMs: 1_000)
        #expect(failure.failed("a", nowMs: 500) == 0)
        for nowMs in stride(from: Int64(700), to: 1_500, by: 200) { #expect(failure.failed("a", nowMs: nowMs) == nil) }
        #expect(failure.failed("a", nowMs: 1_500) == 4)
        #expect(failure.failed("a", nowMs: 1_600) == nil)
        #expect(failure.failed("a", nowMs: 9_000) == 1)
        #expect(failure.failed("b", nowMs: 9_001) == 0)
        #expect(failure.failed("b", count: 7, nowMs: 9_002) == nil)
        #expect(failure.failed("b", count: 3, nowMs: 19_002) == 7)
    }

    @Test func alternatingTextsHaveIntervalsOfTheirOwn() {
        var failures = RepeatedFailures(textsMax: 2)
        #expect(failures.failed("a", nowMs: 0) == 0 && failures.failed("b", nowMs: 1) == 0)
        for nowMs in Int64(2)..<50 {
            #expect(failures.failed("a", nowMs: nowMs) == nil && failures.failed("b", nowMs: nowMs) == nil)
        }
        #expect(failures.failed("a", nowMs: 10_001) == 48 && failures.failed("b", nowMs: 10_001) == 48)
        // Further texts share one interval, so that their number has a bound.
        #expect(failures.failed("c", nowMs: 10_002) == 0)
        #expect(failures.failed("d", nowMs: 10_003) == nil)
        #expect(failures.failed("a", nowMs: 20_001) == 0 && failures.failed("b", nowMs: 20_001) == 0)
        #expect(failures.failed("c", nowMs: 20_002) == 1)
        // Texts that are over make room.
        #expect(failures.failed("c", nowMs: 40_000) == 0 && failures.failed("d", nowMs: 40_001) == 0)
    }
}
