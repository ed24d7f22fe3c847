import Glibc
import Threads
import Synchronization

/// The reason that a benchmark failed.
package struct BenchmarkFailure: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// Clocks, in seconds.
enum Clock {
    /// CPU time of the calling thread.
    static var threadSeconds: Double { seconds(CLOCK_THREAD_CPUTIME_ID) }
    /// CPU time of all threads of this process.
    static var processSeconds: Double { seconds(CLOCK_PROCESS_CPUTIME_ID) }
    static var now: Double { seconds(CLOCK_MONOTONIC) }

    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// Measured times, in seconds.
struct Samples: Sendable {
    private(set) var values: [Double] = []

    mutating func add(_ value: Double) { values.append(value) }

    var median: Double { quantile(0.5) }
    var p99: Double { quantile(0.99) }

    func quantile(_ fraction: Double) -> Double {
        guard !values.isEmpty else { return .nan }
        let sorted = values.sorted()
        return sorted[min(sorted.count - 1, Int(Double(sorted.count) * fraction))]
    }
}

/// Keeps the optimizer from removing an unused value.
@inline(never) @_optimize(none)
func keep<T>(_ value: T) {}

/// Runs `body` on a new thread, because blocking C calls must not occupy the cooperative pool.
func onThread<T: Sendable>(_ body: @escaping @Sendable () -> T) async -> T {
    await withCheckedContinuation { continuation in
        let isStarted = startThread(named: "bench") { continuation.resume(returning: body()) }
        if !isStarted { continuation.resume(returning: body()) }
    }
}

/// A C array of strings (`char *const *`) that live as long as this object.
final class CTexts {
    let pointers: [UnsafePointer<CChar>?]
    private let owned: [UnsafeMutablePointer<CChar>?]

    init(_ texts: [String?]) {
        owned = texts.map { $0.flatMap { strdup($0) } }
        pointers = owned.map { $0.map { UnsafePointer($0) } }
    }

    deinit { for text in owned { free(text) } }
}
