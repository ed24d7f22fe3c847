package import Inspection
import Refresh

/// Observations for operators: nothing unless somebody looks, and events that are traced.
extension WorkerMachine {
    /// Sets the scope of the observations from now on.
    package mutating func observe(_ scope: ObservationScope) { refresh.scope = scope }

    package var hasObservations: Bool { refresh.hasObservations }

    /// Returns the observations since the last call, and the number of those that did not fit.
    package mutating func takeObservations() -> (observations: [WorkerObservation], dropped: Int) {
        refresh.takeObservations()
    }
}
