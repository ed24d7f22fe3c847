import Clocks
import Glibc
import NIOCore

/// The protocol handler that currently owns a connection: HTTP/1 or WebSocket.
protocol ConnectionOwner: AnyObject {
    /// Handles a passed deadline and returns the next one. May close the connection.
    func deadlineReached(nowMs: Int64) -> Int64
    /// Called when queued bytes reached the kernel.
    func pendingBytesDecreased()
    /// Called when a response is a stream or waits for a result.
    func responseTakesLong()
    /// Called when the server stops: finishes what is in flight, then closes.
    func drain()
}

extension ConnectionOwner {
    func responseTakesLong() {}
}

/// The connections of one event loop and their deadlines.
///
/// A timer per connection would cost an allocation and a heap entry each, for deadlines that almost never pass. Instead
/// each connection has one number in a dense array, and one repeated task per loop compares all of them (10,000 in
/// about 10 µs). Extending a deadline does not write to the array: when the old deadline passes, the owner returns the
/// new one.
///
/// Owned by its event loop, together with the loop's scratch memory and `Date` header text.
final class ConnectionTable {
    static let never = Int64.max

    let eventLoop: any EventLoop
    let context: ServerContext
    let taskExecutor: LoopTaskExecutor
    /// Memory in which frames are assembled for one `send`; used only within one write or one gathered write.
    let scratch: UnsafeMutableRawBufferPointer
    /// False while a gathered write holds frames in `scratch`: writes to other connections must not use it meanwhile.
    var scratchIsFree = true
    /// Memory for the head of one response.
    var head = ByteBuffer()
    /// The requests that clients of this loop repeat.
    let repeated: RepeatedRequests
    /// Nil: nothing is compressed.
    let compression: LoopCompression?
    private var entries: [Entry] = []
    private var tick: Scheduled<Void>?
    private var dateText: [UInt8] = []
    private var dateSecond = -1

    private struct Entry {
        let transport: Transport
        var deadlineMs: Int64
    }

    init(eventLoop: any EventLoop, context: ServerContext) {
        self.eventLoop = eventLoop
        self.context = context
        taskExecutor = LoopTaskExecutor(eventLoop)
        scratch = .allocate(byteCount: 32 * 1024, alignment: 64)
        repeated = RepeatedRequests(countMax: context.configuration.repeatedRequestsMax)
        compression = context.configuration.compression.map { LoopCompression($0, context) }
    }

    deinit { scratch.deallocate() }

    var count: Int { entries.count }

    func start() {
        tick = eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(context.configuration.tickMs)) { [self] in
            expire(nowMs: MonotonicClock.nowMs())
            if tick != nil { start() }
        }
    }

    func stop() {
        tick?.cancel()
        tick = nil
    }

    func add(_ transport: Transport, deadlineMs: Int64) {
        transport.slot = entries.count
        entries.append(Entry(transport: transport, deadlineMs: deadlineMs))
    }

    func remove(_ transport: Transport) {
        let slot = transport.slot
        guard slot >= 0 else { return }
        transport.slot = -1
        let last = entries.removeLast()
        if last.transport !== transport {
            entries[slot] = last
            last.transport.slot = slot
        }
    }

    /// Ensures that `transport`'s deadline is checked no later than `deadlineMs`.
    func expect(_ transport: Transport, by deadlineMs: Int64) {
        guard transport.slot >= 0, deadlineMs < entries[transport.slot].deadlineMs else { return }
        entries[transport.slot].deadlineMs = deadlineMs
    }

    func expire(nowMs: Int64) {
        // Backwards: an owner that closes removes its own entry, and the entry moved into its slot has been checked.
        var slot = entries.count - 1
        while slot >= 0 {
            if slot < entries.count, entries[slot].deadlineMs <= nowMs {
                let transport = entries[slot].transport
                entries[slot].deadlineMs = Self.never
                let next = transport.owner?.deadlineReached(nowMs: nowMs) ?? Self.never
                expect(transport, by: next)
            }
            slot -= 1
        }
    }

    func drainAll() {
        for entry in entries { entry.transport.owner?.drain() }
    }

    func closeAll() {
        for entry in entries { entry.transport.abort() }
    }

    /// The value of the `Date` header, as in `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7); formatted once a
    /// second.
    func date() -> [UInt8] {
        var second = Int(WallClock.nowMs() / 1_000)
        if second != dateSecond {
            dateSecond = second
            var parts = tm()
            gmtime_r(&second, &parts)
            let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
            let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
            func two(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
            dateText = Array(
                """
                \(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \
                \(parts.tm_year + 1900) \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT
                """.utf8)
        }
        return dateText
    }
}

@available(*, unavailable)
extension ConnectionTable: Sendable {}
