import Sessions
import Testing

@Suite struct HeldRefusalsTests {
    private func fired(_ refusals: inout HeldRefusals, nowMs: Int64) -> (due: [UInt8], nextMs: Int64?) {
        let (due, nextMs) = refusals.timerFired(nowMs: nowMs)
        return (due.flatMap { $0 }, nextMs)
    }

    @Test func aRefusalWaitsForItsDelay() {
        var refusals = HeldRefusals()
        #expect(refusals.refused("a", [1], nowMs: 100) == .setTimer(ms: 20))
        #expect(refusals.refused("b", [2], nowMs: 105) == .hold, "the timer is set")
        #expect(fired(&refusals, nowMs: 119) == ([], 1))
        #expect(fired(&refusals, nowMs: 120) == ([1], 5))
        #expect(fired(&refusals, nowMs: 125) == ([2], nil))
        #expect(refusals.refused("a", [3], nowMs: 200) == .setTimer(ms: 20))
    }

    @Test func aRepeatedRequestGetsOneAnswer() {
        var refusals = HeldRefusals()
        _ = refusals.refused("a", [1], nowMs: 0)
        refusals.withdraw("a")
        #expect(refusals.refused("a", [2], nowMs: 10) == .hold)
        #expect(refusals.refused("a", [3], nowMs: 15) == .hold)
        #expect(refusals.count == 1)
        #expect(fired(&refusals, nowMs: 20) == ([], 15))
        #expect(fired(&refusals, nowMs: 35) == ([3], nil))
    }

    @Test func theTimerOfAWithdrawnRefusalSendsNothing() {
        var refusals = HeldRefusals()
        _ = refusals.refused("a", [1], nowMs: 0)
        refusals.withdraw("a")
        #expect(fired(&refusals, nowMs: 20) == ([], nil))
    }

    @Test func onlySoManyWait() {
        var refusals = HeldRefusals()
        for number in 0..<HeldRefusals.countMax { _ = refusals.refused("\(number)", [0], nowMs: 0) }
        #expect(refusals.refused("one more", [1], nowMs: 0) == .send([1]))
        #expect(refusals.refused("7", [2], nowMs: 0) == .hold, "it replaces another")
        #expect(refusals.count == HeldRefusals.countMax)
    }

    @Test func allAreTakenInTheOrderOfTheirRequests() {
        var refusals = HeldRefusals()
        for (id, byte) in [("b", 1), ("a", 2), ("c", 3)] { _ = refusals.refused(id, [UInt8(byte)], nowMs: 0) }
        #expect(refusals.takeAll() == [[1], [2], [3]])
        #expect(refusals.count == 0 && refusals.takeAll() == [])
    }
}
