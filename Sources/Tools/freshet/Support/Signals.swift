import Dispatch
import Glibc
import Synchronization

/// Waits for SIGINT or SIGTERM, once in a process. A second signal ends the process at once.
enum Signals {
    private static let received = Atomic<Int>(0)
    /// Retained so that a second signal still has its handler.
    private static let sources = Mutex<[any DispatchSourceSignal]>([])

    /// Whether one of the signals has come.
    static var hasCome: Bool { received.load(ordering: .relaxed) > 0 }

    static func waitForEnd() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            sources.withLock { sources in
                for number in [SIGINT, SIGTERM] {
                    signal(number, SIG_IGN)
                    let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                    source.setEventHandler {
                        guard received.add(1, ordering: .relaxed).oldValue == 0 else { exit(130) }
                        continuation.resume()
                    }
                    source.resume()
                    sources.append(source)
                }
            }
        }
    }
}
