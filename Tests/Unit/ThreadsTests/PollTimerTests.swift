import Glibc
import Testing

@testable import Threads

@Suite struct PollTimerTests {
    private static func nowMs() -> Int {
        var now = timespec()
        clock_gettime(CLOCK_BOOTTIME, &now)
        return now.tv_sec * 1_000 + now.tv_nsec / 1_000_000
    }

    private func isReadable(_ timer: PollTimer, withinMs: Int32) -> Bool {
        var descriptor = pollfd(fd: timer.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&descriptor, 1, withinMs) == 1
    }

    @Test func theEarliestTimeEndsThePoll() {
        let timer = PollTimer()
        #expect(!isReadable(timer, withinMs: 0))
        let begin = Self.nowMs()
        timer.fire(atMs: begin + 600_000)
        timer.fire(atMs: begin + 20)
        // A later time changes nothing.
        timer.fire(atMs: begin + 300_000)
        #expect(isReadable(timer, withinMs: 60_000) && Self.nowMs() >= begin + 20)
        timer.drain()
        #expect(!isReadable(timer, withinMs: 0))
        // Once it has fired, it can be set again; a time that has passed ends the poll at once.
        timer.fire(atMs: 0)
        #expect(isReadable(timer, withinMs: 60_000))
    }

    @Test func drainingTooEarlyKeepsTheTime() {
        let timer = PollTimer()
        timer.fire(atMs: Self.nowMs() + 20)
        timer.drain()
        #expect(isReadable(timer, withinMs: 60_000))
    }
}
