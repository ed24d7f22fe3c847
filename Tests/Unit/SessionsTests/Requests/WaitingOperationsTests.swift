import LiveModel
import Sessions
import TestSupport
import Testing

@Suite struct WaitingOperationsTests {
    private func append(_ waiting: inout WaitingOperations<Int>, _ id: String, _ bytes: Int = 10) -> Bool {
        let refusal = failure { () throws(RequestError) in try waiting.append(id, 0, bytes: bytes) }
        #expect(refusal == nil || refusal?.code == .limitExceeded)
        return refusal == nil
    }

    /// Takes the operation whose turn it is.
    private func next(_ waiting: inout WaitingOperations<Int>) -> (id: String, operation: Int)? {
        defer { if !waiting.isEmpty { waiting.removeFirst() } }
        return waiting.first
    }

    @Test func theyRunInTheOrderInWhichTheyCame() throws {
        var waiting = WaitingOperations<Int>(countMax: 3, bytesMax: 1_000)
        for number in 1...3 { try waiting.append("\(number)", number, bytes: 1) }
        #expect(!append(&waiting, "4"), "the queue is full")
        #expect(next(&waiting)?.operation == 1)
        #expect(append(&waiting, "4"))
        waiting.giveUp("2")
        waiting.giveUp("none")
        #expect([next(&waiting)?.id, next(&waiting)?.id, next(&waiting)?.id] == ["3", "4", nil])
    }

    @Test func theirBytesHaveABound() {
        var waiting = WaitingOperations<Int>(countMax: 100, bytesMax: 100)
        #expect(append(&waiting, "large", 500), "one of any size")
        #expect(!append(&waiting, "more", 1))
        waiting.giveUp("large")
        #expect(append(&waiting, "1", 60) && append(&waiting, "2", 40) && !append(&waiting, "3", 1))
        _ = next(&waiting)
        #expect(append(&waiting, "3", 60) && !append(&waiting, "4", 1))
        waiting.removeAll()
        #expect(waiting.isEmpty && append(&waiting, "5", 100))
    }

    @Test func aLimitOfZeroRefusesAll() {
        var waiting = WaitingOperations<Int>(countMax: 0, bytesMax: 100)
        #expect(!append(&waiting, "1"))
    }
}
