import Catalog
import Execution
import LiveModel
import Logging
import Postgres
import RoleMachines

/// Comparing the definitions that queries with SQL depend on.
extension FanoutWorker {
    /// Definitions can change in the database without a deployment. Until one says what SQL texts read and write now,
    /// the queries concerned run at each comparison, and once more after the last difference: it may have ended later
    /// than a change that no event covers.
    func keepComparingDefinitions() async {
        var reported: [String] = []
        var concernedBefore: Set<OperationReference> = []
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(settings.definitionsMs))
            if Task.isCancelled { return }
            let queries = catalogs.set.sqlDefinitions
            // Versions of a project may rely on different definitions.
            var changed: Set<String> = []
            var concerned: Set<OperationReference> = []
            var compared: [[String: String]: Set<String>] = [:]
            for (query, definitions) in queries {
                if compared[definitions] == nil {
                    // What cannot be read now is compared next time.
                    guard let found = try? await self.queries.changedDefinitions(since: definitions) else { continue }
                    compared[definitions] = Set(found)
                }
                guard let found = compared[definitions], !found.isEmpty else { continue }
                changed.formUnion(found)
                concerned.insert(query)
            }
            let due = concerned.union(concernedBefore)
            if !due.isEmpty { definitionsChanged(due) }
            concernedBefore = concerned
            let names = SQLDefinitions.names(of: changed)
            if names != reported, !names.isEmpty {
                logger.warning(
                    "definitions changed in the database: queries that rely on them run at intervals; deploy again",
                    metadata: [
                        "definitions": "\(names.joined(separator: ", "))",
                        "queries": "\(concerned.sorted().map { "\($0)" }.joined(separator: ", "))",
                    ])
            }
            reported = names
        }
    }
}
