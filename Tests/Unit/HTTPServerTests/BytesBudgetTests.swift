import Testing

@testable import HTTPServer

@Suite struct BytesBudgetTests {
    @Test func aHolderIsChargedForTheDifference() {
        let budget = BytesBudget(bytesMax: 100)
        var (one, two) = (0, 0)
        #expect(budget.change(&one, to: 60) && one == 60)
        #expect(budget.change(&two, to: 40))
        #expect(!budget.change(&one, to: 61) && one == 60, "full, and what was held stays")
        #expect(budget.change(&one, to: 60) && budget.change(&one, to: 50) && one == 50)
        #expect(!budget.change(&two, to: 51) && budget.change(&two, to: 50) && !budget.change(&two, to: 51))
        budget.release(&one)
        #expect(one == 0 && budget.change(&two, to: 100))
        #expect(!budget.change(&one, to: .max))
    }

    @Test func aRefusedChangeTakesNoBytes() async {
        let budget = BytesBudget(bytesMax: 100)
        let refused = await withTaskGroup(of: Int.self) { group in
            for bytes in [101, 10] {
                group.addTask {
                    (0..<200_000).reduce(0) { refused, _ in
                        var held = 0
                        guard budget.change(&held, to: bytes) else { return refused + 1 }
                        budget.release(&held)
                        return refused
                    }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(refused == 200_000, "only those above the bound")
    }

    @Test func largeHoldersLeaveRoomForSmallOnes() {
        let budget = BytesBudget(bytesMax: 16 << 20)
        var large = [Int](repeating: 0, count: 20)
        let admitted = large.indices.filter { budget.change(&large[$0], to: 1 << 20) }.count
        #expect(admitted == 12, "three quarters")
        var small = [Int](repeating: 0, count: 64)
        for index in small.indices { #expect(budget.change(&small[index], to: BytesBudget.smallMax)) }
        var more = 0
        #expect(!budget.change(&more, to: 1), "the limit holds for all together")
        // A small one that grows needs room among the large ones.
        budget.release(&small[0])
        #expect(budget.change(&more, to: 10) && !budget.change(&more, to: BytesBudget.smallMax + 1) && more == 10)
        budget.release(&large[0])
        #expect(budget.change(&more, to: BytesBudget.smallMax + 1))
        // What shrinks is small again.
        #expect(budget.change(&more, to: 10) && budget.change(&large[0], to: 1 << 20 - 10))
        for index in large.indices { budget.release(&large[index]) }
        for index in small.indices { budget.release(&small[index]) }
        budget.release(&more)
        #expect(budget.change(&more, to: 12 << 20) && !budget.change(&small[0], to: 5 << 20))
    }
}
