import Sessions
import Testing

@Suite struct DeliveryQueueTests {
    @Test func whileTheSocketKeepsUpNothingIsStored() {
        var queue = DeliveryQueue<String>(bytesMax: 100)
        #expect(queue.offer("a", id: "1", bytes: 1_000, unwrittenBytes: 0) == .write)
        #expect(queue.isEmpty)
    }

    @Test func theNewestWinsAndOrderIsOfTheFirstWait() {
        var queue = DeliveryQueue<String>(bytesMax: 100)
        #expect(queue.offer("a1", id: "1", bytes: 10, unwrittenBytes: 5) == .hold)
        #expect(queue.offer("b1", id: "2", bytes: 10, unwrittenBytes: 5) == .hold)
        #expect(queue.offer("a2", id: "1", bytes: 10, unwrittenBytes: 5) == .hold)
        #expect(queue.count == 2)
        // The socket is free, but others wait: no overtaking.
        #expect(queue.offer("c1", id: "3", bytes: 10, unwrittenBytes: 0) == .hold)
        var taken: [String] = []
        while let next = queue.next(unwrittenBytes: 0) { taken.append("\(next.id):\(next.item)") }
        #expect(taken == ["1:a2", "2:b1", "3:c1"])
        #expect(queue.isEmpty && queue.next(unwrittenBytes: 0) == nil)
    }

    @Test func bytesAreBounded() {
        var queue = DeliveryQueue<String>(bytesMax: 100)
        #expect(queue.offer("a", id: "1", bytes: 60, unwrittenBytes: 10) == .hold)
        #expect(queue.offer("b", id: "2", bytes: 31, unwrittenBytes: 10) == .close)
        #expect(queue.offer("b", id: "2", bytes: 30, unwrittenBytes: 10) == .hold)
        // A replacement counts instead of what it replaces.
        #expect(queue.offer("a", id: "1", bytes: 50, unwrittenBytes: 20) == .hold)
        #expect(queue.offer("a", id: "1", bytes: 51, unwrittenBytes: 20) == .close)
    }

    @Test func discardedBytesAreFreeAgain() {
        var queue = DeliveryQueue<String>(bytesMax: 100)
        _ = queue.offer("a", id: "1", bytes: 90, unwrittenBytes: 10)
        queue.ended(id: "1")
        queue.ended(id: "1")
        #expect(queue.isEmpty)
        #expect(queue.offer("b", id: "2", bytes: 90, unwrittenBytes: 10) == .hold)
        #expect(queue.next(unwrittenBytes: 0)?.item == "b")
    }

    @Test func nothingIsWrittenBeforeTheSocketHasWrittenAll() {
        var queue = DeliveryQueue<String>(bytesMax: 100)
        _ = queue.offer("a", id: "1", bytes: 10, unwrittenBytes: 5)
        #expect(queue.next(unwrittenBytes: 1) == nil && queue.count == 1)
        #expect(queue.next(unwrittenBytes: 0)?.item == "a")
    }

    @Test func aFailureReplacesThePendingResult() {
        var queue = DeliveryQueue<String>(bytesMax: 100)
        _ = queue.offer("a", id: "1", bytes: 10, unwrittenBytes: 5)
        _ = queue.offer("b", id: "2", bytes: 10, unwrittenBytes: 5)
        queue.failed(id: "1")
        #expect(queue.next(unwrittenBytes: 0)?.id == "2")
        #expect(queue.isEmpty)
    }

    @Test func anEndedSessionWritesNothing() {
        var queue = DeliveryQueue<String>(bytesMax: 100)
        _ = queue.offer("a", id: "1", bytes: 90, unwrittenBytes: 5)
        queue.removeAll()
        #expect(queue.isEmpty && queue.next(unwrittenBytes: 0) == nil)
        #expect(queue.offer("b", id: "1", bytes: 90, unwrittenBytes: 5) == .hold)
    }
}
