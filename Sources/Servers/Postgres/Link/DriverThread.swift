import Glibc
import Threads
import Synchronization

/// A thread that serves one or several connections: those of the writers share one, because their answers come in
/// bursts (one flush of the log commits several transactions), and one wake-up for all is much less than one for each.
final class DriverThread: Sendable {
    private struct Shared {
        var new: [ConnectionHandle] = []
        var isRunning = false
    }

    let wakeup = Wakeup()
    private let shared = Mutex(Shared())

    /// Takes the link over; `ConnectionHandle.endLife` is called when it has been stopped.
    /// - Returns: false when the system has no thread or descriptor left.
    func serve(_ link: ConnectionHandle) -> Bool {
        guard wakeup.descriptor >= 0 else { return false }
        let mustStart = shared.withLock { shared in
            shared.new.append(link)
            defer { shared.isRunning = true }
            return !shared.isRunning
        }
        guard mustStart else {
            wakeup.signal()
            return true
        }
        if startThread(named: "postgres", { self.run() }) { return true }
        // Whoever came meanwhile is told by its own deadline for the start.
        shared.withLock { shared in
            shared.isRunning = false
            shared.new.removeAll { $0 === link }
        }
        return false
    }

    private func run() {
        var loops: [ConnectionDriver] = []
        var descriptors: [pollfd] = []
        while true {
            loops += takeNew().map { ConnectionDriver($0) }
            let nowMs = monotonicMs()
            loops.removeAll { loop in
                guard loop.turn(nowMs) else { return false }
                loop.link.endLife()
                return true
            }
            if loops.isEmpty, endsWithoutNew() { return }
            wait(loops, &descriptors, nowMs)
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

    private func wait(_ loops: [ConnectionDriver], _ descriptors: inout [pollfd], _ nowMs: Int) {
        descriptors.removeAll(keepingCapacity: true)
        descriptors.append(pollfd(fd: wakeup.descriptor, events: Int16(POLLIN), revents: 0))
        var timeoutMs = Int32.max
        var mayBlock = true
        for loop in loops {
            descriptors.append(loop.descriptor)
            let ownMs = loop.timeoutMs(nowMs)
            if ownMs >= 0 { timeoutMs = min(timeoutMs, ownMs) }
            if !loop.link.prepareToPoll() { mayBlock = false }
        }
        let waitMs = mayBlock ? (timeoutMs == .max ? -1 : timeoutMs) : 0
        let count = poll(&descriptors, nfds_t(descriptors.count), waitMs)
        for loop in loops { loop.link.endPolling() }
        guard count > 0 else { return }
        if descriptors[0].revents != 0 { wakeup.drain() }
        for (loop, descriptor) in zip(loops, descriptors.dropFirst()) where descriptor.revents != 0 {
            loop.socketIsReady(descriptor.revents)
        }
    }
}
