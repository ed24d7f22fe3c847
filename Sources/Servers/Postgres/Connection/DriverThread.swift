import Clocks
import Glibc
import Synchronization
import Threads

/// A thread that runs the drivers of one or several connections. The write connections share one, because their answers
/// arrive in bursts (one WAL flush commits several transactions) and one wake-up for all is much cheaper.
final class DriverThread: Sendable {
    private struct Shared {
        var new: [ConnectionHandle] = []
        var isRunning = false
    }

    let wakeup = Wakeup()
    /// Wakes the thread for deadlines of jobs that callers have sent themselves.
    let timer = PollTimer()
    private let shared = Mutex(Shared())

    /// Takes the connection over; `ConnectionHandle.endLife` is called once it has been stopped.
    /// - Returns: false when the system has no thread or descriptor left.
    func serve(_ handle: ConnectionHandle) -> Bool {
        guard wakeup.descriptor >= 0, timer.descriptor >= 0 else { return false }
        let mustStart = shared.withLock { shared in
            shared.new.append(handle)
            defer { shared.isRunning = true }
            return !shared.isRunning
        }
        guard mustStart else {
            wakeup.signal()
            return true
        }
        if startThread(named: "postgres", { self.run() }) { return true }
        // Connections added meanwhile fail by their own connect timeout.
        shared.withLock { shared in
            shared.isRunning = false
            shared.new.removeAll { $0 === handle }
        }
        return false
    }

    private func run() {
        var connections: [ConnectionHandle] = []
        var descriptors: [pollfd] = []
        while true {
            let new = takeNew()
            for connection in new { connection.begin() }
            connections += new
            let nowMs = Int(MonotonicClock.nowMs())
            connections.removeAll { connection in
                guard connection.turn(nowMs) else { return false }
                connection.endLife()
                return true
            }
            if connections.isEmpty, endsWithoutNew() { return }
            wait(connections, &descriptors, nowMs)
        }
    }

    private func takeNew() -> [ConnectionHandle] {
        shared.withLock { shared in
            defer { shared.new = [] }
            return shared.new
        }
    }

    private func endsWithoutNew() -> Bool {
        shared.withLock { shared in
            if shared.new.isEmpty { shared.isRunning = false }
            return shared.new.isEmpty
        }
    }

    private func wait(_ connections: [ConnectionHandle], _ descriptors: inout [pollfd], _ nowMs: Int) {
        descriptors.removeAll(keepingCapacity: true)
        descriptors.append(pollfd(fd: wakeup.descriptor, events: Int16(POLLIN), revents: 0))
        descriptors.append(pollfd(fd: timer.descriptor, events: Int16(POLLIN), revents: 0))
        var timeoutMs = Int32.max
        for connection in connections {
            let own = connection.beginPolling(nowMs)
            descriptors.append(own.descriptor)
            if own.timeoutMs >= 0 { timeoutMs = min(timeoutMs, own.timeoutMs) }
        }
        let count = poll(&descriptors, nfds_t(descriptors.count), timeoutMs == .max ? -1 : timeoutMs)
        guard count > 0 else { return }
        if descriptors[0].revents != 0 { wakeup.drain() }
        if descriptors[1].revents != 0 { timer.drain() }
        for (connection, descriptor) in zip(connections, descriptors.dropFirst(2)) where descriptor.revents != 0 {
            connection.socketIsReady(descriptor.revents)
        }
    }
}
