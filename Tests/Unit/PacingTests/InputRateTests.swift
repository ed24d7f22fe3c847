import Pacing
import Testing

@Suite struct InputRateTests {
    @Test func aBurstThenARate() {
        var rate = InputRate(perSecond: 10, burst: 5)
        for _ in 0..<5 { #expect(rate.arrived(nowMs: 0) == .within) }
        #expect(rate.arrived(nowMs: 0) == .over)
        #expect(rate.pauseMs(nowMs: 0) == 100)
        #expect(rate.pauseMs(nowMs: 99) > 0)
        #expect(rate.pauseMs(nowMs: 100) == 0)
        #expect(rate.arrived(nowMs: 199) == .over, "the debt took the first token")
        #expect(rate.pauseMs(nowMs: 200) == 0)
        #expect(rate.arrived(nowMs: 300) == .within)
    }

    @Test func anExcessOfOneReadIsADebtUpToAnotherBurst() {
        var rate = InputRate(perSecond: 10, burst: 5)
        let steps = (0..<11).map { _ in rate.arrived(nowMs: 0) }
        #expect(steps == [.within, .within, .within, .within, .within, .over, .over, .over, .over, .over, .excessive])
        #expect(rate.arrived(nowMs: 0) == .excessive)
        #expect(rate.pauseMs(nowMs: 0) == 600)
    }

    /// The rate of a peer that sends whenever it may is the limit, whatever its reads contain.
    @Test func overALongTimeOnlyTheRateCounts() {
        var rate = InputRate(perSecond: 200, burst: 2_000)
        var (nowMs, count) = (Int64(0), 0)
        while nowMs < 100_000 {
            for _ in 0..<300 {
                #expect(rate.arrived(nowMs: nowMs) != .excessive)
                count += 1
            }
            nowMs += max(1, rate.pauseMs(nowMs: nowMs))
        }
        #expect(count > 20_000 && count < 22_800, "\(count)")
    }

    @Test func zeroIsNoLimit() {
        var rate = InputRate(perSecond: 0, burst: 1)
        for _ in 0..<10_000 { #expect(rate.arrived(nowMs: 0) == .within) }
        #expect(rate.pauseMs(nowMs: 0) == 0)
    }
}
