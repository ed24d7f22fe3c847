import Synchronization

/// The times at which each mutation of a run was due and answered, by sequence number. Written by the mutation driver,
/// read by every event loop at each delivery.
///
/// `@unchecked Sendable`: the storage is allocated once for the run's number of mutations and holds atomics only.
package final class MutationTimes: @unchecked Sendable {
    package let count: Int
    private let due: UnsafeMutablePointer<Atomic<Int64>>
    private let answered: UnsafeMutablePointer<Atomic<Int64>>
    /// The first sequence number after the warm-up.
    private let firstMeasured = Atomic<Int>(Int.max)

    package init(count: Int) {
        self.count = count
        due = .allocate(capacity: max(1, count))
        answered = .allocate(capacity: max(1, count))
        for index in 0..<count {
            (due + index).initialize(to: Atomic(0))
            (answered + index).initialize(to: Atomic(0))
        }
    }

    deinit {
        due.deinitialize(count: count)
        answered.deinitialize(count: count)
        due.deallocate()
        answered.deallocate()
    }

    package func measure(from sequence: Int) {
        firstMeasured.store(sequence, ordering: .relaxed)
    }

    package func isMeasured(_ sequence: Int) -> Bool {
        sequence >= firstMeasured.load(ordering: .relaxed)
    }

    package func setDue(_ sequence: Int, ns: Int64) {
        due[sequence].store(ns, ordering: .releasing)
    }

    package func setAnswered(_ sequence: Int, ns: Int64) {
        answered[sequence].store(ns, ordering: .releasing)
    }

    /// Marks a mutation whose outcome is unknown; its deliveries are not timed.
    package func setFailed(_ sequence: Int) {
        answered[sequence].store(-1, ordering: .releasing)
    }

    /// Returns when a mutation was answered; nil if it was not acknowledged.
    package func answeredNs(_ sequence: Int) -> Int64? {
        guard sequence < count else { return nil }
        let ns = answered[sequence].load(ordering: .acquiring)
        return ns > 0 ? ns : nil
    }

    package enum Latency: Sendable, Hashable {
        case ns(Int64)
        /// The delivery arrived before the mutation's response.
        case beforeAnswer
        /// The mutation was in the warm-up, of another run, or failed.
        case unmeasured
    }

    package func latency(_ sequence: Int, nowNs: Int64, from start: Scenario.LatencyStart) -> Latency {
        guard sequence < count, isMeasured(sequence) else { return .unmeasured }
        let times = start == .commit ? answered : due
        let startNs = times[sequence].load(ordering: .acquiring)
        if startNs < 0 { return .unmeasured }
        if startNs == 0 { return start == .commit ? .beforeAnswer : .unmeasured }
        return .ns(nowNs - startNs)
    }
}
