package import Inspection
package import LiveModel
import Synchronization

/// The costs of a node's operations, counted by its roles and read by operators.
package final class OperationMeter: Sendable {
    private let meter = Mutex(CostMeter())
    /// The times of statements that run live queries, since the start. Bounded like the meter's operations.
    private let statements = Mutex<[OperationReference: TimeHistogram]>([:])
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
        statements.withLock { statements in
            guard statements[operation] != nil || statements.count < CostMeter.operationsMax else { return }
            statements[operation, default: TimeHistogram()].add(micros: micros)
        }
    }

    package func statementTimes() -> [OperationReference: TimeHistogram] { statements.withLock { $0 } }

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
