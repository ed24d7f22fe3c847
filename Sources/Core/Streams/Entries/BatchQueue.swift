/// Items of one sender on their way to the broker: in order, one batch at a time; items offered meanwhile go with the
/// next batch. Pure: its owner sends the batches.
///
/// Bound: `bytesMax`, the batch being sent included.
package struct BatchQueue<Item> {
    package enum Offer: Sendable, Hashable {
        /// No batch is being sent: send one (`nextBatch`).
        case begin
        /// A batch is being sent; the item goes with a later one.
        case queued
        /// Not accepted.
        case full
    }

    package let bytesMax: Int
    package let batchBytesMax: Int
    private var waiting: [Item] = []
    private var waitingBytes: [Int] = []
    private var batchBytes = 0
    private var isSending = false
    /// The bytes of all items, those being sent included.
    package private(set) var bytes = 0

    package init(bytesMax: Int, batchBytesMax: Int) {
        self.bytesMax = bytesMax
        self.batchBytesMax = batchBytesMax
    }

    package var count: Int { waiting.count }
    package var isIdle: Bool { !isSending && waiting.isEmpty }

    package mutating func offer(_ item: Item, bytes itemBytes: Int) -> Offer {
        guard bytes + itemBytes <= bytesMax else { return .full }
        waiting.append(item)
        waitingBytes.append(itemBytes)
        bytes += itemBytes
        if isSending { return .queued }
        isSending = true
        return .begin
    }

    /// The next batch to send; the one before, if any, is done. Empty: nothing waits, and the next offer begins again.
    package mutating func nextBatch() -> [Item] {
        bytes -= batchBytes
        batchBytes = 0
        var count = 0
        while count < waiting.count, count == 0 || batchBytes + waitingBytes[count] <= batchBytesMax {
            batchBytes += waitingBytes[count]
            count += 1
        }
        isSending = count > 0
        waitingBytes.removeFirst(count)
        // The usual case: everything fits.
        if count == waiting.count {
            defer { waiting = [] }
            return waiting
        }
        defer { waiting.removeFirst(count) }
        return Array(waiting[..<count])
    }
}

extension BatchQueue: Sendable where Item: Sendable {}
