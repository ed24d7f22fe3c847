import CLibpq
import Glibc

/// Starts a detached thread. All signals are blocked in it, so that handlers run where the program expects them.
///
/// - Returns: false when the system has no thread left; `body` is then not run.
func startThread(_ body: sending @escaping () -> Void) -> Bool {
    let box = Unmanaged.passRetained(ThreadBody(body))
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    var thread = pthread_t()
    let result = pthread_create(
        &thread, &attributes,
        { argument in
            var all = sigset_t()
            sigfillset(&all)
            pthread_sigmask(SIG_BLOCK, &all, nil)
            guard let argument else { return nil }
            Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().body()
            return nil
        }, box.toOpaque())
    if result != 0 { box.release() }
    return result == 0
}

private final class ThreadBody {
    let body: () -> Void
    init(_ body: @escaping () -> Void) { self.body = body }
}

/// Milliseconds of a clock that never goes back.
func monotonicMs() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
}

/// Ends another thread's `poll`. Writing is safe from any thread; the owner drains.
final class Wakeup: Sendable {
    let descriptor: Int32

    init() {
        descriptor = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    func signal() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, 8)
    }

    func drain() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, 8)
    }
}
