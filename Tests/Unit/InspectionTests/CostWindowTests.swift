import Inspection
import LiveModel
import Testing

/// Windows of costs: percentiles of the last minutes, and the minutes of the last hour.
@Suite struct CostWindowTests {
    private static let minuteMs: Int64 = 60_000

    @Test func percentilesOfTheLastMinutesForgetWhatWasBefore() {
        var times = StatementTimes()
        let start: Int64 = 1_000 * Self.minuteMs
        for _ in 0..<100 { times.add(micros: 1_000, nowMs: start) }
        // An incident, ten minutes later.
        let now = start + 10 * Self.minuteMs
        for _ in 0..<10 { times.add(micros: 500_000, nowMs: now) }
        let recent = times.recent(nowMs: now).percentileMs(0.5) ?? 0
        #expect(recent > 490 && recent < 600)
        #expect((times.total.percentileMs(0.5) ?? 0) < 2)
        #expect(times.total.counts.reduce(0, +) == 110, "nothing is lost, nothing is counted twice")
        // Within the window both count.
        times.add(micros: 1_000, nowMs: now + 4 * Self.minuteMs)
        #expect(times.recent(nowMs: now + 4 * Self.minuteMs).counts.reduce(0, +) == 11)
        #expect(times.recent(nowMs: now + 5 * Self.minuteMs).counts.reduce(0, +) == 1)
        #expect(times.recent(nowMs: now + 60 * Self.minuteMs).isEmpty)
        #expect(times.total.counts.reduce(0, +) == 111)
    }

    @Test func aClockThatGoesBackLosesNothing() {
        var times = StatementTimes()
        times.add(micros: 10, nowMs: 1_000 * Self.minuteMs)
        times.add(micros: 10, nowMs: 900 * Self.minuteMs)
        #expect(times.recent(nowMs: 900 * Self.minuteMs).counts.reduce(0, +) == 2)
    }

    private static func costs(_ runs: UInt64) -> OperationCosts {
        var costs = OperationCosts()
        costs.runs = runs
        return costs
    }

    @Test func minutesAreDifferencesOfSamples() {
        var history = LoadHistory()
        let start = 1_000 * Self.minuteMs + 45_000
        #expect(history.isDue(nowMs: start))
        history.sampled(cpuMs: 5_000, costs: Self.costs(100), nowMs: start)
        #expect(!history.isDue(nowMs: start + 10_000) && history.isDue(nowMs: start + 15_000))
        // The rest of the minute of the start is too short to tell anything.
        history.sampled(cpuMs: 9_000, costs: Self.costs(110), nowMs: start + 15_000)
        #expect(history.minutes.isEmpty)
        history.sampled(cpuMs: 39_000, costs: Self.costs(170), nowMs: start + 75_000)
        #expect(history.minutes.count == 1)
        let minute = history.minutes[0]
        #expect(minute.number == 1_001 && minute.ms == 60_000 && minute.cpuMs == 30_000 && minute.costs.runs == 60)
        // A process that stood still for long.
        history.sampled(cpuMs: 40_000, costs: Self.costs(171), nowMs: start + 75_000 + 10 * Self.minuteMs)
        #expect(history.minutes.count == 1)
    }

    @Test func anHourIsKept() {
        var history = LoadHistory()
        for number in 0..<Int64(LoadHistory.minutesMax + 20) {
            history.sampled(cpuMs: number, costs: OperationCosts(), nowMs: number * Self.minuteMs)
        }
        #expect(history.minutes.count == LoadHistory.minutesMax)
        #expect(history.minutes.last?.number == Int64(LoadHistory.minutesMax) + 18)
    }
}
