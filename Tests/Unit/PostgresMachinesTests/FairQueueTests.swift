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

    /// Two users of one address, of whom one always has something that waits: the other one's turn comes after it,
    /// although both had to let others pass, each for another reason.
    @Test func aSourceThatLetOthersPassKeepsItsPlace() throws {
        var queue = queue(slots: 3, perSource: 2, perSourceMax: 100)
        let (busy, other) = (Caller(1, address: 9), Caller(2, address: 9))
        for number in 0..<50 { #expect(queue.add("busy \(number)", of: busy) == nil) }
        var slots: [Int] = []
        while let started = queue.start() { slots.append(started.slot) }
        #expect(slots.count == 2)
        for round in 0..<10 {
            #expect(queue.add("other \(round)", of: other) == nil)
            var started: [String] = []
            for _ in 0..<2 where started.last?.hasPrefix("other") != true {
                #expect(queue.start() == nil)
                queue.ended(slot: slots.removeFirst(), of: busy)
                let next = queue.start()
                let (element, slot) = try #require(next)
                started.append(element)
                slots.append(slot)
            }
            #expect(started.last == "other \(round)", "\(started)")
            queue.ended(slot: slots.removeLast(), of: other)
            let following = queue.start()
            slots.append(try #require(following).slot)
        }
    }

    /// Otherwise one client with many accounts would get all slots.
    @Test func usersOfOneAddressLeaveAPlaceToOthers() throws {
        var queue = queue(slots: 2, perSource: 1, perSourceMax: 1)
        #expect(queue.add("a", of: Caller(1, address: 9)) == nil)
        let started = queue.start()
        let first = try #require(started)
        #expect(queue.add("b", of: Caller(2, address: 9)) == nil)
        #expect(queue.add("c", of: Caller(3, address: 9)) == nil)
        #expect(queue.add("d", of: Caller(4, address: 9)) == .sourceFull, "twice as many as of one user")
        #expect(queue.start() == nil)
        #expect(queue.add("e", of: Caller(5, address: 8)) == nil)
        #expect(queue.start()?.element == "e")
        queue.ended(slot: first.slot, of: Caller(1, address: 9))
        #expect(queue.start()?.element == "b")
    }

    @Test func removedOnesLoseTheirTurn() {
        var queue = queue()
        for name in ["a1", "a2"] { _ = queue.add(name, of: 1) }
        _ = queue.add("b1", of: 2)
        #expect(queue.remove { $0.hasPrefix("a") } == ["a1", "a2"])
        #expect(queue.start()?.element == "b1")
        #expect(queue.start() == nil && queue.waitingCount == 0)
    }

    @Test func slotIsAwaitedByThoseWhoCouldStartInItsPlace() {
        var queue = queue(slots: 3, perSource: 1)
        let (a, b) = (Caller(1, address: 9), Caller(2, address: 8))
        func awaited() -> [Bool] { [queue.isSlotAwaited(of: a), queue.isSlotAwaited(of: b)] }
        _ = queue.add("a1", of: a)
        _ = queue.add("b1", of: b)
        while queue.start() != nil {}
        #expect(awaited() == [false, false])
        _ = queue.add("another user's of that address", of: Caller(3, address: 9))
        #expect(queue.start() == nil)
        #expect(awaited() == [true, false], "one slot is free, but not for that address")
        _ = queue.add("c1", of: 4)
        #expect(queue.start()?.element == "c1")
        #expect(awaited() == [true, false])
        _ = queue.add("d1", of: 5)
        #expect(awaited() == [true, true])
    }

    @Test func slotsThatCannotBeUsedStayFree() {
        var queue = queue(slots: 2, perSource: 2)
        for name in ["a1", "a2"] { _ = queue.add(name, of: 1) }
        let slots = [queue.start { $0 == 1 }?.slot, queue.start { $0 == 1 }?.slot, queue.start()?.slot]
        #expect(slots == [1, nil, 0])
    }

    @Test func elementThatNeedNotWaitOvertakesNone() {
        var queue = queue(slots: 3, perSource: 1)
        let first = queue.startAtOnce(1) { _ in true }
        let second = queue.startAtOnce(1) { _ in true }
        #expect(first != nil && second == nil, "the source has what it may have")
        _ = queue.add("b1", of: 2)
        let third = queue.startAtOnce(3) { _ in true }
        #expect(third == nil)
    }

    @Test func elementsAreTakenInTurnsWithoutASlot() {
        var queue = queue(slots: 0)
        for name in ["a1", "a2"] { _ = queue.add(name, of: 1) }
        _ = queue.add("b1", of: 2)
        var taken = [queue.take { $0 != "a1" }]
        while let element = queue.take({ _ in true }) { taken.append(element) }
        #expect(taken == [nil, "a1", "b1", "a2"] && queue.waitingCount == 0)
    }

    /// Everything added runs or is removed once, in its source's order, and no bound is passed.
    @Test(arguments: 0..<50)
    func randomUseKeepsTheRules(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var queue = FairQueue<(source: Caller, number: Int)>(
            limits: .init(slots: 3, slotsPerSource: 2, waitingMax: 20, waitingPerSourceMax: 8))
        var running: [(source: Caller, slot: Int)] = []
        var last: [Caller: Int] = [:]
        var waiting = 0
        var waitingOf: [Caller: Int] = [:]
        for number in 0..<500 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                let user = UInt64.random(in: 0..<4, using: &random)
                let source = Caller(user, address: user % 2)
                if queue.add((source, number), of: source) == nil {
                    waiting += 1
                    waitingOf[source, default: 0] += 1
                }
            case 2:
                while let (element, slot) = queue.start() {
                    #expect(element.number > last[element.source, default: -1])
                    last[element.source] = element.number
                    running.append((element.source, slot))
                    waiting -= 1
                    waitingOf[element.source, default: 0] -= 1
                }
                if running.count < 3 {
                    for (source, count) in waitingOf where count > 0 {
                        let ofAddress = running.count { $0.source.address == source.address }
                        #expect(ofAddress == 2, "\(source) could run")
                    }
                }
            default:
                if let index = running.indices.randomElement(using: &random) {
                    let (source, slot) = running.remove(at: index)
                    queue.ended(slot: slot, of: source)
                } else {
                    for element in queue.remove(where: { $0.number % 7 == 0 }) {
                        waiting -= 1
                        waitingOf[element.source, default: 0] -= 1
                    }
                }
            }
            #expect(queue.waitingCount == waiting && queue.runningCount == running.count && waiting <= 20)
            #expect(Set(running.map(\.slot)).count == running.count && running.count <= 3)
            for address in UInt64(0)..<2 { #expect(running.count { $0.source.address == address } <= 2) }
        }
    }
}

