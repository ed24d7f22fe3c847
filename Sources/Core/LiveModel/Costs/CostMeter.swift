/// The costs of one operation on a node. Counts and times add up.
package struct OperationCosts: Sendable, Hashable {
    /// Requests of clients that ran it once.
    package var requests: UInt64 = 0
    /// The time of those requests, from the start of the statement to its answer.
    package var requestMicros: UInt64 = 0
    /// When the last of them ended, in milliseconds since 1970; 0: never.
    package var lastRequestMs: Int64 = 0
    /// Runs of its live queries, and those that found another result.
    package var runs: UInt64 = 0
    package var changed: UInt64 = 0
    /// The time of the statements of those runs. A statement runs many live queries.
    package var statementMicros: UInt64 = 0
    /// The bytes of changed results, as workers send them to gateways.
    package var resultBytes: UInt64 = 0
    /// Results that sessions got, and their bytes before compression.
    package var deliveries: UInt64 = 0
    package var deliveredBytes: UInt64 = 0

    package init() {}

    package static func += (sum: inout OperationCosts, other: OperationCosts) {
        sum.requests &+= other.requests
        sum.requestMicros &+= other.requestMicros
        sum.lastRequestMs = max(sum.lastRequestMs, other.lastRequestMs)
        sum.runs &+= other.runs
        sum.changed &+= other.changed
        sum.statementMicros &+= other.statementMicros
        sum.resultBytes &+= other.resultBytes
        sum.deliveries &+= other.deliveries
        sum.deliveredBytes &+= other.deliveredBytes
    }
}

/// Adds up the costs of operations: since the start, and over the last minute.
package struct CostMeter: Sendable {
    /// The window is divided into this many parts; the current one is not complete.
    package static let parts = 6
    package static let partMs: Int64 = 10_000
    /// The operations that are counted; the costs of further ones are not.
    package static let operationsMax = 4_096

    fileprivate struct Entry {
        var total = OperationCosts()
        var window = [OperationCosts](repeating: OperationCosts(), count: CostMeter.parts)
        /// The part of `window` that was written last, counted since 1970.
        var part: Int64 = 0

        mutating func advance(to now: Int64) {
            for next in max(part + 1, now - Int64(CostMeter.parts) + 1)..<max(part + 1, now + 1) {
                window[Int(next % Int64(CostMeter.parts))] = OperationCosts()
            }
            part = max(part, now)
        }
    }

    private var entries: [OperationReference: Entry] = [:]

    package init() {}

    package mutating func add(_ costs: OperationCosts, of operation: OperationReference, nowMs: Int64) {
        guard entries[operation] != nil || entries.count < Self.operationsMax else { return }
        let part = max(0, nowMs) / Self.partMs
        entries[operation, default: Entry()].add(costs, part)
    }

    /// Returns the costs of each operation that had any.
    /// - Returns: of the last minute, up to ten seconds less, and since the start.
    package mutating func report(
        nowMs: Int64
    ) -> [(operation: OperationReference, window: OperationCosts, total: OperationCosts)] {
        let part = max(0, nowMs) / Self.partMs
        return entries.keys.sorted().map { operation in
            var entry = entries[operation] ?? Entry()
            entry.advance(to: part)
            entries[operation] = entry
            return (operation, entry.window.reduce(into: OperationCosts()) { $0 += $1 }, entry.total)
        }
    }
}

extension CostMeter.Entry {
    fileprivate mutating func add(_ costs: OperationCosts, _ now: Int64) {
        advance(to: now)
        total += costs
        window[Int(part % Int64(CostMeter.parts))] += costs
    }
}
