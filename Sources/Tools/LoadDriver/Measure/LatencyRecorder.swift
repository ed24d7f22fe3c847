import Histogram

/// A histogram of times between 1 µs and 10 minutes, with three significant digits.
package struct LatencyRecorder: Sendable {
    package static let highestUs: UInt64 = 600_000_000

    private var histogram = Histogram<UInt64>(
        lowestDiscernibleValue: 1, highestTrackableValue: highestUs, numberOfSignificantValueDigits: .three)

    package init() {}

    /// Records a time, clamped to the range.
    package mutating func record(ns: Int64) {
        _ = histogram.record(min(max(UInt64(max(ns, 0)) / 1_000, 1), Self.highestUs))
    }

    package mutating func add(_ other: LatencyRecorder) {
        histogram.add(other.histogram)
    }

    package var summary: LatencySummary {
        guard histogram.totalCount > 0 else { return LatencySummary() }
        return LatencySummary(
            count: Int(histogram.totalCount), meanUs: Int64(histogram.mean),
            p50Us: Int64(histogram.valueAtPercentile(50)), p90Us: Int64(histogram.valueAtPercentile(90)),
            p99Us: Int64(histogram.valueAtPercentile(99)), p999Us: Int64(histogram.valueAtPercentile(99.9)),
            maxUs: Int64(histogram.max))
    }
}

/// Percentiles of recorded times; all zero if nothing was recorded.
package struct LatencySummary: Sendable, Hashable {
    package var count = 0
    package var meanUs: Int64 = 0
    package var p50Us: Int64 = 0
    package var p90Us: Int64 = 0
    package var p99Us: Int64 = 0
    package var p999Us: Int64 = 0
    package var maxUs: Int64 = 0
}

/// The number of errors by code.
package struct ErrorCounts: Sendable, Hashable {
    /// The limit on distinct codes; further ones are counted as `OTHER`.
    package static let codesMax = 64

    package private(set) var counts: [String: Int] = [:]
    /// An example message for each code.
    package private(set) var examples: [String: String] = [:]

    package init() {}

    package mutating func count(_ code: String, _ message: String = "", times: Int = 1) {
        let key = counts[code] == nil && counts.count >= Self.codesMax ? "OTHER" : code
        counts[key, default: 0] += times
        if examples[key] == nil, !message.isEmpty { examples[key] = String(message.prefix(200)) }
    }

    package mutating func add(_ other: ErrorCounts) {
        for (code, times) in other.counts { count(code, other.examples[code] ?? "", times: times) }
    }

    package var total: Int { counts.values.reduce(0, +) }
}
