import Clocks
import Glibc
import NIOCore

/// What a connection currently is to its loop: an HTTP/1 conversation or a WebSocket.
protocol ConnectionOwner: AnyObject {
    /// The deadline passed; returns the next one. May close the connection.
    func deadlineReached(nowMs: Int64) -> Int64
    /// Held-back bytes reached the kernel.
    func pendingBytesFell()
    /// The server stops: finish what is in flight, then close.
    func drain()
}

/// All connections of one event loop and their deadlines.
///
/// A timer per connection would cost an allocation and a heap entry each, for deadlines that almost never pass. Here a
/// connection has one number in a dense array; one repeated task per loop compares all of them (10,000 in about 10 µs).
/// A deadline that moves further away is not written back: when the old number passes, the owner says the new one.
///
/// Owned by its event loop; the loop's scratch memory and the Date header text live here too.
final class ConnectionTable {
    static let never = Int64.max

    let eventLoop: any EventLoop
    let context: ServerContext
    let taskExecutor: LoopTaskExecutor
    /// Where frames are put together for one `send`; used only within one write or one gathering.
    let scratch: UnsafeMutableRawBufferPointer
    /// False while a gathering has frames in `scratch`: other connections written to meanwhile must not touch it.
    var scratchIsFree = true
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

    /// Makes sure that `transport` is looked at no later than `deadlineMs`.
    func expect(_ transport: Transport, by deadlineMs: Int64) {
        guard transport.slot >= 0, deadlineMs < entries[transport.slot].deadlineMs else { return }
        entries[transport.slot].deadlineMs = deadlineMs
    }

    func expire(nowMs: Int64) {
        // Backwards: an owner that closes takes its own entry away, and the one moved into its place was looked at.
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

    /// `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7), made once a second.
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
                \(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900) \
                \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT
                """.utf8)
        }
        return dateText
    }
}

@available(*, unavailable)
extension ConnectionTable: Sendable {}
