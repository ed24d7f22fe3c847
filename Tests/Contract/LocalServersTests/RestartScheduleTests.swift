import Testing

@testable import LocalServers

@Suite struct RestartScheduleTests {
    @Test("pauses grow up to a bound, then restarts end; a long run resets them")
    func pauses() {
        var schedule = RestartSchedule()
        schedule.started(nowMs: 0)
        var pauses: [Int] = []
        while let pause = schedule.ended(nowMs: 1_000) { pauses.append(pause) }
        #expect(pauses == [200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000, 5_000, 5_000])
        #expect(pauses.count == RestartSchedule.endsMax)

        schedule = RestartSchedule()
        schedule.started(nowMs: 0)
        #expect(schedule.ended(nowMs: 10) == 200)
        schedule.started(nowMs: 300)
        #expect(schedule.ended(nowMs: 30_299) == 400)
        schedule.started(nowMs: 40_000)
        #expect(schedule.ended(nowMs: 70_000) == 200)
        // A start that failed is no run.
        #expect(schedule.ended(nowMs: 200_000) == 400)
    }
}
