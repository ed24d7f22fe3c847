import Sessions
import Synchronization

/// A marker on its way through the event loops of a gateway. Each loop passes it on in its turn, after the deliveries
/// before it.
final class MarkerRelay: Sendable {
    let arrived: InterestMachine.ArrivedMarker
    private let remaining: Atomic<Int>

    /// - Parameter loops: the number of event loops, at least 1.
    init(_ arrived: InterestMachine.ArrivedMarker, loops: Int) {
        self.arrived = arrived
        remaining = Atomic(loops)
    }

    /// Reports that one more event loop has it.
    /// - Returns: whether that was the last one.
    func taken() -> Bool { remaining.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 }
}
