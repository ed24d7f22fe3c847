import RoleMachines
import Testing

@Suite struct EarliestDeadlineTests {
    private func named(_ deadlineMs: Int64?, nowMs: Int64 = 0, _ earliest: inout EarliestDeadline) -> [Int64] {
        earliest.named(deadlineMs, nowMs: nowMs).map { [$0.deadlineMs, $0.afterMs] } ?? []
    }

    @Test func onlyAnEarlierDeadlineSetsTheTimer() {
        var earliest = EarliestDeadline()
        #expect(named(nil, &earliest) == [])
        #expect(named(50, nowMs: 20, &earliest) == [50, 30])
        #expect(named(50, &earliest) == [])
        #expect(named(60, &earliest) == [])
        #expect(named(nil, &earliest) == [])
        #expect(named(40, &earliest) == [40, 40])
        #expect(named(10, nowMs: 25, &earliest) == [10, 0], "passed")
    }

    @Test func aReplacedTimerReportsNothing() {
        var earliest = EarliestDeadline()
        _ = named(50, &earliest)
        _ = named(40, &earliest)
        #expect(earliest.fired(50, nowMs: 50) == nil)
        #expect(earliest.fired(40, nowMs: 41) == 41)
        #expect(earliest.fired(40, nowMs: 41) == nil, "it fires once")
        #expect(named(60, nowMs: 41, &earliest) == [60, 19])
    }

    @Test func aTimerThatRingsEarlyReportsItsDeadline() {
        var earliest = EarliestDeadline()
        _ = named(50, &earliest)
        #expect(earliest.fired(50, nowMs: 49) == 50)
    }
}
