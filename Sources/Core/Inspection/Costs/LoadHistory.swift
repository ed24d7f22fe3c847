package import LiveModel

/// A node's load in each minute of the last hour, for plans by the busiest of them. Pure.
package struct LoadHistory: Sendable {
    package struct Minute: Sendable, Hashable {
        /// When it began, counted in minutes since 1970.
        package let number: Int64
        /// The time that was measured: about a minute.
        package let ms: Int64
        package let cpuMs: Int64
        package let costs: OperationCosts
    }

    /// The minutes that are kept.
    package static let minutesMax = 60
    package static let minuteMs: Int64 = 60_000
    /// Shorter ones, as those of the start, say little.
    private static let shortestMs = minuteMs / 2

    package private(set) var minutes: [Minute] = []
    private var last: (atMs: Int64, cpuMs: Int64, costs: OperationCosts)?

    package init() {}

    /// Whether a new minute has begun since the last sample.
    package func isDue(nowMs: Int64) -> Bool {
        guard let last else { return true }
        return nowMs / Self.minuteMs != last.atMs / Self.minuteMs
    }

    /// Ends the minute before.
    /// - Parameters:
    ///   - cpuMs: the CPU time of the process since its start.
    ///   - costs: the sum of all operations since the start.
    package mutating func sampled(cpuMs: Int64, costs: OperationCosts, nowMs: Int64) {
        defer { last = (nowMs, cpuMs, costs) }
        guard let last else { return }
        let ms = nowMs - last.atMs
        // A clock that was set, or a process that stood still, tells nothing about one minute.
        guard (Self.shortestMs...2 * Self.minuteMs).contains(ms) else { return }
        minutes.append(
            Minute(
                number: last.atMs / Self.minuteMs, ms: ms, cpuMs: cpuMs - last.cpuMs, costs: costs - last.costs))
        if minutes.count > Self.minutesMax { minutes.removeFirst() }
    }
}

extension OperationCosts {
    fileprivate static func - (left: OperationCosts, right: OperationCosts) -> OperationCosts {
        var rest = left
        rest.requests &-= right.requests
        rest.requestMicros &-= right.requestMicros
        rest.runs &-= right.runs
        rest.changed &-= right.changed
        rest.statementMicros &-= right.statementMicros
        rest.resultBytes &-= right.resultBytes
        rest.deliveries &-= right.deliveries
        rest.deliveredBytes &-= right.deliveredBytes
        return rest
    }
}
