import LiveModel
import Refresh
import Testing

@Suite struct IntervalGridTests {
    private func key(_ number: Int) -> LiveQueryKey { LiveQueryKey(digest: RefreshFixture.digest(number)) }

    @Test(arguments: [1, 100, 1_000, 10_000, 3_600_000] as [Int64])
    func theNextTimeIsAfterNowAndWithinOneInterval(everyMs: Int64) {
        for number in 0..<50 {
            for nowMs: Int64 in [0, 1, 999, 1_732_000_000_123] {
                let due = IntervalGrid.next(after: nowMs, everyMs: everyMs, key: key(number))
                #expect(due > nowMs && due <= nowMs + everyMs)
                #expect(IntervalGrid.next(after: due, everyMs: everyMs, key: key(number)) == due + everyMs)
            }
        }
    }

    @Test func phasesAreSpreadOverTheWholeInterval() {
        let everyMs: Int64 = 60_000
        var perQuarter = [0, 0, 0, 0]
        for number in 0..<2_000 {
            let due = IntervalGrid.next(after: 600_000, everyMs: everyMs, key: key(number))
            perQuarter[Int((due % everyMs) * 4 / everyMs)] += 1
        }
        #expect(perQuarter.allSatisfy { (400...600).contains($0) }, "\(perQuarter)")
    }

    @Test func manyLiveQueriesShareAFewPoints() {
        let points = Set((0..<5_000).map { IntervalGrid.next(after: 0, everyMs: 3_600_000, key: key($0)) % 3_600_000 })
        #expect(points.count <= Int(IntervalGrid.slotsPerInterval))
    }
}
