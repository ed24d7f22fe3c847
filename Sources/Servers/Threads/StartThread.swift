import CLinux
import Glibc

/// Starts a detached thread that may block, outside the cooperative pool. It ends when `body` returns.
///
/// All signals are blocked in it, so signal handlers run on the main thread only, and writing to a connection that the
/// peer has closed returns an error instead of ending the process (`SIGPIPE`).
///
/// - Parameter name: shown by `top -H` and debuggers, which see its first 15 bytes.
/// - Returns: false if the system has no thread left; `body` is then not run.
package func startThread(named name: String, _ body: sending @escaping () -> Void) -> Bool {
    let box = Unmanaged.passRetained(ThreadBody(name, body))
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    var thread = pthread_t()
    let problem = pthread_create(
        &thread, &attributes,
        { argument in
            var all = sigset_t()
            sigfillset(&all)
            pthread_sigmask(SIG_BLOCK, &all, nil)
            guard let argument else { return nil }
            let box = Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue()
            name_this_thread(box.name)
            pthread_setspecific(markKey, argument)
            box.body()
            return nil
        }, box.toOpaque())
    if problem != 0 { box.release() }
    return problem == 0
}

/// Whether `startThread` started the calling thread.
var isStartedThread: Bool { pthread_getspecific(markKey) != nil }

private let markKey: pthread_key_t = {
    var key = pthread_key_t()
    let problem = pthread_key_create(&key, nil)
    precondition(problem == 0, "no thread-specific key left")
    return key
}()

private final class ThreadBody {
    let name: String
    let body: () -> Void

    init(_ name: String, _ body: @escaping () -> Void) {
        self.name = name
        self.body = body
    }
}
