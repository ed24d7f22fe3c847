import Testing

@testable import Node

@Suite struct ReadingLagTests {
    @Test("the answered lag counts while answers come")
    func answers() {
        var lag = ReadingLag(answerLastsMs: 10_000, nowMs: 1_000)
        #expect(lag.seconds(nowMs: 11_000) == 0)
        lag.answered(behindMs: 2_500, nowMs: 6_000)
        #expect(lag.seconds(nowMs: 16_000) == 2.5)
        lag.answered(behindMs: 0, nowMs: 16_000)
        #expect(lag.seconds(nowMs: 26_000) == 0)
    }

    @Test("the lag grows with the time without answers")
    func silence() {
        var lag = ReadingLag(answerLastsMs: 10_000, nowMs: 0)
        #expect(lag.seconds(nowMs: 10_001) == 10.001)
        lag.answered(behindMs: 3_000, nowMs: 20_000)
        #expect(lag.seconds(nowMs: 31_000) == 3 + 11)
        #expect(lag.seconds(nowMs: 620_000) == 3 + 600)
        lag.answered(behindMs: 40_000, nowMs: 620_000)
        #expect(lag.seconds(nowMs: 621_000) == 40)
    }
}
