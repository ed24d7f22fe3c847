import Sessions
import Testing

@Suite struct SessionDeadlinesTests {
    /// Opening within 10, keep-alives every 20, the idle end after 100, from 1,000 on.
    private func deadlines(sendsKeepAlives: Bool = true, idleTimeoutMs: Int64 = 100) -> SessionDeadlines {
        var limits = SessionLimits()
        (limits.initTimeoutMs, limits.keepAliveMs, limits.idleTimeoutMs) = (10, 20, idleTimeoutMs)
        return SessionDeadlines(limits, sendsKeepAlives: sendsKeepAlives, nowMs: 1_000)
    }

    /// All steps that are due.
    private func due(
        _ deadlines: inout SessionDeadlines, _ nowMs: Int64, hasOperations: Bool = false, isReading: Bool = true
    ) -> [SessionDeadlines.Due] {
        var steps: [SessionDeadlines.Due] = []
        while let step = deadlines.next(hasOperations: hasOperations, isReading: isReading, nowMs: nowMs) {
            steps.append(step)
        }
        #expect(deadlines.firstMs > nowMs, "nothing is due twice")
        return steps
    }

    @Test func openingTimesOutOnceUnlessItArrived() {
        var silent = deadlines()
        #expect(silent.firstMs == 1_010)
        #expect(due(&silent, 1_009) == [] && due(&silent, 1_010) == [.opening] && due(&silent, 1_011) == [])
        var opened = deadlines()
        opened.opened()
        #expect(opened.firstMs == 1_020 && due(&opened, 1_010) == [])
    }

    @Test func keepAlivesKeepTheirRhythmAndAreNotMadeUpFor() {
        var deadlines = deadlines(idleTimeoutMs: 0)
        deadlines.opened()
        #expect(due(&deadlines, 1_023) == [.keepAlive] && deadlines.firstMs == 1_040)
        // Two were missed.
        #expect(due(&deadlines, 1_085) == [.keepAlive] && deadlines.firstMs == 1_086)
    }

    @Test func keepAlivesAreLeftOutForAClientThatDoesNotRead() {
        var deadlines = deadlines(idleTimeoutMs: 0)
        deadlines.opened()
        #expect(due(&deadlines, 1_020, isReading: false) == [] && deadlines.firstMs == 1_040)
        #expect(due(&deadlines, 1_040) == [.keepAlive])
    }

    @Test func idleEndComesAfterTheLastUseAndNotDuringOperations() {
        var deadlines = deadlines(sendsKeepAlives: false)
        deadlines.opened()
        #expect(deadlines.firstMs == 1_100)
        deadlines.used(nowMs: 1_070)
        #expect(due(&deadlines, 1_100) == [] && deadlines.firstMs == 1_170)
        #expect(due(&deadlines, 1_170, hasOperations: true) == [] && deadlines.firstMs == 1_270)
        #expect(due(&deadlines, 1_270) == [.idleEnd] && deadlines.firstMs == .max)
    }

    @Test func idleEndNeverComesWithoutATimeout() {
        var deadlines = deadlines(sendsKeepAlives: false, idleTimeoutMs: 0)
        deadlines.opened()
        #expect(deadlines.firstMs == .max && due(&deadlines, 1_000_000) == [])
    }

    @Test func stepsThatAreDueTogetherComeInOrder() {
        var deadlines = deadlines()
        #expect(due(&deadlines, 1_100) == [.opening, .keepAlive, .idleEnd])
        var unread = self.deadlines()
        #expect(due(&unread, 1_100, isReading: false) == [.opening, .idleEnd])
    }
}
