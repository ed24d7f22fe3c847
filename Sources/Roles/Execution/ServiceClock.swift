import Clocks

/// Milliseconds since 1970 that never jump back: the wall clock at the start plus the time elapsed since.
package struct ServiceClock: Sendable {
    private let read: @Sendable () -> Int64

    package init(_ read: @escaping @Sendable () -> Int64) {
        self.read = read
    }

    package func nowMs() -> Int64 { read() }

    /// Returns the clock of a running process.
    package static func system() -> ServiceClock {
        let originMs = WallClock.nowMs() - MonotonicClock.nowMs()
        return ServiceClock { originMs + MonotonicClock.nowMs() }
    }
}
