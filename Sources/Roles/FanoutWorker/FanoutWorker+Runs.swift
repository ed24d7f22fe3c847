import Catalog
import Execution
import LiveModel
import Logging
import Refresh
import RoleMachines

/// Runs of due live queries.
extension FanoutWorker {
    func run(_ id: WorkerMachine.CallID, _ batch: RunBatch) {
        let start = ContinuousClock.now
        guard let operation = catalogs.set.operation(batch.operation, version: batch.version) else {
            let error = RequestError(.unavailable, "the operation is not known here in this version")
            let outcomes = Array(repeating: QueryExecutor.Outcome.failed(error), count: batch.items.count)
            Task { self.ended(id, batch, outcomes, start) }
            return
        }
        let items = batch.items.map { item in
            QueryExecutor.Item(
                variables: item.query.variables, auth: item.query.projectedAuth, knownDigest: item.knownDigest)
        }
        queries.run(operation, items: items) { outcomes in
            Task.immediate { await self.ended(id, batch, outcomes, start) }
        }
    }

    private func ended(
        _ id: WorkerMachine.CallID, _ batch: RunBatch, _ answers: [QueryExecutor.Outcome],
        _ start: ContinuousClock.Instant
    ) {
        for item in batch.items where !item.traceID.isEmpty {
            logger.debug("live query run", metadata: ["trace": "\(item.traceID)", "operation": "\(batch.operation)"])
        }
        let outcomes = answers.map { outcome -> RunOutcome in
            switch outcome {
            case .unchanged: .unchanged
            case .result(let result): .result(digest: result.digest, result.answer)
            case .failed(let error): .failed(error)
            }
        }
        runFinished(id, outcomes, took: ContinuousClock.now - start)
    }
}
