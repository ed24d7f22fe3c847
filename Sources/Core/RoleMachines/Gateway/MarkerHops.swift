package import LiveModel
package import Sessions

/// The time that each hop of a marker took, in milliseconds; never negative, although the clocks of two machines
/// differ.
package struct MarkerHops: Sendable, Hashable {
    /// The whole time, until the gateway's event loops had handed over everything before the marker.
    package let endToEndMs: Int64
    /// The way from the commit to the shard's stream, by the clocks of API node and Redis.
    package let appendMs: Int64
    /// The wait until the worker read it, by the clocks of Redis and worker.
    package let readMs: Int64
    /// The time at the worker, until what came before it was run and sent, by the worker's clock.
    package let runsMs: Int64
    /// The way to the gateway, by the clocks of worker and gateway.
    package let inboxMs: Int64
    /// The time in the gateway, until its event loops had it, by the gateway's clock.
    package let handOverMs: Int64

    package init(_ arrived: InterestMachine.ArrivedMarker, takenAtMs: Int64) {
        let marker = arrived.marker
        endToEndMs = max(0, takenAtMs - marker.committedAtMs)
        (appendMs, readMs, runsMs) = (marker.appendMs, marker.readMs, marker.runsMs)
        inboxMs = max(0, arrived.arrivedAtMs - marker.passedAtMs)
        handOverMs = max(0, takenAtMs - arrived.arrivedAtMs)
    }
}
