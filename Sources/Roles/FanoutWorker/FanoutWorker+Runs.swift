import Catalog
import Clocks
import Execution
import LiveModel
import Logging
import Postgres
import Refresh
import RoleMachines

/// Running due live queries.
extension FanoutWorker {
    func run(_ id: WorkerMachine.CallID, _ batch: RunBatch) {
        let startNs = MonotonicClock.nowNs()
        guard let operation = catalogs.set.operation(batch.operation, version: batch.version) else {
            let outcomes = Array(repeating: QueryExecutor.Outcome.failed(.versionNotServed), count: batch.items.count)
            Task { self.ended(id, batch, outcomes, startNs) }
            return
        }
        let items = batch.items.map { item in
            QueryExecutor.Item(
                variables: item.query.variables, auth: item.query.projectedAuth, knownDigest: item.knownDigest)
        }
        queries.run(operation, items: items, mode: batch.mode.refreshMode) { outcomes in
            Task.immediate { await self.ended(id, batch, outcomes, startNs) }
        }
    }

    private func ended(
        _ id: WorkerMachine.CallID, _ batch: RunBatch, _ answers: [QueryExecutor.Outcome], _ startNs: UInt64
    ) {
        for (item, outcome) in zip(batch.items, answers) {
            if !item.traceID.isEmpty {
                logger.debug(
                    "live query run", metadata: ["trace": "\(item.traceID)", "operation": "\(batch.operation)"])
            }
            if case .failed(let error) = outcome {
                failures.rerunFailed(error, of: batch.operation, traceID: item.traceID, nowMs: clock.nowMs())
            }
        }
        let outcomes = answers.map { outcome -> RunOutcome in
            switch outcome {
            case .unchanged: .unchanged
            case .result(let result):
                .result(digest: result.digest, result.answer, rows: result.rowsRead)
            case .cutShort: .cutShort
            case .failed(let error): .failed(error)
            }
        }
        let micros = (MonotonicClock.nowNs() - startNs) / 1_000
        meter.add(OperationCosts(outcomes, micros: micros), of: batch.operation)
        meter.ranStatement(batch.operation, micros: micros)
        runFinished(id, outcomes, micros: micros)
    }
}

extension OperationCosts {
    /// The costs of one statement for a batch of live queries.
    fileprivate init(_ outcomes: [RunOutcome], micros: UInt64) {
        self.init()
        runs = UInt64(outcomes.count)
        statementMicros = micros
        for case .result(_, let answer, _) in outcomes {
            changed += 1
            resultBytes += UInt64(answer.byteCount)
        }
    }
}

extension RunBatch.Mode {
    fileprivate var refreshMode: PostgresPool.RefreshMode {
        switch self {
        case .open: .open
        case .shared(let limitMs): .shared(limitMs: Int(limitMs))
        case .apart(let limitMs): .apart(limitMs: limitMs.map(Int.init))
        }
    }
}
