import LiveModel
import Sessions
import TestSupport
import Testing

@Suite struct OneShotOperationsTests {
    private func hasRoom(_ operations: OneShotOperations<String>) -> Bool {
        let refusal = failure { () throws(RequestError) in try operations.requireRoom() }
        #expect(refusal == nil || refusal?.code == .limitExceeded)
        return refusal == nil
    }

    @Test func aResponseIsAwaitedOnce() {
        var operations = OneShotOperations<String>(runningMax: 2)
        let run = operations.begin("1")
        operations.attach("work", to: run)
        #expect(operations.runningCount == 1)
        let isAwaited = operations.finished(run)
        let left = operations.giveUpAll()
        #expect(isAwaited && operations.runningCount == 0 && left.isEmpty)
    }

    /// Otherwise a client could start any number of operations by giving each up at once.
    @Test func anOperationThatWasGivenUpCountsUntilItFinishes() {
        var operations = OneShotOperations<String>(runningMax: 1)
        let run = operations.begin("1")
        operations.giveUp("1")
        #expect(!hasRoom(operations))
        let isAwaited = operations.finished(run)
        #expect(!isAwaited && hasRoom(operations))
    }

    @Test func anIDMayBeUsedAgainBeforeItsFirstUseFinishes() {
        var operations = OneShotOperations<String>(runningMax: 3)
        let first = operations.begin("1")
        operations.giveUp("1")
        let second = operations.begin("1")
        operations.attach("second", to: second)
        // The work of a run that nobody awaits is not kept.
        operations.attach("first", to: first)
        let areAwaited = [first, second].map { operations.finished($0) }
        #expect(areAwaited == [false, true] && operations.runningCount == 0)
    }

    @Test func theEndReturnsTheWorkThatIsAwaited() {
        var operations = OneShotOperations<String>(runningMax: 9)
        let runs = ["1", "2", "3"].map { id in
            let run = operations.begin(id)
            operations.attach("work \(id)", to: run)
            return run
        }
        operations.giveUp("2")
        let third = operations.finished(runs[2])
        let work = [operations.giveUpAll(), operations.giveUpAll()]
        #expect(third && work == [["work 1"], []])
        let others = runs.prefix(2).map { operations.finished($0) }
        #expect(others == [false, false] && operations.runningCount == 0)
    }
}
