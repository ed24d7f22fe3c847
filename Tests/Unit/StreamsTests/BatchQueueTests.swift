import Streams
import Testing

@Suite("Batches to the broker")
struct BatchQueueTests {
    @Test("one batch at a time, in order")
    func order() {
        var queue = BatchQueue<Int>(bytesMax: 100, batchBytesMax: 10)
        #expect(queue.offer(1, bytes: 4) == .begin)
        #expect(queue.offer(2, bytes: 4) == .queued)
        #expect(queue.nextBatch() == [1, 2])
        #expect(queue.offer(3, bytes: 8) == .queued)
        #expect(queue.offer(4, bytes: 8) == .queued)
        #expect(queue.bytes == 24)
        #expect(queue.nextBatch() == [3])
        #expect(queue.bytes == 16)
        #expect(queue.nextBatch() == [4])
        #expect(!queue.isIdle)
        #expect(queue.nextBatch() == [])
        #expect(queue.isIdle && queue.bytes == 0)
        #expect(queue.offer(5, bytes: 1) == .begin)
    }

    @Test("bounded in bytes, the batch being sent included; a large item goes alone")
    func bound() {
        var queue = BatchQueue<Int>(bytesMax: 30, batchBytesMax: 10)
        #expect(queue.offer(1, bytes: 20) == .begin)
        #expect(queue.nextBatch() == [1])
        #expect(queue.offer(2, bytes: 11) == .full)
        #expect(queue.offer(3, bytes: 10) == .queued)
        #expect(queue.nextBatch() == [3])
    }
}
