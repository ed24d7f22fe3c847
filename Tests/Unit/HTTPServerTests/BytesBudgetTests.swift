import Testing

@testable import HTTPServer

@Suite struct BytesBudgetTests {
    @Test func aHolderIsChargedForTheDifference() {
        let budget = BytesBudget(bytesMax: 100)
        var (one, two) = (HeldBytes(), HeldBytes())
        #expect(budget.change(&one, to: 60) && one.count == 60)
        #expect(budget.change(&two, to: 40))
        #expect(!budget.change(&one, to: 61) && one.count == 60, "full, and what was held stays")
        #expect(budget.change(&one, to: 60) && budget.change(&one, to: 50) && one.count == 50)
        #expect(!budget.change(&two, to: 51) && budget.change(&two, to: 50) && !budget.change(&two, to: 51))
        budget.release(&one)
        #expect(one.count == 0 && budget.change(&two, to: 100))
        #expect(!budget.change(&one, to: .max))
    }

    @Test func aRefusedChangeTakesNoBytes() async {
        let budget = BytesBudget(bytesMax: 100)
        let refused = await withTaskGroup(of: Int.self) { group in
            for bytes in [101, 10] {
                group.addTask {
                    (0..<200_000).reduce(0) { refused, _ in
                        var held = HeldBytes()
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
        var large = [HeldBytes](repeating: HeldBytes(), count: 20)
        let admitted = large.indices.filter { budget.change(&large[$0], to: 1 << 20) }.count
        #expect(admitted == 12, "three quarters")
        var small = [HeldBytes](repeating: HeldBytes(), count: 64)
        for index in small.indices { #expect(budget.change(&small[index], to: BytesBudget.smallMax)) }
        var more = HeldBytes()
        #expect(!budget.change(&more, to: 1), "the limit holds for all together")
        // A small one that grows needs room among the large ones.
        budget.release(&small[0])
        #expect(budget.change(&more, to: 10) && !budget.change(&more, to: BytesBudget.smallMax + 1) && more.count == 10)
        budget.release(&large[0])
        #expect(budget.change(&more, to: BytesBudget.smallMax + 1))
        // A holder that shrinks is small again.
        #expect(budget.change(&more, to: 10) && budget.change(&large[0], to: 1 << 20 - 10))
        for index in large.indices { budget.release(&large[index]) }
        for index in small.indices { budget.release(&small[index]) }
        budget.release(&more)
        #expect(budget.change(&more, to: 12 << 20) && !budget.change(&small[0], to: 5 << 20))
    }
    /// 48 bodies of 4 MiB and 1,024 of 64 KiB, as one client sends them, leave room for those of others.
    @Test func addressHasHalfOfWhatOthersLeave() {
        let budget = BytesBudget(bytesMax: 256 << 20)
        func hold(_ count: Int, of bytes: Int, _ address: String) -> [HeldBytes] {
            var all = [HeldBytes](repeating: HeldBytes(of: address), count: count)
            return all.indices.compactMap { budget.change(&all[$0], to: bytes) ? all[$0] : nil }
        }
        var held = hold(48, of: 4 << 20, "a")
        #expect(held.count == 24, "half of three quarters")
        held += hold(1_024, of: BytesBudget.smallMax, "a")
        #expect(held.reduce(0) { $0 + $1.count } == 128 << 20)
        #expect(hold(1, of: 1, "a").isEmpty)
        // Others have half of what is left, the next ones half of that.
        let second = hold(48, of: 4 << 20, "b") + hold(1_024, of: BytesBudget.smallMax, "b")
        #expect(second.reduce(0) { $0 + $1.count } == 64 << 20)
        for number in 0..<8 { #expect(hold(1, of: BytesBudget.smallMax, "c\(number)").count == 1) }
        for index in held.indices { budget.release(&held[index]) }
        #expect(hold(1, of: 4 << 20, "a").count == 1)
    }

    @Test func heldBytesStayThoseOfTheirAddress() {
        let budget = BytesBudget(bytesMax: 100)
        var held = HeldBytes(of: "a")
        #expect(budget.change(&held, to: 40))
        held.charge("b")
        #expect(held.address == "a")
        var other = HeldBytes(of: "b")
        #expect(!budget.change(&held, to: 51) && budget.change(&other, to: 30) && !budget.change(&other, to: 31))
        budget.release(&held)
        held.charge(nil)
        #expect(budget.change(&held, to: 70), "nobody's")
    }

    @Test func addressesThatHoldNothingAreForgotten() {
        var bytes = SharedBytes(bytesMax: 100)
        for number in 0..<9 {
            bytes.add(3, of: "\(number)")
            bytes.add(-3, of: "\(number)")
            bytes.add(0, of: "x")
        }
        #expect(bytes.heldByAddress.isEmpty && bytes.held == 0)
    }
}
