/// What waits to be sent to the broker by one sender: in order, one flight at a time, what comes meanwhile goes with the
/// next one. Pure: its owner sends the flights.
///
/// Bound: `bytesMax`, the flight under way included.
package struct BatchQueue<Item> {
    package enum Offer: Sendable, Hashable {
        /// No flight is under way: begin with `nextFlight`.
        case begin
        /// A flight is under way; its end takes this along.
        case queued
        /// Not taken.
        case full
    }

    package let bytesMax: Int
    package let flightBytesMax: Int
    private var waiting: [Item] = []
    private var waitingBytes: [Int] = []
    private var flightBytes = 0
    private var isFlying = false
    /// Of all items here, those of the flight under way included.
    package private(set) var bytes = 0

    package init(bytesMax: Int, flightBytesMax: Int) {
        self.bytesMax = bytesMax
        self.flightBytesMax = flightBytesMax
    }

    package var count: Int { waiting.count }
    package var isIdle: Bool { !isFlying && waiting.isEmpty }

    package mutating func offer(_ item: Item, bytes itemBytes: Int) -> Offer {
        guard bytes + itemBytes <= bytesMax else { return .full }
        waiting.append(item)
        waitingBytes.append(itemBytes)
        bytes += itemBytes
        if isFlying { return .queued }
        isFlying = true
        return .begin
    }

    /// The flight before, if any, is over. Empty: nothing waits, and the next offer begins anew.
    package mutating func nextFlight() -> [Item] {
        bytes -= flightBytes
        flightBytes = 0
        var count = 0
        while count < waiting.count, count == 0 || flightBytes + waitingBytes[count] <= flightBytesMax {
            flightBytes += waitingBytes[count]
            count += 1
        }
        isFlying = count > 0
        waitingBytes.removeFirst(count)
        // Mostly all of it goes.
        if count == waiting.count {
            defer { waiting = [] }
            return waiting
        }
        defer { waiting.removeFirst(count) }
        return Array(waiting[..<count])
    }
}

extension BatchQueue: Sendable where Item: Sendable {}
