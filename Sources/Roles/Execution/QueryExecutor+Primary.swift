package import Catalog
import LiveModel
package import Postgres

extension QueryExecutor {
    /// Runs answered by a replica, and runs that fell back to the primary although there are replicas.
    package var replicaCounts: (answered: Int, missed: Int) {
        let counts = replicas?.counts
        return (counts?.answered ?? 0, counts?.missed ?? 0)
    }

    /// Asks each replica whether a run would use it now; empty where there are none.
    package func replicaReports() async -> [ReplicaReport] { await replicas?.reports() ?? [] }

    /// Runs one item by the statement of refreshes, never on a replica.
    /// - Parameter limitMs: the statement is cut short after it.
    package func runOnPrimary(_ operation: StoredOperation, _ item: Item, limitMs: Int) async -> Outcome {
        await run(operation, items: [item], mode: .apart(limitMs: limitMs), usesReplicas: false).first
            ?? .failed(RequestError(.internalError, "the statement gave no result"))
    }
}
