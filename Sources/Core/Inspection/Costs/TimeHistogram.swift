#if canImport(Glibc)
    import Glibc
#else
    import Foundation
#endif

/// Durations in buckets of which each is about 19 % wider than the one before: enough for percentiles.
package struct TimeHistogram: Sendable, Hashable {
    /// The buckets, from 1 microsecond to about 4 minutes; longer ones are in the last bucket.
    package static let buckets = 112
    private static let perDoubling = 4.0

    /// The number of durations in each bucket.
    package private(set) var counts: [UInt64]

    package init() { counts = Array(repeating: 0, count: Self.buckets) }

    /// - Parameter counts: those of another node; missing ones are 0.
    package init(counts: some Collection<UInt64>) {
        self.init()
        for (bucket, count) in counts.prefix(Self.buckets).enumerated() { self.counts[bucket] = count }
    }

    package var isEmpty: Bool { counts.allSatisfy { $0 == 0 } }

    package mutating func add(micros: UInt64) {
        let bucket = micros <= 1 ? 0 : Int((log2(Double(micros)) * Self.perDoubling).rounded(.up))
        counts[min(bucket, Self.buckets - 1)] += 1
    }

    package static func += (sum: inout TimeHistogram, other: TimeHistogram) {
        for bucket in other.counts.indices { sum.counts[bucket] &+= other.counts[bucket] }
    }

    /// Returns the time in milliseconds within which this share of durations lies: the upper bound of a bucket.
    /// - Parameter share: from 0 to 1.
    /// - Returns: nil without durations.
    package func percentileMs(_ share: Double) -> Double? {
        let total = counts.reduce(0, +)
        guard total > 0 else { return nil }
        let wanted = max(1, UInt64((Double(total) * share).rounded(.up)))
        var seen: UInt64 = 0
        for (bucket, count) in counts.enumerated() {
            seen += count
            if seen >= wanted { return exp2(Double(bucket) / Self.perDoubling) / 1_000 }
        }
        return nil
    }
}
