import LiveModel
import Testing

/// Costs of operations: the last minute and the whole.
@Suite struct CostMeterTests {
    private static let operation = OperationReference(connector: "c", operation: "A")

    private static func runs(_ count: UInt64) -> OperationCosts {
        var costs = OperationCosts()
        costs.runs = count
        return costs
    }

    @Test func theWindowForgetsAndTheTotalDoesNot() {
        var meter = CostMeter()
        meter.add(Self.runs(1), of: Self.operation, nowMs: 1_000_000)
        meter.add(Self.runs(2), of: Self.operation, nowMs: 1_030_000)
        func seen(_ nowMs: Int64) -> [UInt64] {
            meter.report(nowMs: nowMs).flatMap { [$0.window.runs, $0.total.runs] }
        }
        #expect(seen(1_030_000) == [3, 3])
        #expect(seen(1_059_999) == [3, 3])
        #expect(seen(1_060_000) == [2, 3])
        #expect(seen(1_090_000) == [0, 3])
        #expect(seen(9_000_000) == [0, 3])
    }

    @Test func aClockThatGoesBackLosesNothing() {
        var meter = CostMeter()
        meter.add(Self.runs(1), of: Self.operation, nowMs: 1_000_000)
        meter.add(Self.runs(1), of: Self.operation, nowMs: 500_000)
        #expect(meter.report(nowMs: 500_000).first?.window.runs == 2)
    }

    @Test func operationsAreBounded() {
        var meter = CostMeter()
        for number in 0..<CostMeter.operationsMax + 10 {
            meter.add(
                Self.runs(1), of: OperationReference(connector: "c", operation: "Q\(number)"), nowMs: 1_000_000)
        }
        #expect(meter.report(nowMs: 1_000_000).count == CostMeter.operationsMax)
    }
}
