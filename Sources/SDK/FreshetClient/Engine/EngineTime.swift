import Foundation

/// The clock of an engine; tests have one of their own.
package protocol EngineTime: Sendable {
    /// Milliseconds of a clock that only goes forward.
    var nowMs: Int64 { get }
    /// Milliseconds since 1970.
    var wallMs: Int64 { get }
    /// Returns at the time of `nowMs`, or when the task is cancelled.
    func sleep(untilMs: Int64) async
}

/// The system's clocks. The forward one counts while the device sleeps, so that a link that slept long is tested.
package struct SystemTime: EngineTime {
    private static let start = ContinuousClock.now

    package init() {}

    package var nowMs: Int64 { (ContinuousClock.now - Self.start).milliseconds }
    package var wallMs: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

    package func sleep(untilMs: Int64) async {
        try? await Task.sleep(until: Self.start + .milliseconds(untilMs), clock: ContinuousClock())
    }
}

extension Duration {
    /// Whole milliseconds.
    var milliseconds: Int64 { components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000 }
}
