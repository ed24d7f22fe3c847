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
    private let shared = Mutex(Shared())

    /// Takes the connection over; `ConnectionHandle.endLife` is called once it has been stopped.
    /// - Returns: false when the system has no thread or descriptor left.
    func serve(_ handle: ConnectionHandle) -> Bool {
        guard wakeup.descriptor >= 0 else { return false }
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
        var drivers: [ConnectionDriver] = []
        var descriptors: [pollfd] = []
        while true {
            drivers += takeNew().map { ConnectionDriver($0) }
            let nowMs = Int(MonotonicClock.nowMs())
            drivers.removeAll { driver in
                guard driver.turn(nowMs) else { return false }
                driver.handle.endLife()
                return true
            }
            if drivers.isEmpty, endsWithoutNew() { return }
            wait(drivers, &descriptors, nowMs)
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

    private func wait(_ drivers: [ConnectionDriver], _ descriptors: inout [pollfd], _ nowMs: Int) {
        descriptors.removeAll(keepingCapacity: true)
        descriptors.append(pollfd(fd: wakeup.descriptor, events: Int16(POLLIN), revents: 0))
        var timeoutMs = Int32.max
        var mayBlock = true
        for driver in drivers {
            descriptors.append(driver.descriptor)
            let ownMs = driver.timeoutMs(nowMs)
            if ownMs >= 0 { timeoutMs = min(timeoutMs, ownMs) }
            if !driver.handle.prepareToPoll() { mayBlock = false }
        }
        let waitMs = mayBlock ? (timeoutMs == .max ? -1 : timeoutMs) : 0
        let count = poll(&descriptors, nfds_t(descriptors.count), waitMs)
        for driver in drivers { driver.handle.endPolling() }
        guard count > 0 else { return }
        if descriptors[0].revents != 0 { wakeup.drain() }
        for (driver, descriptor) in zip(drivers, descriptors.dropFirst()) where descriptor.revents != 0 {
            driver.socketIsReady(descriptor.revents)
        }
    }
}
