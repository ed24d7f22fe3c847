import Testing

@testable import Admin

@Suite struct RefusalBudgetTests {
    @Test("a flood gets its first lines, then one now and then that counts the others")
    func flood() {
        var budget = RefusalBudget()
        var lines: [Int] = []
        // A thousand a second for a minute.
        for at in Int64(0)..<60_000 {
            if let unlogged = budget.refused(nowMs: at) { lines.append(unlogged) }
        }
        #expect(lines.count == RefusalBudget.linesMax + 19)
        #expect(lines.prefix(RefusalBudget.linesMax).allSatisfy { $0 == 0 })
        #expect(lines.dropFirst(RefusalBudget.linesMax + 1).allSatisfy { $0 == 2_999 })
        // Every one is counted by some line, or by the next.
        let next = budget.refused(nowMs: 60_000)
        #expect(lines.reduce(0, +) + lines.count + (next ?? -1) + 1 == 60_001)
    }

    @Test("few get a line each, and quiet brings all of them back")
    func few() {
        var budget = RefusalBudget()
        for number in Int64(0)..<500 { #expect(budget.refused(nowMs: number * RefusalBudget.refillMs) == 0) }
        for _ in 0..<1_000 { _ = budget.refused(nowMs: 1_500_000) }
        let after = 1_500_000 + RefusalBudget.refillMs * Int64(RefusalBudget.linesMax)
        let lines = (0..<100).compactMap { _ in budget.refused(nowMs: after) }
        #expect(lines.count == RefusalBudget.linesMax && lines.dropFirst().allSatisfy { $0 == 0 })
        // A clock that goes back gives nothing.
        #expect(budget.refused(nowMs: 0) == nil)
    }
}
