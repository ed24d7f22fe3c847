import SeededRandom
import Testing

@testable import Postgres

@Suite struct FairQueueTests {
    private func queue(slots: Int = 2, perSource: Int = 1, max: Int = 100, perSourceMax: Int = 10) -> FairQueue<String>
    {
        FairQueue(
            limits: .init(
                slots: slots, slotsPerSource: perSource, waitingMax: max, waitingPerSourceMax: perSourceMax))
    }

    @Test func sourcesTakeTurns() {
        var queue = queue(slots: 2, perSource: 2)
        for name in ["a1", "a2", "a3"] { #expect(queue.add(name, of: 1) == nil) }
        #expect(queue.add("b1", of: 2) == nil)
        #expect(queue.start()?.element == "a1")
        #expect(queue.start()?.element == "b1")
        #expect(queue.start() == nil, "both slots are taken")
        #expect(queue.waitingCount == 2 && queue.runningCount == 2)
    }

    @Test func oneSourceLeavesAPlaceToOthers() throws {
        var queue = queue()
        for name in ["a1", "a2"] { _ = queue.add(name, of: 1) }
        let started = queue.start()
        let first = try #require(started)
        #expect(queue.start() == nil)
        _ = queue.add("b1", of: 2)
        #expect(queue.start()?.element == "b1")
        queue.ended(slot: first.slot, of: 1)
        let restarted = queue.start()
        let next = try #require(restarted)
        #expect(next.element == "a2" && next.slot == first.slot)
    }

    @Test func queueAndSourcesAreBounded() {
        var queue = queue(max: 3, perSourceMax: 2)
        #expect(queue.add("a1", of: 1) == nil && queue.add("a2", of: 1) == nil)
        #expect(queue.add("a3", of: 1) == .sourceFull)
        #expect(queue.add("b1", of: 2) == nil)
        #expect(queue.add("c1", of: 3) == .full)
        #expect(queue.waitingCount == 3)
    }

    @Test func removedOnesLoseTheirTurn() {
        var queue = queue()
        for name in ["a1", "a2"] { _ = queue.add(name, of: 1) }
        _ = queue.add("b1", of: 2)
        #expect(queue.remove { $0.hasPrefix("a") } == ["a1", "a2"])
        #expect(queue.start()?.element == "b1")
        #expect(queue.start() == nil && queue.waitingCount == 0)
    }

    /// Everything added runs or is removed once, in its source's order, and no bound is passed.
    @Test(arguments: 0..<50)
    func randomUseKeepsTheRules(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var queue = FairQueue<(source: UInt64, number: Int)>(
            limits: .init(slots: 3, slotsPerSource: 2, waitingMax: 20, waitingPerSourceMax: 8))
        var running: [(source: UInt64, slot: Int)] = []
        var last: [UInt64: Int] = [:]
        var waiting = 0
        for number in 0..<500 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                let source = UInt64.random(in: 0..<4, using: &random)
                if queue.add((source, number), of: source) == nil { waiting += 1 }
            case 2:
                while let (element, slot) = queue.start() {
                    #expect(element.number > last[element.source, default: -1])
                    last[element.source] = element.number
                    running.append((element.source, slot))
                    waiting -= 1
                }
            default:
                if let index = running.indices.randomElement(using: &random) {
                    let (source, slot) = running.remove(at: index)
                    queue.ended(slot: slot, of: source)
                } else {
                    waiting -= queue.remove { $0.number % 7 == 0 }.count
                }
            }
            #expect(queue.waitingCount == waiting && queue.runningCount == running.count && waiting <= 20)
            #expect(Set(running.map(\.slot)).count == running.count && running.count <= 3)
            for source in UInt64(0)..<4 { #expect(running.count { $0.source == source } <= 2) }
        }
    }
}

@Suite struct SlowStatementAdmissionTests {
    private var admission = SlowStatementAdmission<String>(
        limits: .init(slots: 1, slotsPerSource: 1, waitingMax: 4, waitingPerSourceMax: 1))

    private mutating func add(
        _ name: String, of source: UInt64 = 1, isRerouted: Bool = false, atMs nowMs: Int = 0
    ) -> SlowStatementAdmission<String>.Decision {
        admission.add(name, of: source, isRerouted: isRerouted, nowMs: nowMs)
    }

    @Test func statementThatMayBeFastRunsAmongTheOthersWhenTooManyWait() {
        var test = self
        #expect(test.add("a") == .queued)
        #expect(test.add("b") == .fast)
        #expect(test.admission.refusedCount == 0)
    }

    @Test func statementThatProvedSlowIsRefusedAndItsSourcesNextOnesToo() {
        var test = self
        #expect(test.add("a") == .queued)
        #expect(test.add("b", isRerouted: true) == .refused(.sourceFull))
        #expect(test.add("c", atMs: 9_999) == .refused(.sourceFull))
        #expect(test.add("d", of: 2, atMs: 9_999) == .queued, "others are not refused")
        #expect(test.add("e", atMs: 10_000) == .fast)
        #expect(test.admission.refusedCount == 2)
    }
}
