import Broker
import Streams
import Testing

@Suite("Flights to the broker")
struct BatchQueueTests {
    @Test("one flight at a time, in order")
    func order() {
        var queue = BatchQueue<Int>(bytesMax: 100, flightBytesMax: 10)
        #expect(queue.offer(1, bytes: 4) == .begin)
        #expect(queue.offer(2, bytes: 4) == .queued)
        #expect(queue.nextFlight() == [1, 2])
        #expect(queue.offer(3, bytes: 8) == .queued)
        #expect(queue.offer(4, bytes: 8) == .queued)
        #expect(queue.bytes == 24)
        #expect(queue.nextFlight() == [3])
        #expect(queue.bytes == 16)
        #expect(queue.nextFlight() == [4])
        #expect(!queue.isIdle)
        #expect(queue.nextFlight() == [])
        #expect(queue.isIdle && queue.bytes == 0)
        #expect(queue.offer(5, bytes: 1) == .begin)
    }

    @Test("bounded in bytes, the flight under way included; one large item flies alone")
    func bound() {
        var queue = BatchQueue<Int>(bytesMax: 30, flightBytesMax: 10)
        #expect(queue.offer(1, bytes: 20) == .begin)
        #expect(queue.nextFlight() == [1])
        #expect(queue.offer(2, bytes: 11) == .full)
        #expect(queue.offer(3, bytes: 10) == .queued)
        #expect(queue.nextFlight() == [3])
    }
}
