import RoleMachines
import Testing

@Suite struct IdempotencySweepTests {
    private func sweep() -> IdempotencySweep {
        var settings = IdempotencySweep.Settings()
        settings.sweepMs = 9
        settings.keepMs = 77
        settings.rowsMax = 100
        settings.batchMax = 10
        settings.evictedMax = 25
        return IdempotencySweep(settings)
    }

    @Test func expiredRowsGoInBatchesUntilOneIsNotFull() {
        let sweep = sweep()
        #expect(sweep.begun() == .removeExpired(ageMs: 77, limit: 10))
        #expect(sweep.removedExpired(10) == .removeExpired(ageMs: 77, limit: 10))
        #expect(sweep.removedExpired(9) == .count(limit: 125))
    }

    @Test func theOldestGoWhileThereAreTooMany() {
        var sweep = sweep()
        #expect(sweep.counted(114) == .removeOldest(limit: 10))
        #expect(sweep.removedOldest(10) == .removeOldest(limit: 4))
        #expect(sweep.removedOldest(4) == .wait(ms: 9, evicted: 14))
    }

    @Test func asManyAsAllowedAreLeftAlone() {
        var sweep = sweep()
        #expect(sweep.counted(100) == .wait(ms: 9, evicted: 0))
    }

    /// The next round continues; rows that others hold wait for it, too.
    @Test func aFailedStepEndsTheRound() {
        var sweep = sweep()
        #expect(sweep.removedExpired(nil) == .wait(ms: 9, evicted: 0))
        #expect(sweep.counted(nil) == .wait(ms: 9, evicted: 0))
        #expect(sweep.counted(125) == .removeOldest(limit: 10))
        #expect(sweep.removedOldest(10) == .removeOldest(limit: 10))
        #expect(sweep.removedOldest(nil) == .wait(ms: 9, evicted: 10))
        #expect(sweep.removedOldest(0) == .wait(ms: 9, evicted: 10))
    }
}
