import CHiredis
import Glibc

/// Starts a thread that blocks as it likes, outside the cooperative pool. It ends when `body` returns.
///
/// `SIGPIPE` is blocked on it, because hiredis writes with `write(2)`: a connection cut by the peer must come back as
/// an error, not end the process.
func startThread(named name: String, _ body: @escaping @Sendable () -> Void) throws(BrokerError) {
    final class Box {
        let name: String
        let body: @Sendable () -> Void
        init(_ name: String, _ body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
    let box = Unmanaged.passRetained(Box(name, body))
    var thread = pthread_t()
    let status = pthread_create(
        &thread, nil,
        { argument in
            guard let argument else { return nil }
            let box = Unmanaged<Box>.fromOpaque(argument).takeRetainedValue()
            name_this_thread(String(box.name.prefix(15)))
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGPIPE)
            pthread_sigmask(SIG_BLOCK, &signals, nil)
            box.body()
            return nil
        }, box.toOpaque())
    guard status == 0 else {
        box.release()
        throw BrokerError(.unavailable, "no thread")
    }
    pthread_detach(thread)
}

/// Nanoseconds of a clock that never steps.
func monotonicNs() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// A flag a thread can sleep on together with a socket (eventfd).
final class WakeFlag: Sendable {
    private let fd: Int32

    init() throws(BrokerError) {
        fd = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        guard fd >= 0 else { throw BrokerError(.unavailable, "no file descriptor") }
    }

    deinit { Glibc.close(fd) }

    func raise() {
        var one: UInt64 = 1
        _ = write(fd, &one, 8)
    }

    func lower() {
        var value: UInt64 = 0
        _ = read(fd, &value, 8)
    }

    /// Sleeps until the flag is up, `socket` is readable or closed by the peer, or the time is over.
    /// `waitMs` nil: no limit. Returns what happened; both may.
    func wait(socket: Int32? = nil, waitMs: Int?) -> (raised: Bool, readable: Bool) {
        var polled = (
            pollfd(fd: fd, events: Int16(POLLIN), revents: 0),
            pollfd(fd: socket ?? -1, events: Int16(POLLIN), revents: 0)
        )
        let timeout = Int32(clamping: waitMs ?? -1)
        let ready = withUnsafeMutableBytes(of: &polled) { bytes in
            poll(bytes.bindMemory(to: pollfd.self).baseAddress, 2, timeout)
        }
        guard ready > 0 else { return (false, false) }
        return (polled.0.revents != 0, polled.1.revents != 0)
    }
}

/// Milliseconds until a time of `monotonicNs`, rounded up, at least 0.
func msUntil(_ timeNs: UInt64) -> Int {
    let now = monotonicNs()
    return timeNs <= now ? 0 : Int(clamping: (timeNs - now + 999_999) / 1_000_000)
}

func addMs(_ ms: Int, to timeNs: UInt64) -> UInt64 {
    timeNs &+ UInt64(clamping: ms) * 1_000_000
}

/// Waits between attempts: doubling from `minMs` to `maxMs`, each shortened at random by up to half, so that many
/// clients of one server do not come back at the same instant.
struct Backoff {
    let minMs: Int
    let maxMs: Int
    private var ceilingMs: Int

    init(minMs: Int, maxMs: Int) {
        self.minMs = max(1, minMs)
        self.maxMs = max(self.minMs, maxMs)
        ceilingMs = self.minMs
    }

    mutating func reset() { ceilingMs = minMs }

    mutating func nextMs(_ random: (ClosedRange<Int>) -> Int = { Int.random(in: $0) }) -> Int {
        defer { ceilingMs = min(maxMs, ceilingMs * 2) }
        return random((ceilingMs + 1) / 2...ceilingMs)
    }
}
