import Testing

@testable import HTTPServer

@Suite struct BytesBudgetTests {
    @Test func changesByTheDifference() {
        let budget = BytesBudget(bytesMax: 100)
        var held = 0
        #expect(budget.change(&held, to: 60) && held == 60)
        #expect(budget.acquire(40))
        #expect(!budget.change(&held, to: 61) && held == 60, "full, and what was held stays")
        #expect(budget.change(&held, to: 60) && budget.change(&held, to: 50) && held == 50)
        #expect(!budget.acquire(11) && budget.acquire(10) && !budget.acquire(1))
        #expect(budget.change(&held, to: 0) && budget.acquire(50))
        #expect(!budget.acquire(.max))
    }

    @Test func aRefusedAcquisitionTakesNoBytes() async {
        let budget = BytesBudget(bytesMax: 100)
        let refused = await withTaskGroup(of: Int.self) { group in
            for bytes in [101, 10] {
                group.addTask {
                    (0..<200_000).reduce(0) { refused, _ in
                        guard budget.acquire(bytes) else { return refused + 1 }
                        budget.release(bytes)
                        return refused
                    }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(refused == 200_000, "only those above the bound")
    }
}
