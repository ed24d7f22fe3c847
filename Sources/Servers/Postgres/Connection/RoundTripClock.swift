import Synchronization

/// The round trip to a pool's server, measured by all of its connections.
final class RoundTripClock: Sendable {
    private let encoded = Atomic<Int>(-1)

    /// 0 before the first measurement.
    var us: Int { max(0, encoded.load(ordering: .relaxed)) }

    func measured(us: Int) { change { $0.measured(us: us) } }

    func isAtMost(us: Int) { change { $0.isAtMost(us: us) } }

    /// A lost update only costs one more measurement.
    private func change(_ body: (inout RoundTrip) -> Void) {
        let former = encoded.load(ordering: .relaxed)
        var roundTrip = RoundTrip()
        if former >= 0 { roundTrip.measured(us: former) }
        body(&roundTrip)
        encoded.store(roundTrip.us ?? -1, ordering: .relaxed)
    }
}
