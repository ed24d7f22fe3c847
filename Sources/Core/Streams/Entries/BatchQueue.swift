/// A queue of one sender's items for the broker, in order and sent one batch at a time; items offered meanwhile go with
/// the next batch. Pure: the owner sends the batches.
///
/// Bounds: `bytesMax` and `countMax`, including the batch in flight.
package struct BatchQueue<Item> {
    package enum Offer: Sendable, Hashable {
        /// No batch is in flight: send one (`nextBatch`).
        case begin
        /// A batch is in flight; the item goes with a later one.
        case queued
        /// The queue is full; the item was not accepted.
        case full
    }

    package let bytesMax: Int
    package let batchBytesMax: Int
    package let countMax: Int
    private var waiting: [Item] = []
    private var waitingBytes: [Int] = []
    private var batchBytes = 0
    private var batchCount = 0
    private var isSending = false
    /// The bytes of all items, including those in flight.
    package private(set) var bytes = 0

    package init(bytesMax: Int, batchBytesMax: Int, countMax: Int = .max) {
        self.bytesMax = bytesMax
        self.batchBytesMax = batchBytesMax
        self.countMax = countMax
    }

    package var count: Int { waiting.count }
    /// The number of all items, including those in flight.
    package var totalCount: Int { waiting.count + batchCount }
    package var isIdle: Bool { !isSending && waiting.isEmpty }

    package mutating func offer(_ item: Item, bytes itemBytes: Int) -> Offer {
        guard bytes + itemBytes <= bytesMax, totalCount < countMax else { return .full }
        waiting.append(item)
        waitingBytes.append(itemBytes)
        bytes += itemBytes
        if isSending { return .queued }
        isSending = true
        return .begin
    }

    /// Returns the next batch to send; the previous one, if any, is done. Empty: the queue is idle until the next
    /// offer.
    package mutating func nextBatch() -> [Item] {
        bytes -= batchBytes
        batchBytes = 0
        var count = 0
        while count < waiting.count, count == 0 || batchBytes + waitingBytes[count] <= batchBytesMax {
            batchBytes += waitingBytes[count]
            count += 1
        }
        isSending = count > 0
        batchCount = count
        waitingBytes.removeFirst(count)
        // Fast path: everything fits.
        if count == waiting.count {
            defer { waiting = [] }
            return waiting
        }
        defer { waiting.removeFirst(count) }
        return Array(waiting[..<count])
    }
}

extension BatchQueue: Sendable where Item: Sendable {}
