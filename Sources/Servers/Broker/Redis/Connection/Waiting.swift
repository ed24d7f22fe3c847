import Clocks
import Pacing
import Streams
import Glibc
import Threads

/// Starts a thread that may block on hiredis.
func startRedisThread(named name: String, _ body: @escaping @Sendable () -> Void) throws(BrokerError) {
    guard startThread(named: name, body) else { throw BrokerError(.unavailable, "no thread") }
}

/// A flag that a thread can wait for together with sockets.
final class WakeFlag: Sendable {
    private let wakeup = Wakeup()

    init() throws(BrokerError) {
        guard wakeup.descriptor >= 0 else { throw BrokerError(.unavailable, "no file descriptor") }
    }

    func raise() { wakeup.signal() }

    func lower() { wakeup.drain() }

    /// Sleeps until the flag is raised, a socket is readable or closed by the peer, or the time is over (`waitMs` nil:
    /// no limit). Returns which of these happened, possibly several.
    func wait(socket: Int32? = nil, waitMs: Int?) -> (raised: Bool, readable: Bool) {
        let (raised, readable, _) = wait(sockets: (socket, nil), waitMs: waitMs)
        return (raised, readable)
    }

    func wait(
        sockets: (Int32?, Int32?), waitMs: Int?
    ) -> (raised: Bool, firstReadable: Bool, secondReadable: Bool) {
        var polled = (
            pollfd(fd: wakeup.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: sockets.0 ?? -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: sockets.1 ?? -1, events: Int16(POLLIN), revents: 0)
        )
        let timeout = Int32(clamping: waitMs ?? -1)
        let ready = withUnsafeMutableBytes(of: &polled) { bytes in
            poll(bytes.bindMemory(to: pollfd.self).baseAddress, 3, timeout)
        }
        guard ready > 0 else { return (false, false, false) }
        return (polled.0.revents != 0, polled.1.revents != 0, polled.2.revents != 0)
    }
}

/// Milliseconds until a time of `MonotonicClock.nowNs`, rounded up, at least 0.
func msUntil(_ timeNs: UInt64) -> Int {
    let now = MonotonicClock.nowNs()
    return timeNs <= now ? 0 : Int(clamping: (timeNs - now + 999_999) / 1_000_000)
}

func addMs(_ ms: Int, to timeNs: UInt64) -> UInt64 {
    timeNs &+ UInt64(clamping: ms) * 1_000_000
}

extension JitteredBackoff {
    mutating func nextMs() -> Int { nextMs { Int.random(in: $0) } }
}
