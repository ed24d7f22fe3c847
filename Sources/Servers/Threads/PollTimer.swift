import CLinux
import Glibc
import Synchronization

/// A descriptor that ends another thread's `poll` at a time. Any thread may set it earlier; the owner drains.
package final class PollTimer: Sendable {
    /// Readable once the time is reached; -1 if the system has no descriptor left.
    package let descriptor: Int32
    /// The time that is set; `Int.max` if none is.
    private let dueMs = Mutex(Int.max)

    package init() {
        descriptor = timerfd_create(CLOCK_BOOTTIME, Int32(TFD_NONBLOCK | TFD_CLOEXEC))
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Becomes readable at this time of `CLOCK_BOOTTIME`, or earlier if that is set already.
    package func fire(atMs timeMs: Int) {
        dueMs.withLock { dueMs in
            guard timeMs < dueMs else { return }
            dueMs = timeMs
            // A time of zero would stop it.
            let timeMs = max(1, timeMs)
            var setting = itimerspec()
            setting.it_value = timespec(tv_sec: timeMs / 1_000, tv_nsec: timeMs % 1_000 * 1_000_000)
            timerfd_settime(descriptor, Int32(TFD_TIMER_ABSTIME), &setting, nil)
        }
    }

    package func drain() {
        dueMs.withLock { dueMs in
            var count: UInt64 = 0
            if read(descriptor, &count, 8) == 8 { dueMs = .max }
        }
    }
}
