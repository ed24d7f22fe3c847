import Catalog
import Execution
import LiveModel
import Logging
import Postgres
import RoleMachines

/// Comparing the definitions that queries with SQL depend on.
extension FanoutWorker {
    /// Views and functions can change in the database without a deployment. Until one says what they read now, their
    /// queries run at each comparison.
    func keepComparingDefinitions() async {
        var reported: [String] = []
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
            if !concerned.isEmpty { definitionsChanged(concerned) }
            let names = changed.map(SQLDefinitions.name).sorted()
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
