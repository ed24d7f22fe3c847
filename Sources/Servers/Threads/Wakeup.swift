import CLinux
import Glibc

/// An event descriptor that ends another thread's `poll`. Any thread may signal; the owner drains.
package final class Wakeup: Sendable {
    /// Readable once signalled; -1 if the system has no descriptor left.
    package let descriptor: Int32

    package init() {
        descriptor = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    package func signal() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, 8)
    }

    package func drain() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, 8)
    }
}