@Suite struct SlowStatementAdmissionTests {
    private var admission = SlowStatementAdmission<String>(
        limits: .init(slots: 1, slotsPerSource: 1, waitingMax: 4, waitingPerSourceMax: 1))

    private mutating func add(
        _ name: String, of source: Caller = 1, mayTry: Bool = true, atMs nowMs: Int = 0
    ) -> SlowStatementAdmission<String>.Decision {
        admission.add(name, of: source, mayTry: mayTry, nowMs: nowMs)
    }

    @Test func statementThatMayBeFastRunsAmongTheOthersWhenTooManyWait() {
        var test = self
        #expect(test.add("a") == .queued)
        #expect(test.add("b") == .trial)
        #expect(test.admission.refusedCount == 0)
    }

    @Test func statementThatProvedSlowIsRefusedAndItsSourcesNextOnesToo() {
        var test = self
        #expect(test.add("a") == .queued)
        #expect(test.add("b", mayTry: false) == .refused(.sourceFull))
        #expect(test.add("c", atMs: 9_999) == .refused(.sourceFull))
        #expect(test.add("d", of: 2, atMs: 9_999) == .queued, "others are not refused")
        #expect(test.add("e", atMs: 10_000) == .trial)
        #expect(test.admission.refusedCount == 2)
    }

    /// Each may hold up the fast connections until it is cancelled.
    @Test func onlyOneStatementOfASourceIsTriedAtATime() {
        var test = self
        #expect(test.add("a") == .queued)
        #expect(test.add("b") == .trial)
        for _ in 0..<10 { #expect(test.add("c") == .refused(.sourceFull)) }
        #expect(test.add("d", of: 2) == .queued && test.add("e", of: 2) == .trial, "others have a trial of their own")
        test.admission.trialEnded(of: 1)
        #expect(test.add("f") == .trial)
    }
}
