import Testing

@testable import Node

@Suite struct StartupBackoffTests {
    @Test func stepsDoubleUpToTheLongest() {
        var steps = StartupBackoff(boundMs: nil)
        #expect((0..<7).map { _ in steps.next() } == [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
    }

    @Test func theLastStepEndsAtTheBound() {
        var steps = StartupBackoff(boundMs: 1_500)
        #expect([steps.next(), steps.next(), steps.next()] == [1_000, 500, nil])
        #expect(steps.waitedMs == 1_500)
    }

    @Test func aServerThatAnswersAtOnceTakesNothingFromTheBound() {
        var steps = StartupBackoff(boundMs: 1_500)
        for _ in 0..<5 {
            #expect(steps.next() == 1_000)
            steps.ended(earlyMs: 1_000)
        }
        _ = steps.next()
        steps.ended(earlyMs: 900)
        #expect([steps.next(), steps.next(), steps.next()] == [1_000, 400, nil])
        #expect(steps.waitedMs == 1_500)
    }
}
