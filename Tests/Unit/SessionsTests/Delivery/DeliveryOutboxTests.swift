import Sessions
import Testing

@Suite struct DeliveryOutboxTests {
    @Test func whileTheSocketKeepsUpNothingIsStored() {
        var outbox = DeliveryOutbox<String>(bytesMax: 100)
        #expect(outbox.offer("a", id: "1", bytes: 1_000, unwrittenBytes: 0) == .write)
        #expect(outbox.isEmpty)
    }

    @Test func theNewestWinsAndOrderIsOfTheFirstWait() {
        var outbox = DeliveryOutbox<String>(bytesMax: 100)
        #expect(outbox.offer("a1", id: "1", bytes: 10, unwrittenBytes: 5) == .hold)
        #expect(outbox.offer("b1", id: "2", bytes: 10, unwrittenBytes: 5) == .hold)
        #expect(outbox.offer("a2", id: "1", bytes: 10, unwrittenBytes: 5) == .hold)
        #expect(outbox.count == 2)
        // The socket is free, but others wait: no overtaking.
        #expect(outbox.offer("c1", id: "3", bytes: 10, unwrittenBytes: 0) == .hold)
        var taken: [String] = []
        while let next = outbox.next(unwrittenBytes: 0) { taken.append("\(next.id):\(next.item)") }
        #expect(taken == ["1:a2", "2:b1", "3:c1"])
        #expect(outbox.isEmpty && outbox.next(unwrittenBytes: 0) == nil)
    }

    @Test func bytesAreBounded() {
        var outbox = DeliveryOutbox<String>(bytesMax: 100)
        #expect(outbox.offer("a", id: "1", bytes: 60, unwrittenBytes: 10) == .hold)
        #expect(outbox.offer("b", id: "2", bytes: 31, unwrittenBytes: 10) == .close)
        #expect(outbox.offer("b", id: "2", bytes: 30, unwrittenBytes: 10) == .hold)
        // A replacement counts instead of what it replaces.
        #expect(outbox.offer("a", id: "1", bytes: 50, unwrittenBytes: 20) == .hold)
        #expect(outbox.offer("a", id: "1", bytes: 51, unwrittenBytes: 20) == .close)
    }

    @Test func discardedBytesAreFreeAgain() {
        var outbox = DeliveryOutbox<String>(bytesMax: 100)
        _ = outbox.offer("a", id: "1", bytes: 90, unwrittenBytes: 10)
        outbox.ended(id: "1")
        outbox.ended(id: "1")
        #expect(outbox.isEmpty)
        #expect(outbox.offer("b", id: "2", bytes: 90, unwrittenBytes: 10) == .hold)
        #expect(outbox.next(unwrittenBytes: 0)?.item == "b")
    }

    @Test func nothingIsWrittenBeforeTheSocketHasWrittenAll() {
        var outbox = DeliveryOutbox<String>(bytesMax: 100)
        _ = outbox.offer("a", id: "1", bytes: 10, unwrittenBytes: 5)
        #expect(outbox.next(unwrittenBytes: 1) == nil && outbox.count == 1)
        #expect(outbox.next(unwrittenBytes: 0)?.item == "a")
    }

    @Test func aFailureReplacesThePendingResult() {
        var outbox = DeliveryOutbox<String>(bytesMax: 100)
        _ = outbox.offer("a", id: "1", bytes: 10, unwrittenBytes: 5)
        _ = outbox.offer("b", id: "2", bytes: 10, unwrittenBytes: 5)
        outbox.failed(id: "1")
        #expect(outbox.next(unwrittenBytes: 0)?.id == "2")
        #expect(outbox.isEmpty)
    }

    @Test func anEndedSessionWritesNothing() {
        var outbox = DeliveryOutbox<String>(bytesMax: 100)
        _ = outbox.offer("a", id: "1", bytes: 90, unwrittenBytes: 5)
        outbox.removeAll()
        #expect(outbox.isEmpty && outbox.next(unwrittenBytes: 0) == nil)
        #expect(outbox.offer("b", id: "1", bytes: 90, unwrittenBytes: 5) == .hold)
    }
}
