package import Catalog
import LiveModel
import Postgres

extension QueryExecutor {
    /// Runs one item by the statement of refreshes, never on a replica.
    /// - Parameter limitMs: the statement is cut short after it.
    package func runOnPrimary(_ operation: StoredOperation, _ item: Item, limitMs: Int) async -> Outcome {
        await run(operation, items: [item], mode: .apart(limitMs: limitMs), usesReplicas: false).first
            ?? .failed(RequestError(.internalError, "the statement gave no result"))
    }
}
