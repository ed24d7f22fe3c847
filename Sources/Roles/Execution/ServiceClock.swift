/// Milliseconds since 1970 that never jump back: the wall clock at start plus the time elapsed since.
package struct ServiceClock: Sendable {
    private let read: @Sendable () -> Int64

    package init(_ read: @escaping @Sendable () -> Int64) {
        self.read = read
    }

    package func nowMs() -> Int64 { read() }

    /// The clock of a running process.
    package static func system() -> ServiceClock {
        let origin = ContinuousClock.now
        let originMs = wallMs()
        return ServiceClock {
            let elapsed = ContinuousClock.now - origin
            return originMs + elapsed.components.seconds * 1_000
                + elapsed.components.attoseconds / 1_000_000_000_000_000
        }
    }
}
