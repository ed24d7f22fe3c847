import Dispatch
import Glibc

/// Waits for SIGINT or SIGTERM. A second one ends the process at once.
enum Signals {
    static func waitForEnd() async {
        let sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            return DispatchSource.makeSignalSource(signal: number, queue: .global())
        }
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let once = Once()
            for source in sources {
                source.setEventHandler {
                    if once.take() { continuation.resume() } else { exit(130) }
                }
                source.resume()
            }
        }
        // Kept, so that the second signal is heard.
        kept.store(sources)
    }

    private static let kept = Keeper()
}

/// `@unchecked Sendable`: `taken` is touched under the lock only.
private final class Once: @unchecked Sendable {
    private let lock = DispatchSemaphore(value: 1)
    private var taken = false

    func take() -> Bool {
        lock.wait()
        defer { lock.signal() }
        defer { taken = true }
        return !taken
    }
}

/// `@unchecked Sendable`: written once, by the one task that waits for the end, and never read.
private final class Keeper: @unchecked Sendable {
    private var sources: [any DispatchSourceSignal] = []

    func store(_ sources: [any DispatchSourceSignal]) {
        self.sources = sources
    }
}
