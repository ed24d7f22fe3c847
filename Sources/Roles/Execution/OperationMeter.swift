import Clocks
package import Inspection
package import LiveModel
import Synchronization

/// The costs of a node's operations, counted by its roles and read by operators.
package final class OperationMeter: Sendable {
    private let meter = Mutex(CostMeter())
    /// The times of statements that run live queries. Bounded like the meter's operations.
    private let statements = Mutex<[OperationReference: StatementTimes]>([:])
    private let load = Mutex(LoadHistory())
    private let clock: ServiceClock
    /// Milliseconds since 1970.
    package let sinceMs: Int64

    package init(clock: ServiceClock) {
        self.clock = clock
        sinceMs = clock.nowMs()
    }

    package func add(_ costs: OperationCosts, of operation: OperationReference) { add([(operation, costs)]) }

    package func add(_ all: [(operation: OperationReference, costs: OperationCosts)]) {
        let nowMs = clock.nowMs()
        meter.withLock { meter in
            for (operation, costs) in all { meter.add(costs, of: operation, nowMs: nowMs) }
        }
    }

    /// Counts a statement that ran live queries.
    package func ranStatement(_ operation: OperationReference, micros: UInt64) {
        let nowMs = clock.nowMs()
        statements.withLock { statements in
            guard statements[operation] != nil || statements.count < CostMeter.operationsMax else { return }
            statements[operation, default: StatementTimes()].add(micros: micros, nowMs: nowMs)
        }
    }

    /// Returns the times of statements over the last minutes, and since the start.
    package func statementTimes() -> [OperationReference: (recent: TimeHistogram, total: TimeHistogram)] {
        let nowMs = clock.nowMs()
        return statements.withLock { statements in
            statements.mapValues { times in
                var times = times
                return (times.recent(nowMs: nowMs), times.total)
            }
        }
    }

    /// Notes once a minute what the node used and did. To be called more often.
    package func sampleLoad() {
        let nowMs = clock.nowMs()
        guard load.withLock({ $0.isDue(nowMs: nowMs) }) else { return }
        let costs = report().reduce(into: OperationCosts()) { $0 += $1.total }
        load.withLock { $0.sampled(cpuMs: ProcessUsage.cpuMs(), costs: costs, nowMs: nowMs) }
    }

    /// The minutes of the last hour, the oldest first.
    package var minutes: [LoadHistory.Minute] { load.withLock { $0.minutes } }

    /// Counts a request that ran an operation once.
    package func ran(_ operation: OperationReference, micros: UInt64) {
        var costs = OperationCosts()
        costs.requests = 1
        costs.requestMicros = micros
        costs.lastRequestMs = clock.nowMs()
        add(costs, of: operation)
    }

    package func report() -> [(operation: OperationReference, window: OperationCosts, total: OperationCosts)] {
        let nowMs = clock.nowMs()
        return meter.withLock { $0.report(nowMs: nowMs) }
    }
}
