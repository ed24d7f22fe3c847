import Sessions
import Testing

@Suite struct IdleClockTests {
    @Test func aSessionEndsWhenItWasUnusedForTheTimeout() {
        var clock = IdleClock(timeoutMs: 100, nowMs: 1_000)
        #expect(clock.timerFired(hasOperations: false, nowMs: 1_099) == .wait(ms: 1))
        #expect(clock.timerFired(hasOperations: false, nowMs: 1_100) == .end)
        clock.used(nowMs: 1_070)
        #expect(clock.timerFired(hasOperations: false, nowMs: 1_100) == .wait(ms: 70))
        #expect(clock.timerFired(hasOperations: false, nowMs: 1_170) == .end)
    }

    @Test func aSessionWithOperationsIsNotIdle() {
        let clock = IdleClock(timeoutMs: 100, nowMs: 0)
        #expect(clock.timerFired(hasOperations: true, nowMs: 5_000) == .wait(ms: 100))
        #expect(clock.timerFired(hasOperations: false, nowMs: 5_000) == .end)
    }
}
