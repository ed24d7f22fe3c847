/// The times at which mutations are due. They are fixed in advance (an open loop): a slow server does not slow the load
/// down, and the waiting time that it causes counts.
package struct MutationSchedule: Sendable {
    package struct Due: Sendable, Hashable {
        /// The time since the start of the schedule.
        package let atNs: Int64
        /// The index into the rates.
        package let kind: Int
        /// The number within its kind, from 0.
        package let kindIndex: Int
        /// The number among all mutations, from 0.
        package let sequence: Int
    }

    private struct Kind {
        let perSecond: Double
        /// The part of an interval by which this kind is shifted, so that kinds do not fire together.
        let phase: Double
        let count: Int
        var next = 0

        func atNs(_ index: Int) -> Int64 { Int64((Double(index) + phase) / perSecond * 1e9) }
    }

    private var kinds: [Kind]
    private var sequence = 0
    package let count: Int

    /// - Parameter rates: mutations per second of each kind.
    package init(rates: [Double], lengthMs: Int64) {
        let lengthNs = lengthMs * 1_000_000
        kinds = rates.enumerated().map { position, rate in
            let phase = (Double(position) + 0.5) / Double(rates.count)
            var count = max(0, Int((Double(lengthMs) / 1_000 * rate - phase).rounded(.up)))
            // The rounding of the two formulas may differ by one.
            let probe = Kind(perSecond: rate, phase: phase, count: 0)
            while count > 0, probe.atNs(count - 1) >= lengthNs { count -= 1 }
            while probe.atNs(count) < lengthNs { count += 1 }
            return Kind(perSecond: rate, phase: phase, count: count)
        }
        count = kinds.reduce(0) { $0 + $1.count }
    }

    /// Returns the next mutation in order of time.
    package mutating func next() -> Due? {
        var earliest: (atNs: Int64, kind: Int)?
        for (position, kind) in kinds.enumerated() where kind.next < kind.count {
            let atNs = kind.atNs(kind.next)
            if earliest.map({ atNs < $0.atNs }) ?? true { earliest = (atNs, position) }
        }
        guard let earliest else { return nil }
        let due = Due(
            atNs: earliest.atNs, kind: earliest.kind, kindIndex: kinds[earliest.kind].next, sequence: sequence)
        kinds[earliest.kind].next += 1
        sequence += 1
        return due
    }
}

/// The rate at which connections are started.
package struct ConnectRamp: Sendable, Hashable {
    package let total: Int
    package let perSecond: Double

    package init(total: Int, perSecond: Double) {
        self.total = total
        self.perSecond = perSecond
    }

    package var lengthMs: Int64 { Int64((Double(total) / perSecond * 1_000).rounded(.up)) }

    package func startedBy(_ elapsedNs: Int64) -> Int {
        min(total, Int(Double(elapsedNs) / 1e9 * perSecond) + 1)
    }
}
