import Testing

@testable import Pacing

@Suite struct RepeatedFailureTests {
    @Test func theFirstOfEachIntervalIsLoggedWithTheNumberLeftOut() {
        var failure = RepeatedFailure(intervalMs: 1_000)
        #expect(failure.failed(nowMs: 500) == 0)
        for nowMs in stride(from: Int64(700), to: 1_500, by: 200) { #expect(failure.failed(nowMs: nowMs) == nil) }
        #expect(failure.failed(nowMs: 1_500) == 4)
        #expect(failure.failed(nowMs: 1_600) == nil)
        #expect(failure.failed(nowMs: 9_000) == 1)
    }
}
